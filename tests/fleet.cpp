// Fleets that are made up: which GPUs are named, and that noise names none.
#include "fleet.h"

#include "fleet_table.h"
#include "made_up_fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace qkprof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Fleet judged(const std::vector<FleetMember>& members, const FleetOptions& options = {}) {
    return lay_side_by_side(members, project_thresholds(), options);
}

std::string refusal(const std::vector<FleetMember>& members, const FleetOptions& options = {}) {
    try {
        judged(members, options);
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

// The UUIDs of the GPUs that stand so.
std::vector<std::string> standing(const Fleet& fleet, GpuStanding standing) {
    std::vector<std::string> uuids;
    for (const FleetModel& model : fleet.models) {
        for (const FleetGpu& gpu : model.gpus) {
            if (gpu.standing == standing) {
                uuids.push_back(gpu.uuid);
            }
        }
    }
    return uuids;
}

const FleetGpu& gpu_named(const Fleet& fleet, std::size_t gpu) {
    for (const FleetModel& model : fleet.models) {
        for (const FleetGpu& one : model.gpus) {
            if (one.uuid == MadeUpFleet::uuid(gpu)) {
                return one;
            }
        }
    }
    throw std::runtime_error("there is no such GPU");
}

TEST(Fleet, NoiseAloneNamesNoGpu) {
    for (const std::size_t gpus : {2U, 3U, 8U, 16U, 64U}) {
        for (const std::size_t further_runs : {0U, 3U}) {
            for (std::uint32_t seed = 1; seed <= 5; ++seed) {
                const Fleet fleet =
                    judged(MadeUpFleet{.gpus = gpus, .further_runs = further_runs, .seed = seed}.members());
                EXPECT_THAT(standing(fleet, GpuStanding::slower), IsEmpty())
                    << gpus << " GPUs, " << further_runs << " further runs, seed " << seed;
                EXPECT_LE(fleet.count(GpuStanding::inconclusive), gpus / 32 + 1);
            }
        }
    }
}

// The further runs of one H200 as if each had been another GPU: noise as it is, which in single cells is up to 20 %.
std::vector<FleetMember> recorded_runs(bool with_further_runs) {
    Profile recorded = read_profile(QKPROF_PROFILES_FOLDER "/h200/baseline.json");
    std::erase_if(recorded.measurements, [](const Measurement& m) { return !m.variant.starts_with("fused_register"); });
    std::vector<FleetMember> members;
    for (std::size_t gpu = 0; gpu < recorded.measurements.front().aa_seconds.size(); ++gpu) {
        members.push_back({fmt::format("/fleet/{}.json", gpu), recorded});
        Profile& profile = members.back().profile;
        profile.environment.device.facts = {{"uuid", MadeUpFleet::uuid(gpu)}};
        for (Measurement& m : profile.measurements) {
            m.seconds = m.aa_seconds.at(gpu);
            m.aa_seconds.resize(with_further_runs ? 3 : 0);
        }
    }
    return members;
}

TEST(Fleet, TheNoiseOfAnH200NamesNoGpu) {
    for (const bool with_further_runs : {false, true}) {
        std::vector<FleetMember> members = recorded_runs(with_further_runs);
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), IsEmpty());
        slow_down(members[3], with_further_runs ? 1.025 : 1.09);
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(3)));
    }
}

TEST(Fleet, OneSlowGpuOfManyIsNamedByItsUuidAndHost) {
    std::vector<FleetMember> members = MadeUpFleet{}.members();
    slow_down(members[42], 1.03);
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(42)));
    EXPECT_EQ(exit_of(fleet, false), Exit::failed);
    const FleetGpu& first = fleet.models.front().gpus.front();
    EXPECT_EQ(first.uuid, MadeUpFleet::uuid(42));
    EXPECT_NEAR(first.time.overall->change, 0.03, 0.012);
    EXPECT_LT(first.time.overall->interval->low, first.time.overall->change);
    EXPECT_GT(first.time.overall->interval->high, first.time.overall->change);
    EXPECT_EQ(first.time.judged, 24U);
    const std::vector<std::string> sentences = sentences_of(fleet);
    ASSERT_EQ(sentences.size(), 1U);
    EXPECT_THAT(sentences.front(),
                StartsWith(MadeUpFleet::uuid(42) + " on node5 (profile.rank042.json) is slower than the other 63 of "
                                                   "its model: +"));
    EXPECT_THAT(sentences.front(), HasSubstr(" over all 24 measurements (99 % interval +"));
}

TEST(Fleet, ASmallFleetNeedsTheNoiseToBeMeasured) {
    for (const std::size_t gpus : {2U, 8U}) {
        std::vector<FleetMember> members = MadeUpFleet{.gpus = gpus}.members();
        slow_down(members[1], 1.03);
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), IsEmpty());
        slow_down(members[1], 1.06);
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(1)));
        members = MadeUpFleet{.gpus = gpus, .further_runs = 3}.members();
        slow_down(members[1], 1.03);
        const Fleet fleet = judged(members);
        EXPECT_THAT(standing(fleet, GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(1)));
        EXPECT_TRUE(fleet.models.front().noise_measured);
    }
}

TEST(Fleet, SlowInSomeMeasurementsIsSlow) {
    std::vector<FleetMember> members = MadeUpFleet{}.members();
    slow_down(members[7], 1.3, [](const Measurement& m) { return m.variant == "fused_3" || m.variant == "fused_4"; });
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(7)));
    const FleetGpu& gpu = gpu_named(fleet, 7);
    EXPECT_EQ(gpu.time.slower, 4U);
    EXPECT_LT(gpu.time.overall->change, 0.015);
    EXPECT_NEAR(gpu.time.worst->change, 0.3, 0.05);
    EXPECT_THAT(sentences_of(fleet).front(), HasSubstr("in 4 of 24 measurements, most in fused_"));
}

TEST(Fleet, SlowInOneMeasurementOfManyMayBeAnAccident) {
    std::vector<FleetMember> members = MadeUpFleet{.variants = 6}.members();
    slow_down(members[7], 1.2,
              [](const Measurement& m) { return m.variant == "fused_3" && m.state == CacheState::warm; });
    const Fleet fleet = judged(members);
    EXPECT_EQ(gpu_named(fleet, 7).standing, GpuStanding::inconclusive);
    EXPECT_EQ(exit_of(fleet, false), Exit::inconclusive);
    EXPECT_EQ(exit_of(fleet, true), Exit::failed);
    EXPECT_THAT(sentences_of(fleet),
                testing::ElementsAre(HasSubstr("node0 (profile.rank007.json): inconclusive: it was slower in 1 of 12 "
                                               "measurements, which may be an accident: measure it once more.")));
}

TEST(Fleet, SlowInAFewOfHundredsMayBeAnAccident) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 16, .variants = 40}.members();
    const auto slow_in = [&](int measurements) {
        int left = measurements;
        slow_down(members[7], 1.2, [&](const Measurement& m) { return m.state == CacheState::warm && left-- > 0; });
        return gpu_named(judged(members), 7).standing;
    };
    EXPECT_EQ(slow_in(4), GpuStanding::inconclusive);  // of 80
    EXPECT_EQ(slow_in(5), GpuStanding::slower);
}

TEST(Fleet, SlowInOneOfFewMeasurementsIsSlow) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 16, .variants = 2}.members();
    slow_down(members[7], 1.2, [](const Measurement& m) { return m.variant == "copy" && m.state == CacheState::warm; });
    EXPECT_EQ(gpu_named(judged(members), 7).standing, GpuStanding::slower);
}

TEST(Fleet, WhereTheGpusDifferByNatureThatIsNotSlow) {
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        std::vector<FleetMember> members =
            MadeUpFleet{.gpus = 32, .further_runs = 3, .noise = {.gpus = 0.02}, .seed = seed}.members();
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), IsEmpty());
        slow_down(members[9], 1.2);
        EXPECT_THAT(standing(judged(members), GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(9)));
    }
}

TEST(Fleet, AFewSlowGpusDoNotHideOneAnother) {
    std::vector<FleetMember> members = MadeUpFleet{}.members();
    for (const std::size_t gpu : {8U, 9U, 10U, 11U, 12U, 13U, 14U, 15U}) {  // a whole host
        slow_down(members[gpu], 1.04);
    }
    EXPECT_EQ(judged(members).count(GpuStanding::slower), 8U);
}

TEST(Fleet, AFastGpuIsNoneOfTheSlow) {
    std::vector<FleetMember> members = MadeUpFleet{}.members();
    slow_down(members[5], 0.9);
    const Fleet fleet = judged(members);
    EXPECT_EQ(exit_of(fleet, true), Exit::passed);
    EXPECT_EQ(fleet.models.front().gpus.back().uuid, MadeUpFleet::uuid(5));
}

TEST(Fleet, EachModelIsLaidSideBySideForItself) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 32}.members();
    for (std::size_t gpu = 16; gpu < 32; ++gpu) {
        members[gpu].profile.environment.device.description = "NVIDIA H100";
        slow_down(members[gpu], 1.4);
    }
    EXPECT_EQ(exit_of(judged(members), true), Exit::passed);
    slow_down(members[20], 1.05);
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::slower), testing::ElementsAre(MadeUpFleet::uuid(20)));
    ASSERT_EQ(fleet.models.size(), 2U);
    EXPECT_EQ(fleet.models[0].device, "NVIDIA H100");  // the worst first
    EXPECT_EQ(fleet.models[0].gpus.size(), 16U);
    EXPECT_EQ(fleet.models[0].hosts, 2U);
}

TEST(Fleet, TheOnlyOneOfItsModelIsHeldAgainstNothing) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 4}.members();
    members[3].profile.environment.device.description = "NVIDIA H100";
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::inconclusive), testing::ElementsAre(MadeUpFleet::uuid(3)));
    EXPECT_EQ(exit_of(fleet, false), Exit::inconclusive);
}

TEST(Fleet, ACountThatDiffersIsNamed) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 16}.members();
    *members[3].profile.measurements[4].counters.at("global_load_sectors").value += 1;
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::differs), testing::ElementsAre(MadeUpFleet::uuid(3)));
    EXPECT_EQ(exit_of(fleet, false), Exit::failed);
    EXPECT_THAT(
        sentences_of(fleet),
        testing::ElementsAre(
            MadeUpFleet::uuid(3) +
            " on node0 (profile.rank003.json): global_load_sectors of "
            "fused_2/2x3x4x64/bf16/cold/threads:64 is 97, and 96 on 15 of 16 GPUs (no difference is allowed)."));
}

TEST(Fleet, ACountWithAThresholdMayDifferWithinIt) {
    const auto differ = [](double factor, const std::string& allowed) {
        std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
        for (Measurement& m : members[3].profile.measurements) {
            *m.counters.at("l2_read_sectors").value *= factor;
        }
        const Thresholds thresholds(
            parse_thresholds("[[threshold]]\nmetrics = [\"l2_read_sectors\"]\n" + allowed, "t.toml", {}));
        return lay_side_by_side(members, thresholds, {}).count(GpuStanding::differs);
    };
    EXPECT_EQ(differ(1.019, "relative = 0.02"), 0U);
    EXPECT_EQ(differ(1.021, "relative = 0.02"), 1U);
    EXPECT_EQ(differ(0.979, "relative = 0.02"), 1U);
    EXPECT_EQ(differ(1.021, "relative = 0.02\nabsolute = 22000"), 0U);
    // Of another metric: there are a million of these and 96 of those.
    EXPECT_EQ(differ(1 + 9e-6, "relative = 0.1\nrelative_to = \"global_load_sectors\""), 0U);
    EXPECT_EQ(differ(1 + 1e-5, "relative = 0.1\nrelative_to = \"global_load_sectors\""), 1U);
    EXPECT_EQ(differ(2, "relative = 0.1\nrelative_to = \"transfers\""), 0U);  // which nobody counted
}

TEST(Fleet, OfTwoThatDifferOneIsNamedAndTheOthersCountIsSaid) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 2}.members();
    *members[0].profile.measurements[0].counters.at("launches").value = 2;
    EXPECT_THAT(sentences_of(judged(members)), testing::ElementsAre(HasSubstr("is 2, and 1 on 1 of 2 GPUs")));
}

TEST(Fleet, WhatMostHaveIsTheUsualCount) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 5}.members();
    for (std::size_t gpu = 2; gpu < 5; ++gpu) {
        *members[gpu].profile.measurements[0].counters.at("launches").value = static_cast<double>(gpu);
    }
    EXPECT_EQ(judged(members).count(GpuStanding::differs), 3U);
}

TEST(Fleet, WhatIsNotComparedIsShownAlone) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (FleetMember& member : members) {
        for (Measurement& m : member.profile.measurements) {
            m.counters["sm_clock_mhz"] = counted(&member == &members[2] ? 1200 : 1980);
            m.counters["sm__x.sum.per_second"] = counted(&member == &members[2] ? 1 : 2);
        }
    }
    const Fleet fleet = judged(members);
    EXPECT_EQ(exit_of(fleet, true), Exit::passed);
    EXPECT_THAT(to_text(spreads_table(fleet, false, 0), false), HasSubstr("sm_clock_mhz"));
    EXPECT_THAT(to_text(spreads_table(fleet, false, 0), false), HasSubstr("sm__x.sum.per_second"));
    EXPECT_EQ(exit_of(judged(members, {.metrics = {"sm_clock_mhz"}, .variants = {}}), false), Exit::inconclusive);
}

TEST(Fleet, WhereAllWasThrottledNothingIsJudged) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (FleetMember& member : members) {
        for (Measurement& m : member.profile.measurements) {
            for (std::size_t i = 0; i < m.seconds.size(); ++i) {
                m.throttled.push_back({i, m.seconds[i], 1e-3, {"heat"}});
            }
            m.seconds.clear();
            m.no_time_reason = "all 20 samples were taken while the GPU was throttled (heat)";
        }
    }
    EXPECT_EQ(exit_of(judged(members, {.metrics = {"real_time"}, .variants = {}}), false), Exit::inconclusive);
    const Fleet fleet = judged(members);
    EXPECT_EQ(fleet.count(GpuStanding::inconclusive), 8U);
    EXPECT_EQ(exit_of(fleet, false), Exit::inconclusive);
    EXPECT_EQ(exit_of(fleet, true), Exit::failed);
    EXPECT_EQ(fleet.models[0].gpus[0].throttled, fleet.models[0].gpus[0].samples);
    EXPECT_THAT(sentences_of(fleet),
                testing::ElementsAre(HasSubstr("and 5 more: inconclusive: none of its times can be judged: all 20 "
                                               "samples were taken while the GPU was throttled (heat).")));
}

TEST(Fleet, AThrottledGpuAmongOthersIsInconclusive) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (Measurement& m : members[6].profile.measurements) {
        m.seconds.resize(11);  // one fewer than it takes
    }
    const Fleet fleet = judged(members);
    EXPECT_THAT(standing(fleet, GpuStanding::inconclusive), testing::ElementsAre(MadeUpFleet::uuid(6)));
    EXPECT_THAT(sentences_of(fleet), testing::ElementsAre(HasSubstr("11 samples of its time are too few")));
}

TEST(Fleet, TimesOfAnotherTimerAreNotJudged) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    slow_down(members[6], 1.3);
    for (Measurement& m : members[6].profile.measurements) {
        m.timer = "cupti";
    }
    EXPECT_THAT(sentences_of(judged(members)),
                testing::ElementsAre(HasSubstr("none of its times can be judged: its timer is cupti, and that of most "
                                               "others events.")));
}

TEST(Fleet, AnInterruptedRunIsInconclusive) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    members[6].profile.measurements.resize(20);
    members[6].profile.environment.complete = false;
    const Fleet fleet = judged(members);
    EXPECT_THAT(sentences_of(fleet),
                testing::ElementsAre(HasSubstr("4 of the measurements that most others hold are not in its profile, "
                                               "which was interrupted.")));
    EXPECT_EQ(exit_of(fleet, false), Exit::inconclusive);
}

TEST(Fleet, ACounterThatTheCalibrationReadWrongIsNotBelieved) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (Measurement& m : members[6].profile.measurements) {
        m.counters["global_load_sectors"] = counted(1);
    }
    members[6].profile.environment.calibration.failure.clear();
    members[6].profile.environment.calibration.rows = {
        {.what = "a read", .counter = "global_load_sectors", .expected = 100, .allowed = 0, .read = 1, .reason = {}}};
    const Fleet fleet = judged(members);
    EXPECT_THAT(sentences_of(fleet),
                testing::ElementsAre(HasSubstr("24 of the counts that most others have are unknown of it, as its "
                                               "calibration read global_load_sectors wrong.")));
}

TEST(Fleet, AWrongResultIsWorstOfAll) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 16}.members();
    slow_down(members[2], 1.1);
    members[5].profile.measurements[3].verification.correct = false;
    const Fleet fleet = judged(members);
    EXPECT_EQ(fleet.models[0].gpus[0].uuid, MadeUpFleet::uuid(5));
    EXPECT_EQ(fleet.models[0].gpus[0].standing, GpuStanding::wrong);
    EXPECT_EQ(fleet.models[0].gpus[1].uuid, MadeUpFleet::uuid(2));
    EXPECT_EQ(exit_of(fleet, false), Exit::wrong_result);
    EXPECT_THAT(sentences_of(fleet).front(), HasSubstr("(profile.rank005.json): fused_1/2x3x4x64/bf16/warm"));
    EXPECT_EQ(exit_of(judged(members, {.metrics = {"result"}, .variants = {}}), false), Exit::wrong_result);
    EXPECT_EQ(exit_of(judged(members, {.metrics = {"real_time"}, .variants = {}}), false), Exit::wrong_result);
    members.erase(members.begin() + 5);
    EXPECT_EQ(exit_of(judged(members, {.metrics = {"result"}, .variants = {}}), true), Exit::passed);
}

TEST(Fleet, OtherProblemsOfTheSameNameAreOtherMeasurements) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (Measurement& m : members[6].profile.measurements) {
        m.problem.eps = 0.5F;
        m.counters["global_load_sectors"] = counted(1);
    }
    const Fleet fleet = judged(members);
    EXPECT_EQ(gpu_named(fleet, 6).standing, GpuStanding::inconclusive);
    EXPECT_EQ(gpu_named(fleet, 6).lacking_measurements, 24U);
    EXPECT_EQ(fleet.count(GpuStanding::ordinary), 7U);
}

TEST(Fleet, TwoFilesOfOneGpuAreRefused) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 3}.members();
    members[2].profile.environment.device.facts = members[0].profile.environment.device.facts;
    EXPECT_THAT(refusal(members), HasSubstr("/fleet/profile.rank000.json ("));
    EXPECT_THAT(refusal(members), HasSubstr("and /fleet/profile.rank002.json ("));
    EXPECT_THAT(refusal(members), HasSubstr("are of the same GPU, " + MadeUpFleet::uuid(0) +
                                            ": a fleet holds each GPU once, so leave one in the folder."));
}

TEST(Fleet, EmulatedDevicesAreNamedByHostAndFile) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 3}.members();
    for (FleetMember& member : members) {
        DeviceInfo& device = member.profile.environment.device;
        device.backend = Backend::emulated;
        device.description = "emulated";
        device.has_clock = false;
        device.facts.clear();
        for (Measurement& m : member.profile.measurements) {
            m.seconds.clear();
        }
    }
    EXPECT_EQ(exit_of(judged(members), true), Exit::passed);
    *members[1].profile.measurements[0].counters.at("launches").value = 2;
    EXPECT_THAT(sentences_of(judged(members)), testing::ElementsAre(StartsWith("profile.rank001.json (node0): ")));
    members[1].profile.environment.device.l2_bytes *= 2;
    EXPECT_EQ(judged(members).models.size(), 2U);
}

TEST(Fleet, OneMemberIsNoFleet) {
    EXPECT_EQ(refusal(MadeUpFleet{.gpus = 1}.members()),
              "/fleet/profile.rank000.json is the only profile there: a fleet is two GPUs or more.");
}

TEST(Fleet, MetricsAndVariantsAreChosen) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 16}.members();
    slow_down(members[2], 1.1, [](const Measurement& m) { return m.variant != "copy"; });
    *members[3].profile.measurements[4].counters.at("launches").value = 2;
    EXPECT_THAT(standing(judged(members, {.metrics = {"launches"}, .variants = {}}), GpuStanding::slower), IsEmpty());
    EXPECT_THAT(standing(judged(members, {.metrics = {"real_*"}, .variants = {}}), GpuStanding::differs), IsEmpty());
    EXPECT_EQ(exit_of(judged(members, {.metrics = {}, .variants = {"copy"}}), true), Exit::passed);
    EXPECT_THAT(refusal(members, {.metrics = {}, .variants = {"nobody"}}), HasSubstr("hold nothing of the chosen"));
    EXPECT_THAT(refusal(members, {.metrics = {"nothing"}, .variants = {}}), HasSubstr("hold nothing of the chosen"));
}

TEST(Fleet, WhatElseDiffersIsNoted) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 8}.members();
    for (const std::size_t gpu : {1U, 2U, 3U, 4U, 5U}) {
        members[gpu].profile.environment.device.facts[1].second = gpu == 1 ? "570.1" : "560.2";
    }
    EXPECT_THAT(judged(members).models.front().notes,
                testing::ElementsAre(
                    "driver: 560.2 on 4 of 8, 570.1 on profile.rank001.json, 580.159.04 on profile.rank000.json, "
                    "profile.rank006.json and profile.rank007.json."));
}

TEST(Fleet, TheTablesHoldWhatWasFound) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 20}.members();
    slow_down(members[7], 1.05);
    const Fleet fleet = judged(members);
    const std::string few = to_text(gpus_table(fleet, false, 0), false);
    EXPECT_THAT(few, StartsWith("NVIDIA H200: 20 GPUs on 3 hosts, 24 measurements timed\nGPU "));
    EXPECT_THAT(few, HasSubstr("\nGPU-00000007  node0  profile.rank007.json  slower  "));
    EXPECT_THAT(few, HasSubstr("\n10 more are as the rest, -"));
    EXPECT_EQ(gpus_table(fleet, true, 0).sections.front().rows.size(), 20U);
    EXPECT_EQ(gpus_rows(fleet).sections.front().rows.size(), 20U);
    EXPECT_EQ(gpus_rows(fleet).sections.front().rows.front().size(), gpus_rows(fleet).columns.size());
    EXPECT_THAT(to_text(spreads_table(fleet, false, 0), false), HasSubstr("\nreal_time    20  "));
    EXPECT_EQ(spreads_table(fleet, true, 0).sections.front().rows.size(), fleet.models.front().spreads.size());
    const auto json = nlohmann::json::parse(to_json(fleet));
    const auto& model = json["models"][0];
    EXPECT_EQ(model["gpus"].size(), 20U);
    EXPECT_EQ(model["gpus"][0]["uuid"], MadeUpFleet::uuid(7));
    EXPECT_EQ(model["gpus"][0]["standing"], "slower");
    EXPECT_EQ(model["gpus"][1]["overall"]["low"], nullptr);
    EXPECT_EQ(model["spreads"][0]["metric"], "real_time");
    EXPECT_EQ(model["spreads"][0]["gpus"], 20U);
}

TEST(Fleet, ASpreadIsOfTheGpusMedians) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 3, .noise = {0, 0, 0, 0}}.members();
    slow_down(members[1], 1.01);
    slow_down(members[2], 1.04);
    const Spread spread = judged(members).models.front().spreads.front();
    EXPECT_EQ(spread.metric, "real_time");
    EXPECT_EQ(spread.gpus, 3U);
    EXPECT_NEAR(spread.greatest / spread.least, 1.04, 1e-9);
    EXPECT_NEAR(spread.median / spread.least, 1.01, 1e-9);
    EXPECT_NEAR(spread.range(), 0.04 / 1.01, 1e-9);
    EXPECT_NEAR(*spread.spread, 0.01 / 1.01, 1e-9);
}

}  // namespace
}  // namespace qkprof
