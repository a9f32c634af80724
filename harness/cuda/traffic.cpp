#include "traffic.h"

#include "resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkprof::cuda {
namespace {

Counter sum_of(const std::vector<std::string>& metrics, const MetricValues& values, const std::string& missing) {
    double sum = 0;
    for (const std::string& metric : metrics) {
        const auto found = values.find(metric);
        if (found == values.end()) {
            return {.value = {}, .source = Source::counted, .reason = missing};
        }
        if (!std::isfinite(found->second)) {
            return {.value = {},
                    .source = Source::counted,
                    .reason = fmt::format("the GPU gave no value of {} for this call", metric)};
        }
        sum += found->second;
    }
    return {.value = sum, .source = Source::counted, .reason = {}};
}

// The jobs' values and what went wrong, as the session goes on.
class Session {
  public:
    Session(std::span<const TrafficJob> jobs, const std::vector<std::string>& further)
        : jobs_(jobs), further_(further), values_(jobs.size()), failures_(jobs.size()) {}

    void run(const ProfiledContext& context) {
        std::vector<std::size_t> all;
        std::vector<std::size_t> bulk;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            all.push_back(i);
            if (jobs_[i].bulk_copies) {
                bulk.push_back(i);
            }
        }
        try {
            std::vector<std::string> metrics = standard_metrics();
            add_metrics(metrics, further_);
            collect(context, metrics, all);
            if (!bulk.empty()) {
                collect(context, bulk_metrics(), bulk);
            }
        } catch (const DeviceLost&) {
            throw;
        } catch (const std::exception& error) {
            session_failure_ = clause_of(error);
        }
    }

    std::vector<Counters> counters() const {
        std::vector<Counters> all;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            const std::string& reason = !failures_[i].empty()       ? failures_[i]
                                        : !session_failure_.empty() ? session_failure_
                                                                    : lost_range_;
            all.push_back(counters_from(failures_[i].empty() ? values_[i] : MetricValues(), jobs_[i].bulk_copies,
                                        further_, reason));
        }
        return all;
    }

  private:
    void collect(const ProfiledContext& context, const std::vector<std::string>& names,
                 const std::vector<std::size_t>& jobs) {
        RangeProfiler profiler(context);
        MetricSet metrics = profiler.metrics(names);
        const RangeProfiler::Values found =
            profiler.collect(metrics, jobs.size(), [&](const RangeProfiler::Measure& measure) {
                for (const std::size_t job : jobs) {
                    run_job(job, measure);
                }
            });
        for (const std::size_t job : jobs) {
            const auto range = found.find(fmt::format("{}", job));
            for (std::size_t i = 0; range != found.end() && i < names.size(); ++i) {
                values_[job][names[i]] = range->second.at(i);
            }
        }
    }

    // Every pass must hold the same ranges: a call that cannot be run leaves an empty one.
    void run_job(std::size_t job, const RangeProfiler::Measure& measure) {
        const std::string range = fmt::format("{}", job);
        bool measured = false;
        if (failures_[job].empty()) {
            try {
                jobs_[job].run([&](const std::function<void()>& call) {
                    measured = true;
                    measure(range, call);
                });
            } catch (const DeviceLost&) {
                throw;
            } catch (const std::exception& error) {
                failures_[job] = clause_of(error);
            }
        }
        if (!measured) {
            measure(range, [] {});
        }
    }

    std::span<const TrafficJob> jobs_;
    const std::vector<std::string>& further_;
    std::vector<MetricValues> values_;
    std::vector<std::string> failures_;  // of one job
    std::string session_failure_;
    std::string lost_range_ = "CUPTI gave no values for this call's range";
};

}  // namespace

const std::vector<TrafficCounter>& traffic_counters() {
    static const std::vector<TrafficCounter> all = {
        {"dram_read_bytes", {"dram__bytes_read.sum"}, {}},
        {"dram_write_bytes", {"dram__bytes_write.sum"}, {}},
        // Not lts__t_sectors_op_*: those hold the traffic between the two halves of the L2 too, 1.5 times as much.
        {"l2_read_sectors", {"lts__t_sectors_srcunit_tex_op_read.sum"}, {}},
        {"l2_write_sectors", {"lts__t_sectors_srcunit_tex_op_write.sum"}, {}},
        // What the bulk copy engine moves does not pass the stage of the L1 that these two count.
        {"global_load_sectors",
         {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
         {"l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"}},
        {"global_store_sectors",
         {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
         {"l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum"}},
        {"shared_wavefronts",
         {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
          "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
         {}},
        {"bank_conflicts",
         {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"},
         {}},
        {"achieved_occupancy", {"sm__warps_active.avg.pct_of_peak_sustained_active"}, {}},
        {"instructions", {"smsp__inst_executed.sum"}, {}},
    };
    return all;
}

std::vector<std::string> standard_metrics() {
    std::vector<std::string> metrics;
    for (const TrafficCounter& counter : traffic_counters()) {
        add_metrics(metrics, counter.metrics);
    }
    return metrics;
}

std::vector<std::string> bulk_metrics() {
    std::vector<std::string> metrics;
    for (const TrafficCounter& counter : traffic_counters()) {
        add_metrics(metrics, counter.bulk);
    }
    return metrics;
}

void add_metrics(std::vector<std::string>& metrics, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) {
            metrics.push_back(name);
        }
    }
}

Counters counters_from(const MetricValues& values, bool bulk_copies, const std::vector<std::string>& further,
                       const std::string& missing) {
    Counters counters;
    for (const TrafficCounter& counter : traffic_counters()) {
        std::vector<std::string> metrics = counter.metrics;
        if (bulk_copies) {
            add_metrics(metrics, counter.bulk);
        }
        counters[counter.name] = sum_of(metrics, values, missing);
    }
    for (const std::string& name : further) {
        counters[name] = sum_of({name}, values, missing);
    }
    return counters;
}

std::vector<Counters> count_traffic(const ProfiledContext& context, std::span<const TrafficJob> jobs,
                                    const std::vector<std::string>& further) {
    Session session(jobs, further);
    if (!jobs.empty()) {
        session.run(context);
    }
    return session.counters();
}

}  // namespace qkprof::cuda
