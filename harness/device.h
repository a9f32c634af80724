// The interface of a device: what runs, verifies, counts and times the variants. There are two, cuda/ and emulator/.
#pragma once

#include "calibration.h"
#include "clocks.h"
#include "measurement.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace qkprof {

struct DeviceInfo {
    std::string id;           // "cuda:0", "emulated"
    std::string description;  // "NVIDIA H200", "emulated H100-class GPU"
    Backend backend = Backend::emulated;
    Limits limits;
    std::int64_t l2_bytes = 0;
    std::int64_t memory_bytes = 0;  // free for buffers when the device was opened
    bool has_clock = false;         // whether times can be measured
    // Whether the calls of a whole problem are best counted together: a session of the counters costs most of a second.
    bool counts_together = false;
    // Further facts for the profile's context, as name and text: uuid, driver, cuda, clocks.
    std::vector<std::pair<std::string, std::string>> facts;
};

// Repeats one call in one cache state and times it.
class Timing {
  public:
    virtual ~Timing() = default;
    // One sample, with the clocks it was taken at.
    virtual Sample sample() = 0;
    // "graph_events" or "events"
    virtual const char* timer() const = 0;
};

// One call to count.
struct CountJob {
    const Variant* variant = nullptr;
    const Parameters* parameters = nullptr;
    CacheState state = CacheState::warm;
};

// One problem's buffers on a device: q filled with the problem's inputs (input.h), the tables built.
class Workload {
  public:
    virtual ~Workload() = default;
    // Poisons out and scratch with NaN, runs the variant once and compares every element with the reference (a
    // ceiling's with q: it copies). A kernel that faults gives a Verification with `fault`; only a device that is lost
    // throws.
    virtual Verification verify(const Variant& variant, const Parameters& parameters) = 0;
    // Launches and traffic of one call of each job, in the order of the jobs. What cannot be counted is present,
    // without a value and with the reason; only a device that is lost throws.
    virtual std::vector<Counts> count(std::span<const CountJob> jobs) = 0;
    // The counters of one job alone.
    Counters count(const Variant& variant, const Parameters& parameters, CacheState state) {
        const CountJob job = {&variant, &parameters, state};
        return count({&job, 1}).front().counters;
    }
    // Throws CannotMeasure on a device without a clock.
    virtual std::unique_ptr<Timing> timing(const Variant& variant, const Parameters& parameters, CacheState state) = 0;
    // One call in this state, alone in the NVTX range <variant>.<state>, for a profiler that watches from outside;
    // nothing is counted. Throws CannotMeasure where no profiler can watch, and LaunchError.
    virtual void trace(const Variant& variant, const Parameters& parameters, CacheState state) = 0;
};

class Device {
  public:
    virtual ~Device() = default;
    virtual const DeviceInfo& info() const = 0;
    // Chooses hardware counters, by the names that the device has for them, which count() gives beside its own. Returns
    // what that costs, in a sentence. Throws InputError for a name that the device does not have.
    virtual std::string choose_metrics(const std::vector<std::string>& names) = 0;
    // Allocates and fills the buffers, with `scratch_bytes` for the variants' intermediates. Throws InputError, naming
    // both sizes, when they do not fit the memory.
    virtual std::unique_ptr<Workload> load(const Problem& problem, std::int64_t scratch_bytes) = 0;
    // Whether the device's counters read known traffic rightly; done by the first call alone.
    virtual const Calibration& calibrate() = 0;
    // Brings the clocks up before times are taken, and says in a sentence what was done; empty if nothing was.
    virtual std::string warm_up() { return {}; }
    // Bytes that load() would allocate.
    virtual std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes) const = 0;
};

// Opens "emulated", "cuda" (the first) or "cuda:N". Throws InputError for any other word and CannotMeasure, with the
// reason, for a device that is not there.
struct EmulatorOptions {
    std::int64_t l2_bytes = std::int64_t{50} << 20;
    int multiprocessors = 132;
};
std::unique_ptr<Device> open_device(const std::string& id, const EmulatorOptions& emulator = {});

// Ends the hold of this process on a GPU whose Device is gone, so that another process has it alone: a context that
// only exists moves the times of others. Of the emulated device there is nothing to do.
void leave(const std::string& id);

// The N of "cuda:N", 0 for "cuda". Throws InputError for any other word.
int gpu_ordinal(const std::string& id);

// Each GPU that this build and this machine have as "cuda:N" with its description; and why there is none, if so,
// as a clause.
struct Discovery {
    std::vector<std::pair<std::string, std::string>> gpus;
    std::string no_gpu_reason;
};
Discovery discover_gpus();

}  // namespace qkprof
