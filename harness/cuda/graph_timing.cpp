#include "graph_timing.h"

#include "eviction.h"
#include "nvtx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace qkprof::cuda {
namespace {

constexpr double warm_seconds = 0.75e-3;  // of the timed calls of one replay
constexpr int trial_calls = 4;
constexpr double most_calls = 1000;
constexpr int cold_replays = 3;
// Launched one by one: enough that the first launch, which the GPU waits for, counts for little, and no more time than
// the replays take.
constexpr int least_stream_calls = 2;
constexpr int most_stream_calls = 50;

}  // namespace

GraphTiming::GraphTiming(const Context& context, std::string range, CacheState state, std::int64_t persisting_bytes,
                         std::function<void()> enqueue)
    : context_(context),
      range_(std::move(range)),
      state_(state),
      persisting_bytes_(persisting_bytes),
      enqueue_(std::move(enqueue)) {
    const L2SetAside set_aside(persisting_bytes_);
    // Once outside a capture, where the driver may load a kernel, and where a launch that it refuses spoils nothing.
    context_.evict_caches();
    enqueue_();
    check(cudaStreamSynchronize(context_.stream()), "running a call once");
    if (state_ == CacheState::warm) {
        const GraphExec trial = record(trial_calls);
        replay(trial);
        const double one_call = replay(trial) / trial_calls;
        calls_ = static_cast<int>(std::clamp(std::round(warm_seconds / one_call), 1.0, most_calls));
    }
    graph_ = record(calls_);
    replay(graph_);
}

GraphExec GraphTiming::record(int calls) const {
    const cudaStream_t stream = context_.stream();
    std::size_t nodes_beside = 0;
    const auto mark = [&](const Event& event) {
        check(cudaEventRecordWithFlags(event.get(), stream, cudaEventRecordExternal), "recording an event in a graph");
        ++nodes_beside;
    };
    const Graph graph = capture(stream, [&] {
        if (state_ == CacheState::warm) {
            enqueue_();
        } else {
            context_.evict_caches();
            nodes_beside += evicting_kernels;
        }
        mark(start_);
        for (int call = 0; call < calls; ++call) {
            enqueue_();
        }
        mark(stop_);
    });
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "counting the nodes of a graph");
    if (nodes <= nodes_beside) {
        throw CannotMeasure("The call enqueues nothing, so there is no time to measure.");
    }
    GraphExec exec = instantiate(graph);
    check(cudaGraphUpload(exec.get(), stream), "uploading a graph");
    return exec;
}

double GraphTiming::replay(const GraphExec& graph) const {
    check(cudaGraphLaunch(graph.get(), context_.stream()), "launching a graph");
    check(cudaStreamSynchronize(context_.stream()), "running a graph");
    return elapsed();
}

double GraphTiming::elapsed() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "reading the time between two events");
    if (!(milliseconds > 0)) {
        throw CannotMeasure(
            fmt::format("The events around the call are {} ms apart, which no kernel can do: the time is not usable.",
                        milliseconds));
    }
    return static_cast<double>(milliseconds) * 1e-3;
}

double GraphTiming::stream_seconds_per_call() const {
    const L2SetAside set_aside(persisting_bytes_);
    const cudaStream_t stream = context_.stream();
    const int calls = std::clamp(calls_, least_stream_calls, most_stream_calls);
    enqueue_();
    check(cudaEventRecord(start_.get(), stream), "recording an event");
    for (int call = 0; call < calls; ++call) {
        enqueue_();
    }
    check(cudaEventRecord(stop_.get(), stream), "recording an event");
    check(cudaStreamSynchronize(stream), "running calls one by one");
    return elapsed() / calls;
}

Sample GraphTiming::sample() {
    context_.use();
    const ClockReading before = context_.monitor().read();
    const double seconds = seconds_per_call();
    Sample sample = sample_between(before, seconds, context_.monitor().read());
    if (state_ == CacheState::warm) {
        sample.stream_seconds = stream_seconds_per_call();
    }
    return sample;
}

double GraphTiming::seconds_per_call() const {
    if (state_ == CacheState::warm) {
        const L2SetAside set_aside(persisting_bytes_);
        // Other samples ran in between. What they left in the L2 must not matter: lines that a kernel hints to evict
        // first never displace those of others, so first it holds the same for all. And the graph's own nodes must be
        // warm too, not only the buffers.
        context_.evict_caches();
        replay(graph_);
        const Range range(range_);
        return replay(graph_) / calls_;
    }
    std::array<double, cold_replays> seconds = {};
    for (double& one : seconds) {
        const L2SetAside set_aside(persisting_bytes_);
        const Range range(range_);  // of the eviction too, which is in the graph
        one = replay(graph_);
    }
    std::nth_element(seconds.begin(), seconds.begin() + cold_replays / 2, seconds.end());
    return seconds[cold_replays / 2];
}

}  // namespace qkprof::cuda
