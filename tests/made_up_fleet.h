// Profiles of many GPUs as a fleet would leave them: the same measurements, times that scatter as those of an H200 do.
#pragma once

#include "fleet.h"
#include "sample_profile.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace qkprof {

inline Thresholds project_thresholds() {
    return Thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml",
                                       {"fused_tile_bulk", "fused_table_shared", "fused_tile_shared"}));
}

// Relative standard deviations.
struct FleetNoise {
    double samples = 0.004;    // between samples of one run
    double cold_runs = 0.012;  // between runs, of a cold call
    double warm_runs = 0.004;
    double gpus = 0.003;  // between GPUs, over all
};

struct MadeUpFleet {
    std::size_t gpus = 64;
    std::size_t variants = 12;  // each cold and warm
    std::size_t samples = 20;
    std::size_t further_runs = 0;  // run --aa
    FleetNoise noise = {};
    std::uint32_t seed = 1;

    std::vector<FleetMember> members() const {
        std::vector<FleetMember> all;
        for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
            all.push_back(member(gpu));
        }
        return all;
    }

    FleetMember member(std::size_t gpu) const {
        std::mt19937 random(seed * 100003U + static_cast<std::uint32_t>(gpu));
        std::normal_distribution<double> normal;
        FleetMember one = {.path = fmt::format("/fleet/profile.rank{:03}.json", gpu), .profile = {}};
        Environment& e = one.profile.environment;
        e = environment_of(FakeDevice().info(), "qkprof");
        e.complete = true;
        e.host_name = fmt::format("node{}", gpu / 8);
        e.further = {{"rank", fmt::format("{}", gpu)}};
        e.device.backend = Backend::cuda;
        e.device.description = "NVIDIA H200";
        e.device.facts = {{"uuid", uuid(gpu)}, {"driver", "580.159.04"}};
        const double of_gpu = 1 + noise.gpus * normal(random);
        for (std::size_t variant = 0; variant < variants; ++variant) {
            for (const CacheState state : {CacheState::cold, CacheState::warm}) {
                Measurement m = timed(variant == 0 ? "copy" : fmt::format("fused_{}", variant),
                                      variant == 0 ? Family::ceiling : Family::register_only, 1e-5);
                m.state = state;
                m.timer = state == CacheState::cold ? "events" : "graph_events";
                m.counters["l2_read_sectors"] = counted(1e6);
                const double runs = state == CacheState::cold ? noise.cold_runs : noise.warm_runs;
                const double usual = 1e-5 * (1 + 0.1 * static_cast<double>(variant)) * of_gpu;
                const auto run = [&] {
                    std::vector<double> taken(samples);
                    const double of_run = 1 + runs * normal(random);
                    for (double& seconds : taken) {
                        seconds = usual * of_run * (1 + noise.samples * normal(random));
                    }
                    return taken;
                };
                m.seconds = run();
                m.host_seconds.assign(samples, 1e-3);
                for (std::size_t i = 0; i < further_runs; ++i) {
                    m.aa_seconds.push_back(run());
                }
                one.profile.measurements.push_back(std::move(m));
            }
        }
        return one;
    }

    static std::string uuid(std::size_t gpu) { return fmt::format("GPU-{:08x}-0000-0000-0000-000000000000", gpu); }
};

// Where `chosen` says so.
inline void slow_down(FleetMember& member, double factor, const std::function<bool(const Measurement&)>& chosen) {
    for (Measurement& m : member.profile.measurements) {
        if (chosen(m)) {
            for (double& seconds : m.seconds) {
                seconds *= factor;
            }
            for (std::vector<double>& run : m.aa_seconds) {
                for (double& seconds : run) {
                    seconds *= factor;
                }
            }
        }
    }
}

inline void slow_down(FleetMember& member, double factor) {
    slow_down(member, factor, [](const Measurement&) { return true; });
}

}  // namespace qkprof
