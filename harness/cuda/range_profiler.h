// Hardware counters of named ranges of work on the GPU, by CUPTI's range profiler: user ranges with user replay. The
// caller repeats the work in each pass and puts the caches into the stated state inside it; CUPTI flushes nothing.
//
//     RangeProfiler profiler(current_context());
//     MetricSet metrics = profiler.metrics({"dram__bytes_read.sum"});
//     const auto counters = profiler.collect(metrics, 1, [&](const RangeProfiler::Measure& measure) {
//         prepare();                        // not counted; ends with a synchronisation
//         measure("copy", [&] { call(); }); // so does this
//     });
//     counters.at("copy").front();          // bytes
#pragma once

#include "metric_set.h"

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace qkprof::cuda {

// A CUDA context and the number of its device, as CUDA counts them.
struct ProfiledContext {
    CUcontext context = nullptr;
    int ordinal = 0;
};

// The calling thread's. Throws CannotMeasure where it has none.
ProfiledContext current_context();

// What CUPTI calls the chip of this device ("GH100"). Throws CannotMeasure where CUPTI cannot be used.
std::string chip_of(const ProfiledContext& context);

// While an object lives, CUPTI's profiler is attached to the process. Attached, it slows every node of a graph, also
// with no counter enabled. Its end takes all that CUPTI had in the process with it; the next use begins anew.
class ProfilerAttached {
  public:
    ProfilerAttached();
    ~ProfilerAttached();
    ProfilerAttached(const ProfilerAttached&) = delete;
    ProfilerAttached& operator=(const ProfilerAttached&) = delete;
};

// One profiling session on a context. Opening it costs most of a second the first time and about 200 ms later, a
// further range almost nothing. While it lives, nothing may be timed, no second session opened and no activity
// recorded.
class RangeProfiler {
  public:
    // Throws CannotMeasure, with the reason and what to do, where the counters cannot be had: no permission, another
    // profiler, a library that is missing.
    explicit RangeProfiler(const ProfiledContext& context);
    ~RangeProfiler();
    RangeProfiler(const RangeProfiler&) = delete;
    RangeProfiler& operator=(const RangeProfiler&) = delete;

    const std::string& chip() const { return chip_; }  // "GH100"
    // Throws InputError for a name that the chip does not have.
    MetricSet metrics(std::vector<std::string> names) const { return {chip_, std::move(names), availability_}; }

    // Counts what `call` runs as the range of this name. `call` must wait for what it enqueues, and so must what came
    // before it.
    using Measure = std::function<void(const std::string& range, const std::function<void()>& call)>;
    // By range, the values in the order of the metrics' names; a value that the hardware did not give is not finite.
    using Values = std::map<std::string, std::vector<double>>;

    // Calls `work` once a pass. It must measure the same ranges, at most `most_ranges`, in the same order in every
    // pass. At most once in a session: a second set of metrics in it crashes CUPTI 13.0. Throws CannotMeasure where
    // CUPTI fails or has dropped a range; what `work` throws passes through.
    Values collect(MetricSet& metrics, std::size_t most_ranges, const std::function<void(const Measure&)>& work);

  private:
    void run_pass(const std::function<void(const Measure&)>& work);
    // Whether it was the last pass.
    bool stop();

    ProfilerAttached attached_;  // last to go
    CUpti_RangeProfiler_Object* profiler_ = nullptr;
    std::string chip_;
    std::vector<std::uint8_t> availability_;
    // CUPTI goes on using both until the session ends.
    std::vector<std::uint8_t> configuration_;
    std::vector<std::uint8_t> data_;
};

}  // namespace qkprof::cuda
