// A profile: the environment and the measurements of one run. On disk it is Google Benchmark's JSON (a context and an
// entry a repetition), so that its own tools read it, with the counters as further numbers of each entry.
#pragma once

#include "device.h"
#include "measurement.h"
#include "timings.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkprof {

// The schema that this program writes. It reads this one and older ones.
inline constexpr int profile_schema = 1;

struct Environment {
    std::string date;  // ISO 8601 with the offset from UTC
    std::string host_name;
    std::string executable;
    int processors = 0;
    std::string build_type;  // "release" or "debug", as Google Benchmark's tools expect
    int schema = profile_schema;
    std::string version;    // of qkprof
    std::string commit;     // that qkprof was built from; "unknown" outside a git repository
    bool complete = false;  // false while the run goes on, and for ever when it was interrupted
    DeviceInfo device;
    std::string warm_up;  // what was done to the clocks before the times of each problem; empty: nothing
    Calibration calibration;
    std::vector<StepTime> timings;  // of the run, until this was written; empty: nobody asked for them
    std::vector<std::pair<std::string, std::string>> further;  // --benchmark_context
};

// Of this process, now, on this device.
Environment environment_of(const DeviceInfo& device, std::string executable);

struct Profile {
    Environment environment;
    std::vector<Measurement> measurements;  // no two with the same name
};

// The middle sample; the mean of the middle two. `samples` is not empty.
double median(std::vector<double> samples);

// Half the distance between the quartiles over the median; unknown below 3 samples.
std::optional<double> relative_spread(std::vector<double> samples);

// The same for measurements that are held against the same ceiling: those of a problem and state, timed alike.
std::string ceiling_key(const Measurement& measurement);

// The time of the fastest ceiling on the same problem and state, timed alike, over the time of `measurement`; the
// reason in the second member where that is unknown.
class CopyFractions {
  public:
    explicit CopyFractions(const std::vector<Measurement>& measurements);
    Counter of(const Measurement& measurement) const;

  private:
    std::map<std::string, double, std::less<>> ceilings_;  // seconds, by problem and state
};

// Why a measurement was not run or not right, in one sentence; empty when it was both.
std::string error_of(const Measurement& measurement);

std::string to_json(const Profile& profile);

// Throws InputError, naming `source` and the place, for text that is not such a profile or of a newer schema.
Profile parse_profile(std::string_view json, const std::string& source);

// Throws InputError where the file cannot be read too.
Profile read_profile(const std::filesystem::path& path);

}  // namespace qkprof
