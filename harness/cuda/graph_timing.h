// Times by events inside a CUDA graph, so that no launch from the host falls into the interval.
//
// warm: the eviction, so that the L2 holds the same whatever ran before; then twice a graph of an untimed call, an
// event, N calls and an event, of which the second counts. N is chosen so that the calls last about 0.75 ms, and a
// sample is the time over N.
// cold: one graph of the eviction, an event, one call and an event; a sample is the median of 3 replays. The interval
// holds the start of the call's first kernel after the event, about a microsecond, in cold samples alone.
#pragma once

#include "context.h"

#include <functional>

namespace qkprof::cuda {

class GraphTiming final : public Timing {
  public:
    // `enqueue` puts one call into the context's stream. The timed replays are in the NVTX range `range`.
    // `persisting_bytes` of L2 are set aside during each sample. Throws CannotMeasure when the call enqueues nothing.
    GraphTiming(const Context& context, std::string range, CacheState state, std::int64_t persisting_bytes,
                std::function<void()> enqueue);
    Sample sample() override;
    const char* timer() const override { return "graph_events"; }

  private:
    // The graph of `calls` timed calls.
    GraphExec record(int calls) const;
    // Seconds per call, from the replays that make one sample.
    double seconds_per_call() const;
    // Seconds between the events of one replay.
    double replay(const GraphExec& graph) const;
    // Seconds per call of calls that are launched one by one.
    double stream_seconds_per_call() const;
    // Between the two events, which have passed.
    double elapsed() const;

    const Context& context_;
    std::string range_;
    CacheState state_;
    std::int64_t persisting_bytes_;
    std::function<void()> enqueue_;
    Event start_ = make_event();
    Event stop_ = make_event();
    int calls_ = 1;
    GraphExec graph_;
};

}  // namespace qkprof::cuda
