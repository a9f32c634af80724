// One problem on the GPU: its buffers, and the three things that are done with a variant: verify, count, time.
#pragma once

#include "context.h"
#include "guarded_buffer.h"
#include "reference.h"
#include "traffic.h"

namespace qkprof::cuda {

class ActivityRecorder;

class CudaWorkload final : public Workload {
  public:
    // Throws OutOfMemory. `context` and `further_metrics`, which count() counts too, must outlive the workload, and the
    // workload its timings.
    CudaWorkload(const Context& context, const Problem& problem, std::int64_t scratch_bytes,
                 const std::vector<std::string>& further_metrics);
    static std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes);

    Verification verify(const Variant& variant, const Parameters& parameters) override;
    std::vector<Counts> count(std::span<const CountJob> jobs) override;
    std::unique_ptr<Timing> timing(const Variant& variant, const Parameters& parameters, CacheState state) override;
    void trace(const Variant& variant, const Parameters& parameters, CacheState state) override;

  private:
    // Two pieces of memory, in place as well as out of place: the inputs, and what takes the results. In place a call
    // is given the second alone, into which restore() copies the first; so the reference has the inputs, and each call
    // can begin with them, without their being made again.
    struct Memory {
        Tensor tensor;
        GuardedBuffer input;
        GuardedBuffer result;
    };

    Request request(const Parameters& parameters) const;
    // What a call is given; and the same, but for q and k as they were before the call.
    Buffers buffers() const;
    Buffers compared() const;
    std::vector<const GuardedBuffer*> guarded() const;
    // Enqueues the copying of the inputs to where they are overwritten, in place; else nothing. Before a call is
    // verified, and before a variant's calls are counted or timed: there each call works on the results of the last
    // one, which stay within bounds, since each call normalises, and change neither counts nor times.
    void restore() const;
    // What kept the enqueued work from finishing, empty if nothing. Throws DeviceLost when the GPU is lost by it.
    std::string finish(const Variant& variant) const;
    // Likewise, and throws LaunchError for what is not lost.
    void wait_for(const Variant& variant) const;
    // Of one call of each job, by activity records.
    std::vector<Counts> count_launches(std::span<const CountJob> jobs) const;
    Counts count_launches(const CountJob& job, const ActivityRecorder& recorder) const;
    // Runs the job's call in its state, once for each pass of the counters.
    void run_counted(const CountJob& job, const TrafficJob::Counted& counted) const;
    // What a kernel wrote that is not its to write: outside a buffer, to an input, between the results. Empty if
    // nothing.
    std::string trespass();
    // The number that `count` adds up at the address that it is given.
    template <class F>
    unsigned long long counted(F count) const;
    Verification compare(bool copied) const;

    const Context& context_;
    Problem problem_;
    const std::vector<std::string>& further_metrics_;
    std::vector<Memory> tensors_;
    GuardedBuffer gamma_q_;
    GuardedBuffer gamma_k_;
    GuardedBuffer tables_;  // cos, then sin
    GuardedBuffer positions_;
    GuardedBuffer scratch_;
    DeviceMemory parts_;    // of the judgement: judge_blocks comparisons
    DeviceMemory counter_;  // of elements that a kernel may not have written
};

}  // namespace qkprof::cuda
