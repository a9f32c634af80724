#include "graph_timing.h"

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

}  // namespace

GraphTiming::GraphTiming(const Context& context, std::string range, CacheState state, std::int64_t persisting_bytes,
                         const std::function<void()>& enqueue)
    : context_(context), range_(std::move(range)), state_(state), persisting_bytes_(persisting_bytes) {
    const L2SetAside set_aside(persisting_bytes_);
    // Once outside a capture, where the driver may load a kernel, and where a launch that it refuses spoils nothing.
    context_.evict_caches();
    enqueue();
    check(cudaStreamSynchronize(context_.stream()), "running a call once");
    if (state_ == CacheState::warm) {
        const GraphExec trial = record(trial_calls, enqueue);
        replay(trial);
        const double one_call = replay(trial) / trial_calls;
        calls_ = static_cast<int>(std::clamp(std::round(warm_seconds / one_call), 1.0, most_calls));
    }
    graph_ = record(calls_, enqueue);
    replay(graph_);
}

GraphExec GraphTiming::record(int calls, const std::function<void()>& enqueue) const {
    const cudaStream_t stream = context_.stream();
    std::size_t nodes_beside = 0;
    const auto mark = [&](const Event& event) {
        check(cudaEventRecordWithFlags(event.get(), stream, cudaEventRecordExternal), "recording an event in a graph");
        ++nodes_beside;
    };
    const Graph graph = capture(stream, [&] {
        if (state_ == CacheState::warm) {
            enqueue();
        } else {
            context_.evict_caches();
            ++nodes_beside;
        }
        mark(start_);
        for (int call = 0; call < calls; ++call) {
            enqueue();
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
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "reading the time between two events");
    if (!(milliseconds > 0)) {
        throw CannotMeasure(
            fmt::format("The events around the call are {} ms apart, which no kernel can do: the time is not usable.",
                        milliseconds));
    }
    return static_cast<double>(milliseconds) * 1e-3;
}

Sample GraphTiming::sample() {
    context_.use();
    const ClockReading before = context_.monitor().read();
    const double seconds = seconds_per_call();
    return sample_between(before, seconds, context_.monitor().read());
}

double GraphTiming::seconds_per_call() const {
    if (state_ == CacheState::warm) {
        const L2SetAside set_aside(persisting_bytes_);
        replay(graph_);  // other samples ran in between: the graph's own nodes must be warm too, not only the buffers
        const Range range(range_);
        return replay(graph_) / calls_;
    }
    std::array<double, cold_replays> seconds = {};
    for (double& one : seconds) {
        const L2SetAside set_aside(persisting_bytes_);  // its end lets the next eviction reach persisting lines
        const Range range(range_);                      // of the eviction too, which is in the graph
        one = replay(graph_);
    }
    std::nth_element(seconds.begin(), seconds.begin() + cold_replays / 2, seconds.end());
    return seconds[cold_replays / 2];
}

}  // namespace qkprof::cuda
