// One problem on the GPU: its buffers, and the three things that are done with a variant: verify, count, time.
#pragma once

#include "context.h"
#include "guarded_buffer.h"
#include "reference.h"
#include "traffic.h"

namespace qkprof::cuda {

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
    Request request(const Parameters& parameters) const;
    Buffers buffers() const;
    // What kept the enqueued work from finishing, empty if nothing. Throws DeviceLost when the GPU is lost by it.
    std::string finish(const Variant& variant) const;
    // Likewise, and throws LaunchError for what is not lost.
    void wait_for(const Variant& variant) const;
    // Of one call, by activity records.
    Counts count_launches(const CountJob& job) const;
    // Runs the job's call in its state, once for each pass of the counters.
    void run_counted(const CountJob& job, const TrafficJob::Counted& counted) const;
    // What a kernel wrote that is not its to write: outside a buffer, or to q. Empty if nothing.
    std::string trespass();
    Verification compare(bool copied) const;

    const Context& context_;
    Problem problem_;
    const std::vector<std::string>& further_metrics_;
    GuardedBuffer q_;
    GuardedBuffer out_;
    GuardedBuffer gamma_;
    GuardedBuffer tables_;  // cos, then sin
    GuardedBuffer scratch_;
    DeviceMemory parts_;    // of the judgement: judge_blocks comparisons
    DeviceMemory changed_;  // elements of q that a kernel changed
};

}  // namespace qkprof::cuda
