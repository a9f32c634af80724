// The gate on made-up profiles: what is worse, what is not, and what cannot be said.
#include "compare.h"
#include "sample_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace qkprof {
namespace {

using testing::HasSubstr;

Thresholds standard() {
    return Thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml", {"fused_tile_bulk"}));
}

// A copy and a variant, timed and counted, as one GPU would give them.
Profile base_profile() {
    Profile profile;
    profile.environment = environment_of(FakeDevice().info(), "qkprof");
    profile.environment.complete = true;
    profile.environment.device.backend = Backend::cuda;
    profile.environment.device.facts = {{"uuid", "GPU-1"}};
    for (const auto& [name, family, seconds] :
         {std::tuple{"copy", Family::ceiling, 8e-6}, std::tuple{"fused", Family::register_only, 1e-5}}) {
        Measurement m = timed(name, family, seconds);
        m.counters["l2_read_sectors"] = counted(1e6);
        m.counters["sm_clock_mhz"] = counted(1980);
        m.counters["memory_clock_mhz"] = counted(3201);
        m.counters["bank_conflicts"] = counted(0);
        m.counters["dram_read_bytes"] = counted(1e8);
        m.counters["shared_wavefronts"] = counted(0);
        m.seconds.clear();
        for (int i = 0; i < 20; ++i) {
            m.seconds.push_back(seconds * (1 + 1e-4 * (i % 7)));
        }
        m.host_seconds.assign(m.seconds.size(), 1e-3);
        m.aa_seconds.assign(4, m.seconds);
        for (std::size_t run = 0; run < m.aa_seconds.size(); ++run) {
            for (double& s : m.aa_seconds[run]) {
                s *= 1 + 1e-4 * static_cast<double>(run);
            }
        }
        profile.measurements.push_back(m);
    }
    return profile;
}

// The cell of this metric of the measurement that was changed, the second.
Difference cell(const Profile& base, const Profile& now, const std::string& metric,
                const ComparisonOptions& options = {}) {
    const Comparison comparison = compare(base, now, standard(), options);
    for (const Difference& d : comparison.differences) {
        if (d.metric == metric && d.base->variant == "fused") {
            Difference found = d;
            found.base = found.now = nullptr;  // they do not outlive this
            return found;
        }
    }
    ADD_FAILURE() << "no cell of " << metric;
    return {};
}

Profile changed(const std::function<void(Measurement&)>& change) {
    Profile profile = base_profile();
    change(profile.measurements[1]);
    return profile;
}

Profile slowed(double factor) {
    return changed([factor](Measurement& m) {
        for (double& s : m.seconds) {
            s *= factor;
        }
        m.aa_seconds.clear();
    });
}

TEST(Compare, TheSameIsTheSame) {
    const Profile base = base_profile();
    const Comparison comparison = compare(base, base, standard(), {});
    EXPECT_EQ(comparison.count(Standing::same), comparison.differences.size());
    EXPECT_GT(comparison.differences.size(), 10U);
    EXPECT_EQ(exit_of(comparison, true), Exit::passed);
}

TEST(Compare, OneMoreOfWhatIsExactIsWorseAndOneLessIsBetter) {
    for (const char* metric :
         {"launches", "global_load_sectors", "global_store_sectors", "bank_conflicts", "shared_bytes"}) {
        const auto by = [&](double difference) {
            return changed([&](Measurement& m) { *m.counters.at(metric).value += difference; });
        };
        const Profile more = by(1);
        EXPECT_EQ(cell(base_profile(), more, metric).standing, Standing::worse) << metric;
        EXPECT_EQ(exit_of(compare(base_profile(), more, standard(), {}), false), Exit::failed);
        EXPECT_EQ(cell(more, base_profile(), metric).standing, Standing::better) << metric;
        EXPECT_EQ(exit_of(compare(more, base_profile(), standard(), {}), true), Exit::passed);
    }
}

TEST(Compare, HardwareCountsMayDifferWithinTheirThreshold) {
    const auto by = [&](const char* metric, double difference) {
        return cell(base_profile(), changed([&](Measurement& m) { *m.counters.at(metric).value += difference; }),
                    metric)
            .standing;
    };
    const auto floor = static_cast<double>(base_profile().measurements[1].problem.compulsory_bytes());
    ASSERT_LT(0.1 * floor, 131072);
    EXPECT_EQ(by("dram_read_bytes", 131072), Standing::same);
    EXPECT_EQ(by("dram_read_bytes", 131073), Standing::worse);
    EXPECT_EQ(by("dram_read_bytes", -131073), Standing::better);
    EXPECT_EQ(by("l2_read_sectors", 5e4), Standing::same);
    EXPECT_EQ(by("l2_read_sectors", 5e4 + 1), Standing::worse);
    // A tenth of the wavefronts: without shared memory, none.
    const auto with_shared_memory = [&](double conflicts) {
        return changed([&](Measurement& m) {
            m.counters["shared_wavefronts"] = counted(1000);
            m.counters["bank_conflicts"] = counted(conflicts);
        });
    };
    EXPECT_EQ(cell(with_shared_memory(0), with_shared_memory(100), "bank_conflicts").standing, Standing::same);
    EXPECT_EQ(cell(with_shared_memory(0), with_shared_memory(101), "bank_conflicts").standing, Standing::worse);
    EXPECT_EQ(by("bank_conflicts", 1), Standing::worse);
}

TEST(Compare, WhatTheEmulatedDeviceCountsIsExact) {
    const auto emulated = [](double more) {
        return changed([&](Measurement& m) {
            m.counters["shared_wavefronts"] = {.value = 1000, .source = Source::emulated, .reason = {}};
            m.counters["bank_conflicts"] = {.value = more, .source = Source::emulated, .reason = {}};
            m.counters["l2_read_sectors"] = {.value = 10000 + 11 * more, .source = Source::modelled, .reason = {}};
        });
    };
    for (const char* metric : {"bank_conflicts", "l2_read_sectors"}) {
        EXPECT_EQ(cell(emulated(0), emulated(1), metric).standing, Standing::worse) << metric;
        EXPECT_EQ(cell(emulated(0), emulated(0), metric).standing, Standing::same) << metric;
    }
}

TEST(Compare, TimesAreJudgedByTheIntervalAndTheNoise) {
    const Difference worse = cell(base_profile(), slowed(1.03), "real_time");
    EXPECT_EQ(worse.standing, Standing::worse);
    EXPECT_NEAR(*worse.change, 0.03, 1e-3);
    EXPECT_TRUE(worse.noise_measured);
    EXPECT_LT(*worse.noise, 0.015);
    EXPECT_LT(*worse.finds, 0.03);
    EXPECT_EQ(cell(base_profile(), slowed(0.97), "real_time").standing, Standing::better);
    EXPECT_EQ(cell(base_profile(), slowed(1.01), "real_time").standing, Standing::same);
    const Difference near = cell(base_profile(), slowed(1.01515), "real_time");
    EXPECT_EQ(near.standing, Standing::inconclusive);
    EXPECT_THAT(near.reason, HasSubstr("the interval reaches over the threshold of 1.5 %"));

    Profile noisy = base_profile();
    for (double& s : noisy.measurements[1].aa_seconds[2]) {
        s *= 1.05;
    }
    const Difference unclear = cell(noisy, slowed(1.03), "real_time");
    EXPECT_EQ(unclear.standing, Standing::inconclusive);
    EXPECT_THAT(unclear.reason, HasSubstr("the noise between runs is more"));
    EXPECT_GT(*unclear.finds, 0.03);
    EXPECT_EQ(cell(noisy, slowed(1.5), "real_time").standing, Standing::worse);
}

TEST(Compare, NoiseThatWasNotMeasuredIsAssumed) {
    const auto without_aa = [](double factor) {
        Profile profile = slowed(factor);
        profile.measurements[0].aa_seconds.clear();
        return profile;
    };
    const Difference cold = cell(without_aa(1), without_aa(1.03), "real_time");
    EXPECT_EQ(cold.standing, Standing::inconclusive);
    EXPECT_FALSE(cold.noise_measured);
    EXPECT_THAT(cold.reason,
                HasSubstr("was not measured (run --aa), and what is taken for it is more than the threshold"));
    EXPECT_EQ(cell(without_aa(1), without_aa(1.23), "real_time").standing, Standing::worse);
}

TEST(Compare, FewSamplesDecideNothing) {
    const Profile few = changed([](Measurement& m) { m.seconds.resize(11); });
    const Difference d = cell(base_profile(), few, "real_time");
    EXPECT_EQ(d.standing, Standing::inconclusive);
    EXPECT_THAT(d.reason, HasSubstr("in NEW 11 samples of its time are too few: 12 are needed"));
}

TEST(Compare, WhatIsMissingIsSaidWithTheReasonOfTheFile) {
    const auto says = [&](const std::function<void(Measurement&)>& change, const std::string& metric,
                          const std::string& part) {
        const Difference d = cell(base_profile(), changed(change), metric);
        EXPECT_EQ(d.standing, Standing::missing) << part;
        EXPECT_THAT(d.reason, HasSubstr(part));
    };
    says([](Measurement& m) { m.refused = "it has no mind to"; }, "result", "in NEW refused: it has no mind to");
    says([](Measurement& m) { m.not_run = "no memory"; }, "result", "in NEW not run: no memory");
    says([](Measurement& m) { m.state = CacheState::warm; }, "result", "NEW holds it warm alone");
    says([](Measurement& m) { m.variant = "other"; }, "result", "NEW does not hold it");
    says(
        [](Measurement& m) {
            m.counters["launches"] = {.value = {}, .source = Source::counted, .reason = "no permission"};
        },
        "launches", "unknown in NEW: no permission");
    says(
        [](Measurement& m) {
            m.seconds.clear();
            m.no_time_reason = "all 20 samples were taken while the GPU was throttled";
        },
        "real_time", "unknown in NEW: all 20 samples were taken while the GPU was throttled");
    Profile now = base_profile();
    now.measurements.resize(1);
    const Profile base = base_profile();
    const Comparison comparison = compare(base, now, standard(), {});
    EXPECT_EQ(comparison.count(Standing::missing), 1U);
    EXPECT_EQ(exit_of(comparison, false), Exit::inconclusive);
    EXPECT_EQ(exit_of(comparison, true), Exit::failed);
    EXPECT_THAT(compare(now, base, standard(), {}).only_in_new, testing::ElementsAre(base.measurements[1].name()));
    EXPECT_EQ(exit_of(compare(now, base, standard(), {}), true), Exit::passed);
}

TEST(Compare, WhatCannotBeComparedIsNot) {
    const auto says = [&](const std::function<void(Profile&)>& change, const std::string& metric,
                          const std::string& part) {
        Profile now = base_profile();
        change(now);
        const Difference d = cell(base_profile(), now, metric);
        EXPECT_EQ(d.standing, Standing::not_comparable) << part;
        EXPECT_THAT(d.reason, HasSubstr(part));
        EXPECT_EQ(exit_of(compare(base_profile(), now, standard(), {}), false), Exit::inconclusive) << part;
    };
    says(
        [](Profile& p) {
            p.environment.device.facts = {{"uuid", "GPU-2"}};
        },
        "real_time", "BASE is of the GPU GPU-1 and NEW of GPU-2");
    says([](Profile& p) { p.environment.device.facts.clear(); }, "real_time", "the UUID of NEW's GPU is unknown");
    says([](Profile& p) { p.environment.device.description = "another GPU"; }, "real_time", "NEW of another GPU");
    says([](Profile& p) { p.environment.device.description = "another GPU"; }, "launches", "NEW of another GPU");
    says([](Profile& p) { p.environment.device.limits.multiprocessors = 16; }, "launches", "that of NEW 16");
    says([](Profile& p) { p.environment.schema = 0; }, "launches", "BASE is of schema 1 and NEW of 0");
    says([](Profile& p) { p.measurements[1].timer = "events"; }, "real_time",
         "its timer is graph_events in BASE and events in NEW");
    says([](Profile& p) { p.measurements[1].counters["sm_clock_mhz"] = counted(1755); }, "real_time",
         "the SM clock was 1980 MHz in BASE and 1755 in NEW");
    says([](Profile& p) { p.measurements[1].counters.erase("sm_clock_mhz"); }, "real_time",
         "the SM clock of NEW is unknown");
    says([](Profile& p) { p.measurements[1].counters["launches"].source = Source::emulated; }, "launches",
         "it is counted in BASE and emulated in NEW");
    says([](Profile& p) { p.measurements[1].problem.eps = 1e-5F; }, "result", "the problem is another one");
    says(
        [](Profile& p) {
            p.environment.calibration.rows = {
                {.what = "w", .counter = "dram_read_bytes", .expected = 10, .allowed = 1, .read = 20, .reason = {}}};
        },
        "dram_read_bytes", "the calibration of NEW read this counter wrong");
}

// A cold call that reads less from the DRAM than its inputs has read no less than another.
TEST(Compare, AFigureThatIsNotPossibleIsNoImprovement) {
    Profile now = changed([](Measurement& m) {
        m.state = CacheState::cold;
        m.counters["dram_read_bytes"] = counted(16);
    });
    Profile base = base_profile();
    base.measurements[1].state = CacheState::cold;
    for (const char* metric : {"dram_read_bytes", "real_time"}) {
        const Difference d = cell(base, now, metric);
        EXPECT_EQ(d.standing, Standing::not_comparable) << metric;
        EXPECT_THAT(d.reason, HasSubstr("in NEW a figure is impossible: ")) << metric;
    }
    EXPECT_EQ(cell(base, now, "l2_read_sectors").standing, Standing::same);
}

TEST(Compare, OfTheCeilingIsComparedAcrossDevicesWhenAsked) {
    Profile now = slowed(1.03);
    now.environment.device.facts = {{"uuid", "GPU-2"}};
    now.environment.device.description = "another GPU";
    for (Measurement& m : now.measurements) {
        m.counters["sm_clock_mhz"] = counted(1410);
        for (double& s : m.seconds) {
            s *= 2;
        }
        m.aa_seconds.clear();
    }
    const Difference d =
        cell(base_profile(), now, "copy_fraction", {.of_ceiling = true, .metrics = {}, .variants = {}});
    EXPECT_EQ(d.standing, Standing::worse);
    EXPECT_NEAR(*d.base_value, 0.8, 1e-3);
    EXPECT_NEAR(*d.change, 1 / 1.03 - 1, 1e-3);
    EXPECT_LT(d.interval->low, d.interval->high);
    const Comparison comparison =
        compare(base_profile(), now, standard(), {.of_ceiling = true, .metrics = {"copy_fraction"}, .variants = {}});
    EXPECT_EQ(comparison.differences.size(), 2U);  // of the copy itself it is 1
    EXPECT_EQ(comparison.count(Standing::same), 1U);
}

TEST(Compare, WrongResultsAndContradictionsAreWorse) {
    const Profile wrong = changed([](Measurement& m) {
        m.verification = {
            .correct = false, .error_norm = 1, .wrong_elements = 3, .first_wrong = WrongElement{}, .fault = {}};
    });
    EXPECT_EQ(cell(base_profile(), wrong, "result").standing, Standing::worse);
    EXPECT_EQ(exit_of(compare(base_profile(), wrong, standard(), {}), false), Exit::wrong_result);
    EXPECT_EQ(cell(wrong, base_profile(), "result").standing, Standing::better);
    const Profile contradicted =
        changed([](Measurement& m) { m.contradictions = {"It declares 1 and 2 were counted."}; });
    const Difference d = cell(base_profile(), contradicted, "contradictions");
    EXPECT_EQ(d.standing, Standing::worse);
    EXPECT_EQ(cell(contradicted, base_profile(), "contradictions").standing, Standing::better);
    EXPECT_EQ(cell(contradicted, contradicted, "contradictions").standing, Standing::same);
}

TEST(Compare, ChosenMetricsHideNoResult) {
    const ComparisonOptions launches = {.of_ceiling = false, .metrics = {"launches"}, .variants = {}};
    const Profile wrong = changed([](Measurement& m) { m.verification.correct = false; });
    EXPECT_EQ(exit_of(compare(base_profile(), wrong, standard(), launches), false), Exit::wrong_result);
    Profile gone = base_profile();
    gone.measurements.pop_back();
    EXPECT_EQ(exit_of(compare(base_profile(), gone, standard(), launches), true), Exit::failed);
    EXPECT_EQ(compare(base_profile(), gone, standard(), {.of_ceiling = false, .metrics = {}, .variants = {"fused"}})
                  .count(Standing::missing),
              1U);
}

TEST(Compare, ALostRecordIsNoImprovement) {
    const Profile lost = changed([](Measurement& m) { m.counters["launches"] = counted(0); });
    EXPECT_EQ(cell(base_profile(), lost, "launches").standing, Standing::not_comparable);
    const Profile unknown = changed([](Measurement& m) { m.counters["launches"].value = {}; });
    const Profile base = base_profile();
    EXPECT_THAT(compare(unknown, base, standard(), {}).notes,
                testing::Contains(HasSubstr("Counts that NEW alone knows, and that are held against nothing: 1.")));
}

TEST(Compare, AnotherContradictionIsNew) {
    const auto with = [](const char* sentence) {
        return changed([&](Measurement& m) { m.contradictions = {sentence}; });
    };
    EXPECT_EQ(cell(with("It declares 1 launch."), with("It declares 9 registers."), "contradictions").standing,
              Standing::worse);
}

TEST(Compare, NothingInCommonIsAnError) {
    Profile now = base_profile();
    const auto says = [&](const Profile& base, const ComparisonOptions& options, const std::string& part) {
        try {
            compare(base, now, standard(), options);
            ADD_FAILURE() << part;
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), HasSubstr(part));
        }
    };
    says(base_profile(), {.of_ceiling = false, .metrics = {}, .variants = {"nobody"}},
         "nothing in common of the chosen --metrics and --variants");
    for (Measurement& m : now.measurements) {
        m.state = CacheState::warm;
    }
    says(base_profile(), {},
         "BASE holds copy/2x3x4x64/bf16/cold/threads:64 and 1 more; NEW holds copy/2x3x4x64/bf16/warm/threads:64 and 1 "
         "more.");
    now.measurements.clear();
    says(base_profile(), {}, "NEW holds nothing.");
}

TEST(Compare, TheWorstComesFirst) {
    Profile now = slowed(1.5);
    now.measurements[1].counters["launches"] = counted(2);
    now.measurements[1].counters["global_load_sectors"].value = {};
    now.measurements[0].counters["shared_bytes"] = counted(1);
    const Profile base = base_profile();
    const Comparison comparison = compare(base, now, standard(), {});
    ASSERT_GT(comparison.differences.size(), 4U);
    EXPECT_EQ(comparison.differences[0].metric, "launches");
    EXPECT_EQ(comparison.differences[1].metric, "real_time");
    EXPECT_EQ(comparison.differences[2].standing, Standing::missing);
}

}  // namespace
}  // namespace qkprof
