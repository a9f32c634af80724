// What is known of one variant on one problem, device and cache state. Unknown is unknown: a counter without a value
// says why, and is never 0 or a guess.
#pragma once

#include "tuned_from.h"
#include "variant.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// cold: before each call the L2 is made to hold other data (cuda/eviction.h). warm: the same buffers, called before.
enum class CacheState : std::uint8_t { cold, warm };

constexpr const char* name_of(CacheState state) { return state == CacheState::cold ? "cold" : "warm"; }

// Where a counter's value comes from: the hardware or the driver; the emulator's exact record of what the kernel asked
// for; the emulator's model of the caches.
enum class Source : std::uint8_t { counted, emulated, modelled };

constexpr const char* name_of(Source source) {
    return source == Source::counted ? "counted" : source == Source::emulated ? "emulated" : "modelled";
}

struct Counter {
    std::optional<double> value;  // per call
    Source source = Source::counted;
    std::string reason;  // why there is no value
};

// The counters that a measurement may carry, in the order of display; `qkprof list metrics` prints this table.
struct Metric {
    const char* name;
    const char* unit;
    const char* meaning;
    bool derived = false;  // from the others: computed anew from a profile that is read, and never read from it
};
const std::vector<Metric>& metrics();
// Whether it is one of them; any other counter was asked for by the name that the device gives it.
bool is_own_metric(std::string_view name);

// By the name of the metric.
using Counters = std::map<std::string, Counter, std::less<>>;

// One kernel of a call, as it was launched.
struct KernelUse {
    std::string name;
    double launches = 0;  // per call
    std::array<std::int64_t, 3> grid = {};
    std::array<std::int64_t, 3> block = {};
    std::optional<int> registers;  // a thread; the emulated device does not know
    std::int64_t static_shared = 0;
    std::int64_t dynamic_shared = 0;

    friend bool operator==(const KernelUse&, const KernelUse&) = default;
};

// Counts `launches` more of this kernel: those that were launched alike are one entry.
void add_launches(std::vector<KernelUse>& kernels, KernelUse use, double launches);

// What was counted of one call.
struct Counts {
    Counters counters;
    std::vector<KernelUse> kernels;  // in the order of their first launch; empty where the launches are unknown
};

// Where a result is wrong.
struct WrongElement {
    std::int64_t batch = 0;
    std::int64_t position = 0;  // of the token in its sequence, whatever its position id is
    std::int64_t head = 0;      // the query heads, then the key heads
    std::int64_t column = 0;
    double got = 0;
    double expected = 0;
};

// "h=3"; where there are key heads too, "query head 3" or "key head 0".
std::string head_text(const Problem& problem, const WrongElement& wrong);

// The comparison of a whole output with the reference in double (reference.h has the bounds).
struct Verification {
    bool correct = false;
    double error_norm = 0;  // |out - reference| / |reference|, Euclidean; 0 for an empty problem
    std::int64_t wrong_elements = 0;
    std::optional<WrongElement> first_wrong;
    std::string fault;  // what stopped the kernel, where it did not finish; then nothing else is meaningful
};

// A sample of time that was taken while the GPU was held back: it is in no median and no judgement.
struct ThrottledSample {
    std::size_t repetition = 0;  // its place among all samples
    double seconds = 0;
    double host_seconds = 0;
    std::vector<std::string> reasons;
};

struct Measurement {
    std::string variant;
    Family family = Family::naive;
    Problem problem;
    Parameters parameters;                // all of them
    Parameters non_standard;              // those that differ from the standard, which enter the name
    std::optional<TunedFrom> tuned_from;  // none: no value of them was looked up
    CacheState state = CacheState::warm;
    std::string refused;  // why the variant does not run this problem; then nothing below is meaningful
    std::string not_run;  // why the device could not run this problem at all, a clause; likewise
    Verification verification;
    std::optional<Declaration> declaration;  // none: it is what a framework made
    Counters counters;
    std::vector<KernelUse> kernels;
    std::vector<std::string> contradictions;  // sentences: what was declared against what was counted
    std::vector<double> seconds;              // per call, a sample each; without the throttled ones
    std::vector<double> host_seconds;         // CPU time of the host for each sample, set-up of the sample included
    // Per call launched one by one in a stream, taken with the sample of the same place in `seconds`; empty where the
    // calls were not launched so.
    std::vector<double> stream_seconds;
    std::vector<ThrottledSample> throttled;  // in the order in which they were taken
    // Per call, of the same measurement in further runs of the program, a list each (run --aa): how far they differ is
    // the noise of the machine. A run that gave no usable sample is an empty list.
    std::vector<std::vector<double>> aa_seconds;
    std::string timer;           // how the samples were taken: graph_events, events, cupti
    std::string no_time_reason;  // why there are none

    // Whether there is a result, right or wrong.
    bool ran() const { return refused.empty() && not_run.empty(); }
    bool right() const { return ran() && verification.correct; }

    // <variant>/<Problem::text('/')>/<dtype>/<state>, then /<parameter>:<value> for each that is not the standard.
    std::string name() const;
};

// Without a value, and with a reason, where the device does not know the counter.
Counter counter_of(const Measurement& measurement, std::string_view name);

}  // namespace qkprof
