#include "calibrator.h"

#include "activity_recorder.h"
#include "calibration_kernels.h"
#include "date.h"
#include "device_kernels.h"
#include "range_profiler.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace qkprof::cuda {
namespace {

// A counter and the metrics of CUPTI that add up to it.
struct CountedBy {
    const char* counter;
    std::vector<std::string> metrics;
};

const std::vector<CountedBy>& counted_by() {
    static const std::vector<CountedBy> all = {
        {"dram_read_bytes", {"dram__bytes_read.sum"}},
        {"dram_write_bytes", {"dram__bytes_write.sum"}},
        {"l2_read_sectors", {"lts__t_sectors_srcunit_tex_op_read.sum"}},
        {"l2_write_sectors", {"lts__t_sectors_srcunit_tex_op_write.sum"}},
        {"global_load_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
        {"global_store_sectors", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}},
        {"shared_wavefronts",
         {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
          "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"}},
        {"bank_conflicts",
         {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"}},
    };
    return all;
}

// `values` are in the order of counted_by().
Counters counters_from(const std::vector<double>& values) {
    Counters counters;
    auto value = values.begin();
    for (const CountedBy& counted : counted_by()) {
        double sum = 0;
        for (std::size_t i = 0; i < counted.metrics.size(); ++i) {
            sum += *value++;
        }
        counters[counted.counter] =
            std::isfinite(sum) ? Counter{.value = sum, .source = Source::counted, .reason = {}}
                               : Counter{.value = {}, .source = Source::counted, .reason = "CUPTI gave no number"};
    }
    return counters;
}

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

    Readings traffic() const {
        std::vector<std::string> names;
        for (const CountedBy& counted : counted_by()) {
            names.insert(names.end(), counted.metrics.begin(), counted.metrics.end());
        }
        RangeProfiler profiler(current_context());
        MetricSet metrics = profiler.metrics(names);
        constexpr std::size_t most_ranges = 8;
        Readings readings;
        for (const auto& [range, values] : profiler.collect(
                 metrics, most_ranges, [&](const RangeProfiler::Measure& measure) { run_ranges(measure); })) {
            readings[range] = counters_from(values);
        }
        return readings;
    }

    Counters graph() const {
        const Activities activities = record_activities([&] {
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

    void run_ranges(const RangeProfiler::Measure& measure) const {
        const auto range = [&](const char* name, const auto& prepare, const auto& call) {
            prepare();
            wait();
            measure(name, [&] {
                call();
                wait();
            });
        };
        const auto evict = [&] { context_.evict_caches(); };
        range("read", evict, [&] { read_bytes(from_.get(), work_.stream_bytes, sink_.get(), stream()); });
        range("write", evict, [&] {
            write_bytes(to_.get(), work_.stream_bytes, stream());
            evict();
        });
        range("copy", evict, [&] {
            copy_bytes(from_.get(), to_.get(), work_.copy_bytes, stream());
            evict();
        });
        const auto copy_resident = [&] { copy_bytes(from_.get(), to_.get(), work_.resident_bytes, stream()); };
        range(
            "resident",
            [&] {
                evict();
                copy_resident();
                copy_resident();
            },
            copy_resident);
        range("strided", evict, [&] { copy_strided(from_.get(), to_.get(), work_.strided_warps, stream()); });
        range("shared", evict,
              [&] { use_shared_memory(work_.shared_warps, work_.shared_rounds, sink_.get(), stream()); });
    }

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
        Readings readings;
        try {
            readings = calibrator.traffic();
        } catch (const CannotMeasure& error) {
            calibration.failure = error.what();
        } catch (const InputError& error) {  // a metric that this chip does not have
            calibration.failure = error.what();
        }
        readings["graph"] = calibrator.graph();
        calibration.rows = compare(known_numbers(work), readings);
    } catch (const OutOfMemory& error) {
        calibration.failure = error.what();
    }
    calibration.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return calibration;
}

}  // namespace qkprof::cuda
