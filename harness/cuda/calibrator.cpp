#include "calibrator.h"

#include "activity_recorder.h"
#include "calibration_kernels.h"
#include "date.h"
#include "device_kernels.h"
#include "eviction.h"
#include "traffic.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace qkprof::cuda {
namespace {

struct Range {
    const char* name;
    std::function<void()> prepare;
    std::function<void()> call;
};

class Calibrator {
  public:
    Calibrator(const Context& context, const CalibrationWork& work)
        : context_(context),
          work_(work),
          from_(allocate(std::max(work.stream_bytes, work.strided_warps * strided_bytes_per_warp))),
          to_(allocate(std::max(work.stream_bytes, work.strided_warps * strided_bytes_per_warp))),
          sink_(allocate(sizeof(unsigned))) {
        check(cudaMemsetAsync(from_.get(), 0, static_cast<std::size_t>(work.stream_bytes), stream()),
              "clearing the data of the calibration");
        wait();
    }

    // What cannot be read is there without a value and with the reason.
    Readings traffic() const {
        const auto evict = [&] { context_.evict_caches(); };
        const auto copy_resident = [&] { copy_bytes(from_.get(), to_.get(), work_.resident_bytes, stream()); };
        const std::vector<Range> ranges = {
            {"read", evict, [&] { read_bytes(from_.get(), work_.stream_bytes, sink_.get(), stream()); }},
            {"write", evict,
             [&] {
                 write_bytes(to_.get(), work_.stream_bytes, stream());
                 evict();
             }},
            {"copy", evict,
             [&] {
                 copy_bytes(from_.get(), to_.get(), work_.copy_bytes, stream());
                 evict();
             }},
            {"kept",
             [&] {
                 read_to_keep(from_.get(), work_.resident_bytes, sink_.get(), stream());
                 evict();
             },
             [&] { read_bytes(from_.get(), work_.resident_bytes, sink_.get(), stream()); }},
            {"resident",
             [&] {
                 evict();
                 copy_resident();
                 copy_resident();
             },
             copy_resident},
            {"strided", evict, [&] { copy_strided(from_.get(), to_.get(), work_.strided_warps, stream()); }},
            {"shared", evict,
             [&] { use_shared_memory(work_.shared_warps, work_.shared_rounds, sink_.get(), stream()); }}};
        std::vector<TrafficJob> jobs;
        for (const Range& range : ranges) {
            const auto run = [this, &range](const TrafficJob::Counted& counted) {
                range.prepare();
                wait();
                counted([&] {
                    range.call();
                    wait();
                });
            };
            jobs.push_back({.run = run, .bulk_copies = false});
        }
        const std::vector<Counters> counted = count_traffic(current_context(), jobs, {});
        Readings readings;
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            readings[ranges[i].name] = counted.at(i);
        }
        return readings;
    }

    Counters graph() const {
        const Activities activities = ActivityRecorder().record([&] {
            do_nothing(stream());  // outside a capture, where the driver may load it
            wait();
            const GraphExec graph = instantiate(capture(stream(), [&] {
                for (int i = 0; i < work_.graph_kernels; ++i) {
                    do_nothing(stream());
                }
                check(cudaMemsetAsync(sink_.get(), 0, sizeof(unsigned), stream()), "filling four bytes");
            }));
            mark(stream());
            for (int i = 0; i < work_.graph_replays; ++i) {
                check(cudaGraphLaunch(graph.get(), stream()), "launching a graph");
            }
            mark(stream());
            wait();
        });
        return launch_counters(activities, sentinel_name, work_.graph_replays);
    }

  private:
    cudaStream_t stream() const { return context_.stream(); }
    void wait() const { check(cudaStreamSynchronize(stream()), "running the kernels of the calibration"); }

    const Context& context_;
    CalibrationWork work_;
    DeviceMemory from_;
    DeviceMemory to_;
    DeviceMemory sink_;
};

}  // namespace

Calibration calibrate(const Context& context) {
    context.use();
    const auto start = std::chrono::steady_clock::now();
    Calibration calibration;
    calibration.date = date_now();
    CalibrationWork work;
    work.evicting_bytes = context.evicting_bytes();
    work.shared_warps = std::min(work.shared_warps, context.info().limits.multiprocessors);
    try {
        const Calibrator calibrator(context, work);
        Readings readings = calibrator.traffic();
        readings["graph"] = calibrator.graph();
        calibration.rows = compare(known_numbers(work), readings);
    } catch (const OutOfMemory& error) {
        calibration.failure = error.what();
    }
    calibration.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return calibration;
}

}  // namespace qkprof::cuda
