// The run pipeline, on a device whose answers the test makes up.
#include "run.h"

#include "fake_device.h"
#include "timing.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace qkprof {
namespace {

class Run : public testing::Test {
  protected:
    static void SetUpTestSuite() { configure_benchmark({}); }

    const Measurement& measurement(const std::string& name) const {
        const auto found = std::find_if(profile.measurements.begin(), profile.measurements.end(),
                                        [&](const Measurement& m) { return m.name() == name; });
        if (found == profile.measurements.end()) {
            throw std::runtime_error("no measurement " + name);
        }
        return *found;
    }

    void go() { run(device, plan, profile, observer); }

    FakeDevice device;
    Variant fast = fake_variant("fast");
    Variant slow = fake_variant("slow");
    Variant picky = fake_variant("picky", "it is not in the mood");
    Plan plan = {.candidates = {standard_candidate(fast), standard_candidate(slow)},
                 .problems = {{.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64}},
                 .states = {CacheState::cold, CacheState::warm},
                 .samples = 5};
    Profile profile;
    int additions = 0;
    bool stop = false;
    Observer observer = {.progress = [](const std::string&) {},
                         .added = [this](const Profile&) { ++additions; },
                         .interrupted = [this] { return stop; }};
};

TEST_F(Run, TakesAllSamplesOfEachVariantAndStateInOrder) {
    go();
    ASSERT_EQ(profile.measurements.size(), 6U);  // copy, fast and slow, cold and warm
    const Measurement& m = measurement("slow/2x3x4x64/f32/cold");
    EXPECT_EQ(m.timer, "graph_events");
    ASSERT_EQ(m.seconds.size(), 5U);
    ASSERT_EQ(m.host_seconds.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_DOUBLE_EQ(m.seconds[i], 2e-5 + 1e-9 * static_cast<double>(i));
    }
    EXPECT_TRUE(profile.environment.complete);
    EXPECT_EQ(verdict_of(profile), Exit::passed);
}

TEST_F(Run, AddsTheCeilingWhereThereIsAClockAndNowhereElse) {
    go();
    EXPECT_EQ(measurement("copy/2x3x4x64/f32/warm").seconds.size(), 5U);
    EXPECT_DOUBLE_EQ(CopyFractions(profile.measurements).of(measurement("fast/2x3x4x64/f32/warm")).value.value(),
                     8.002e-6 / 1.0002e-5);
    profile = {};
    device.info().has_clock = false;
    go();
    EXPECT_EQ(profile.measurements.size(), 4U);
    EXPECT_TRUE(profile.measurements.front().seconds.empty());
    EXPECT_EQ(profile.measurements.front().no_time_reason, "the fake device has no clock");
}

TEST_F(Run, RefusedIsRecordedAndNeitherVerifiedNorTimed) {
    plan.candidates = {standard_candidate(picky), standard_candidate(fast)};
    device.verify = [](const Variant& variant) {
        EXPECT_NE(variant.name, "picky");
        return correct_result();
    };
    go();
    EXPECT_EQ(measurement("picky/2x3x4x64/f32/cold").refused, "it is not in the mood");
    EXPECT_TRUE(measurement("picky/2x3x4x64/f32/warm").seconds.empty());
    EXPECT_EQ(verdict_of(profile), Exit::passed);
}

TEST_F(Run, NothingButRefusalsIsInconclusive) {
    plan.candidates = {standard_candidate(picky)};
    go();
    EXPECT_EQ(verdict_of(profile), Exit::inconclusive);
}

TEST_F(Run, AWrongResultIsNeitherCountedNorTimedAndOutranksAll) {
    device.verify = [](const Variant& variant) {
        Verification v = correct_result();
        if (variant.name == "slow") {
            v.correct = false;
            v.wrong_elements = 3;
            v.first_wrong =
                WrongElement{.batch = 1, .position = 2, .head = 3, .column = 5, .got = 0.5, .expected = 0.25};
        }
        return v;
    };
    device.count = [](const Variant& variant, const Declaration& declaration) {
        EXPECT_NE(variant.name, "slow");
        Counters counters = as_declared(declaration);
        counters["launches"].value = 7;
        return counters;
    };
    go();
    const Measurement& m = measurement("slow/2x3x4x64/f32/warm");
    EXPECT_TRUE(m.seconds.empty());
    EXPECT_EQ(error_of(m), "wrong result: 3 of 1536 elements, the first at b=1 s=2 h=3 d=5: got 0.5, expected 0.25");
    EXPECT_EQ(verdict_of(profile), Exit::wrong_result);
}

TEST_F(Run, EachDeclarationIsComparedWithItsCount) {
    Measurement m;
    m.variant = "fast";
    m.problem = plan.problems[0];
    m.declaration = {.launches = 2, .load_bytes = 64, .store_bytes = 96, .shared_bytes = 1024};
    m.counters = as_declared(m.declaration);
    EXPECT_TRUE(contradictions_of(m).empty());
    for (const char* name : {"launches", "global_load_sectors", "global_store_sectors", "shared_bytes"}) {
        Measurement wrong = m;
        wrong.counters[name].value = *wrong.counters[name].value + 1;
        EXPECT_EQ(contradictions_of(wrong).size(), 1U) << name;
        wrong.counters[name].value.reset();  // unknown contradicts nothing
        EXPECT_TRUE(contradictions_of(wrong).empty()) << name;
    }
    m.counters["transfers"] = counted(1);
    EXPECT_EQ(contradictions_of(m).at(0),
              "fast/2x3x4x64/f32/warm declares 0 copies or fills of memory and 1 were counted.");
}

TEST_F(Run, AContradictionFailsTheRun) {
    device.count = [](const Variant&, const Declaration& declaration) {
        Counters counters = as_declared(declaration);
        counters["launches"].value = 2;
        return counters;
    };
    go();
    EXPECT_EQ(verdict_of(profile), Exit::failed);
}

TEST_F(Run, AnEmptyProblemIsNotTimed) {
    plan.problems[0].heads = 0;
    go();
    EXPECT_TRUE(measurement("fast/2x3x0x64/f32/warm").seconds.empty());
    EXPECT_EQ(measurement("fast/2x3x0x64/f32/warm").no_time_reason, "an empty problem launches nothing");
}

TEST_F(Run, AnInterruptedRunKeepsWhatItHasAndSaysSo) {
    device.sample = [this](const Variant&, CacheState, int number) {
        stop = number == 2;
        return sample_of(1e-5);
    };
    go();
    EXPECT_FALSE(profile.environment.complete);
    EXPECT_EQ(verdict_of(profile), Exit::inconclusive);
    std::size_t samples = 0;
    for (const Measurement& m : profile.measurements) {
        samples += m.seconds.size();
    }
    EXPECT_GE(samples, 3U);
    EXPECT_LT(samples, 30U);
}

TEST_F(Run, AFailureWhileTimingKeepsTheSamplesBeforeIt) {
    int taken = 0;
    device.sample = [&](const Variant&, CacheState, int) {
        if (++taken == 13) {
            throw CannotMeasure("The GPU fell off the bus.");
        }
        return sample_of(1e-5);
    };
    EXPECT_THROW(go(), CannotMeasure);
    std::size_t samples = 0;
    for (const Measurement& m : profile.measurements) {
        samples += m.seconds.size();
    }
    EXPECT_EQ(samples, 12U);
    EXPECT_FALSE(profile.environment.complete);
}

TEST_F(Run, TellsOfResultsAfterEachVariantAndProblem) {
    plan.problems.push_back({.batch = 1, .sequence = 1, .heads = 1, .head_dim = 64});
    go();
    EXPECT_EQ(additions, 2 * (3 + 1) + 1);  // copy, fast, slow and the times, of two problems; and the end
    EXPECT_EQ(profile.measurements.size(), 12U);
}

TEST_F(Run, CountsEachVariantAloneOrAllOfAProblemTogether) {
    go();
    EXPECT_EQ(device.batches, 3);
    const Profile alone = profile;
    profile = {};
    device.batches = additions = 0;
    device.info().counts_together = true;
    device.kernels = {{.name = "made_up", .launches = 1, .grid = {2, 1, 1}, .block = {32, 1, 1}, .registers = 7}};
    go();
    EXPECT_EQ(device.batches, 1);
    EXPECT_EQ(additions, 3 + 1 + 1 + 1);  // three verified, all counted, all timed; and the end
    ASSERT_EQ(profile.measurements.size(), alone.measurements.size());
    for (std::size_t i = 0; i < alone.measurements.size(); ++i) {
        EXPECT_EQ(profile.measurements[i].name(), alone.measurements[i].name());
        EXPECT_EQ(profile.measurements[i].counters.at("launches").value,
                  alone.measurements[i].counters.at("launches").value);
        EXPECT_EQ(profile.measurements[i].kernels, device.kernels);
    }
}

TEST_F(Run, AProblemWithoutMemoryIsLostAlone) {
    plan.problems.push_back({.batch = 64, .sequence = 3, .heads = 4, .head_dim = 64});
    plan.problems.push_back({.batch = 1, .sequence = 3, .heads = 4, .head_dim = 64});
    device.prepare_load = [](const Problem& problem) {
        if (problem.batch == 64) {
            throw InputError("The GPU has 3 bytes free.");
        }
    };
    go();
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").seconds.size(), 5U);
    EXPECT_EQ(measurement("fast/1x3x4x64/f32/cold").seconds.size(), 5U);
    const Measurement& lost = measurement("fast/64x3x4x64/f32/cold");
    EXPECT_EQ(lost.not_run, "The GPU has 3 bytes free");
    EXPECT_EQ(error_of(lost), "not run: The GPU has 3 bytes free");
    EXPECT_TRUE(lost.counters.empty());
    EXPECT_TRUE(profile.environment.complete);
    EXPECT_EQ(verdict_of(profile), Exit::inconclusive);
}

TEST_F(Run, WhereNoProblemFitsNothingCanBeMeasured) {
    device.prepare_load = [](const Problem&) { throw std::bad_alloc(); };
    go();
    EXPECT_EQ(measurement("slow/2x3x4x64/f32/warm").not_run, "the memory of this machine is exhausted");
    EXPECT_EQ(verdict_of(profile), Exit::cannot_measure);
}

TEST_F(Run, ACallThatCannotBeTimedSaysWhyAndTheOthersAre) {
    device.prepare_timing = [](const Variant& variant, CacheState state) {
        if (variant.name == "fast" && state == CacheState::cold) {
            throw CannotMeasure("The graph was refused.");
        }
    };
    go();
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").no_time_reason, "The graph was refused");
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/warm").seconds.size(), 5U);
    EXPECT_EQ(verdict_of(profile), Exit::passed);
}

TEST_F(Run, WhereNothingCanBeCountedOrTimedNothingCanBeMeasured) {
    device.prepare_timing = [](const Variant&, CacheState) { throw CannotMeasure("No clock today."); };
    device.count = [](const Variant&, const Declaration&) {
        return Counters{{"launches", {.value = {}, .source = Source::counted, .reason = "no permission"}}};
    };
    go();
    EXPECT_EQ(verdict_of(profile), Exit::cannot_measure);
}

TEST_F(Run, AMetricThatWasAskedForAndIsNowhereCannotBeMeasured) {
    const Counter unknown = {.value = {}, .source = Source::counted, .reason = "no permission"};
    device.count = [&](const Variant& variant, const Declaration& declaration) {
        Counters counters = as_declared(declaration);
        counters["sm__x.sum"] = variant.name == "slow" ? counted(3) : unknown;
        counters["sm__y.sum"] = unknown;
        counters["instructions"] = unknown;  // was not asked for
        return counters;
    };
    go();
    EXPECT_EQ(missed_metrics(profile), (std::vector<std::string>{"sm__y.sum"}));
    EXPECT_EQ(verdict_of(profile), Exit::cannot_measure);
}

TEST_F(Run, ASweepIsSeveralVariants) {
    const std::vector<Variant> all = {fast, slow};
    plan.candidates = select(all, {"fast"}, {{.parameter = "threads", .values = {64, 128}}});
    go();
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold/threads:64").seconds.size(), 5U);
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").parameters.at("threads"), 128);
}

TEST_F(Run, WhatDoesNotFitTheMemoryIsSaidBeforeAnythingRuns) {
    device.info().memory_bytes = 1000;
    device.verify = [](const Variant&) -> Verification { throw std::logic_error("verified"); };
    try {
        go();
        FAIL() << "1536 elements fitted into 1000 bytes";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("2x3x4x64 f32 needs"), std::string::npos) << error.what();
    }
}

TEST(ConfigureBenchmark, RefusesWhatItDoesNotKnowAndWhatQkprofHasItsOwnOf) {
    EXPECT_THROW(configure_benchmark({"--benchmark_filtre=x"}), InputError);
    EXPECT_THROW(configure_benchmark({"--benchmark_out=x.json"}), InputError);
    EXPECT_THROW(configure_benchmark({"--benchmark_repetitions=3"}), InputError);
    configure_benchmark({"--benchmark_context=who=me"});
    EXPECT_EQ(benchmark_context(), (std::vector<std::pair<std::string, std::string>>{{"who", "me"}}));
}

TEST_F(Run, WhatTheFilterLeavesOutHasNoTimeAndSaysWhy) {
    configure_benchmark({"--benchmark_filter=^(fast|copy)/"});
    go();
    configure_benchmark({"--benchmark_filter="});
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").seconds.size(), 5U);
    EXPECT_EQ(measurement("slow/2x3x4x64/f32/cold").seconds.size(), 0U);
    EXPECT_EQ(measurement("slow/2x3x4x64/f32/cold").no_time_reason, "--benchmark_filter leaves it out");
}

}  // namespace
}  // namespace qkprof
