#include "measurement.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {

const std::vector<Metric>& metrics() {
    static const std::vector<Metric> all = {
        {"launches", "kernels", "kernel executions"},
        {"submissions", "calls", "launch calls of the host: one submission of a graph may execute many kernels"},
        {"graph_launches", "kernels", "kernel executions a call, where calls are replayed as one CUDA graph"},
        {"graph_submissions", "calls", "submissions of the host a call, where calls are replayed as one CUDA graph"},
        {"transfers", "operations", "copies and fills of memory beside the kernels; no variant declares any"},
        {"dram_read_bytes", "bytes", "read from device memory"},
        {"dram_write_bytes", "bytes", "written to device memory"},
        {"l2_read_sectors", "sectors", "32-byte sectors that the SMs read from the L2"},
        {"l2_write_sectors", "sectors", "32-byte sectors that the SMs wrote to the L2"},
        {"global_load_sectors", "sectors",
         "32-byte sectors that warps asked to load, each access coalesced on its own"},
        {"global_store_sectors", "sectors",
         "32-byte sectors that warps asked to store, each access coalesced on its own"},
        {"shared_wavefronts", "wavefronts", "passes through shared memory, loads and stores"},
        {"bank_conflicts", "wavefronts", "passes beyond those that conflict-free accesses would take"},
        {"achieved_occupancy", "percent", "resident warps of the most that a busy multiprocessor can hold, on average"},
        {"instructions", "instructions", "that warps executed"},
        {"registers", "registers", "registers a thread of the kernel that uses most"},
        {"local_bytes", "bytes", "local memory a thread of the kernel that uses most: spilled registers and its stack"},
        {"shared_bytes", "bytes", "shared memory of the largest block"},
        {"sm_clock_mhz", "MHz", "clock of the SMs around the samples of time: the median"},
        {"memory_clock_mhz", "MHz", "clock of the memory around the samples of time: the median"},
        {"hlo_fusions", "instructions", "fusions in XLA's optimised HLO of the call"},
        {"hlo_fusion_launches", "kernels", "kernel executions of those"},
        {"hlo_custom_calls", "instructions", "custom calls in XLA's optimised HLO of the call"},
        {"hlo_custom_call_launches", "kernels", "kernel executions of those"},
        {"hlo_unfused", "instructions", "copies, transposes and the like outside the fusions, in XLA's optimised HLO"},
        {"hlo_unfused_launches", "kernels", "kernel executions, copies and fills of those"},
        {"throttled_samples", "samples", "samples of time taken while the GPU was held back: they are left out"},
        {"compulsory_bytes", "bytes",
         "query, key, gamma and the table rows of the tokens read once, results written once: the floor", true},
        {"error_norm", "", "|out - reference| / |reference|, Euclidean, over the whole output", true},
        {"copy_fraction", "", "time of `copy` in the same run over this time: 1 is the ceiling", true},
        {"aa_noise", "", "relative: two runs of the program differ by more in one of 1,000 comparisons (run --aa)",
         true},
        {"l1_traffic_bytes", "bytes", "what warps asked for in global memory: the load and store sectors", true},
        {"l1_floor_bytes", "bytes", "what they must ask for: the compulsory bytes; of a copy, what it moves", true},
        {"l1_floor_ratio", "", "l1_traffic_bytes over l1_floor_bytes: 1 is the least possible", true},
        {"l2_traffic_bytes", "bytes", "between the SMs and the L2: the read and written sectors", true},
        {"l2_floor_bytes", "bytes", "what must pass there: the compulsory bytes; of a copy, what it moves", true},
        {"l2_floor_ratio", "", "l2_traffic_bytes over l2_floor_bytes: 1 is the least possible", true},
        {"dram_traffic_bytes", "bytes", "read from and written to device memory", true},
        {"dram_floor_bytes", "bytes", "what must pass there: cold, all that is read and what of out the L2 cannot hold",
         true},
        {"dram_floor_ratio", "", "dram_traffic_bytes over dram_floor_bytes; none where the floor is 0", true},
        {"shared_traffic_bytes", "bytes", "through shared memory: 128 a wavefront; the operation needs none", true},
        {"bound_by", "", "DRAM or L2: its bytes take longest, at a copy's rate there; latency: copies are slow, too",
         true},
        {"bound_fraction", "", "time of those bytes at that rate over this time; of latency: copy_fraction", true},
    };
    return all;
}

void add_launches(std::vector<KernelUse>& kernels, KernelUse use, double launches) {
    const auto known = std::find_if(kernels.begin(), kernels.end(), [&](const KernelUse& other) {
        use.launches = other.launches;
        return other == use;
    });
    if (known != kernels.end()) {
        known->launches += launches;
        return;
    }
    use.launches = launches;
    kernels.push_back(std::move(use));
}

bool is_own_metric(std::string_view name) {
    return std::any_of(metrics().begin(), metrics().end(), [&](const Metric& metric) { return metric.name == name; });
}

std::string Measurement::name() const {
    std::string name = fmt::format("{}/{}/{}/{}", variant, problem.text('/'), name_of(problem.dtype), name_of(state));
    for (const auto& [parameter, value] : non_standard) {
        name += fmt::format("/{}:{}", parameter, value);
    }
    return name;
}

std::string head_text(const Problem& problem, const WrongElement& wrong) {
    if (problem.key_heads == 0) {
        return fmt::format("h={}", wrong.head);
    }
    return wrong.head < problem.heads ? fmt::format("query head {}", wrong.head)
                                      : fmt::format("key head {}", wrong.head - problem.heads);
}

Counter counter_of(const Measurement& measurement, std::string_view name) {
    const auto found = measurement.counters.find(name);
    return found != measurement.counters.end()
               ? found->second
               : Counter{.value = {},
                         .source = Source::counted,
                         .reason = measurement.counters.empty() ? "the run ended before it was counted"
                                                                : "the device does not count it"};
}

}  // namespace qkprof
