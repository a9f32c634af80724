// The run pipeline, on a device whose answers the test makes up.
#include "run.h"

#include "results.h"
#include "timing.h"
#include "tuned_variant.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace qkprof {
namespace {

class Run : public testing::Test {
  protected:
    static void SetUpTestSuite() { configure_benchmark({}); }

    const Measurement& measurement(const std::string& name) const {
        const auto found = std::find_if(profile_.measurements.begin(), profile_.measurements.end(),
                                        [&](const Measurement& m) { return m.name() == name; });
        if (found == profile_.measurements.end()) {
            throw std::runtime_error("no measurement " + name);
        }
        return *found;
    }

    void go() { run(device_, plan_, profile_, observer_); }

    FakeDevice device_;
    Variant fast_ = fake_variant("fast");
    Variant slow_ = fake_variant("slow");
    Variant picky_ = fake_variant("picky", "it is not in the mood");
    Plan plan_ = {.candidates = {standard_candidate(fast_), standard_candidate(slow_)},
                  .problems = {{.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64}},
                  .states = {CacheState::cold, CacheState::warm},
                  .samples = 5};
    Profile profile_;
    int additions_ = 0;
    bool stop_ = false;
    Observer observer_ = {.progress = [](const std::string&) {},
                          .added = [this](const Profile&) { ++additions_; },
                          .interrupted = [this] { return stop_; }};
};

TEST_F(Run, TakesAllSamplesOfEachVariantAndStateInOrder) {
    go();
    ASSERT_EQ(profile_.measurements.size(), 6U);  // copy, fast and slow, cold and warm
    const Measurement& m = measurement("slow/2x3x4x64/f32/cold");
    EXPECT_EQ(m.timer, "graph_events");
    ASSERT_EQ(m.seconds.size(), 5U);
    ASSERT_EQ(m.host_seconds.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_DOUBLE_EQ(m.seconds[i], 2e-5 + 1e-9 * static_cast<double>(i));
    }
    EXPECT_TRUE(profile_.environment.complete);
    EXPECT_EQ(verdict_of(profile_), Exit::passed);
}

TEST_F(Run, AddsTheCeilingWhereThereIsAClockAndNowhereElse) {
    go();
    EXPECT_EQ(measurement("copy/2x3x4x64/f32/warm").seconds.size(), 5U);
    EXPECT_DOUBLE_EQ(CopyFractions(profile_.measurements).of(measurement("fast/2x3x4x64/f32/warm")).value.value(),
                     8.002e-6 / 1.0002e-5);
    profile_ = {};
    device_.info().has_clock = false;
    go();
    EXPECT_EQ(profile_.measurements.size(), 4U);
    EXPECT_TRUE(profile_.measurements.front().seconds.empty());
    EXPECT_EQ(profile_.measurements.front().no_time_reason, "the fake device has no clock");
}

TEST_F(Run, RefusedIsRecordedAndNeitherVerifiedNorTimed) {
    plan_.candidates = {standard_candidate(picky_), standard_candidate(fast_)};
    device_.verify = [](const Variant& variant) {
        EXPECT_NE(variant.name, "picky");
        return correct_result();
    };
    go();
    EXPECT_EQ(measurement("picky/2x3x4x64/f32/cold").refused, "it is not in the mood");
    EXPECT_TRUE(measurement("picky/2x3x4x64/f32/warm").seconds.empty());
    EXPECT_EQ(verdict_of(profile_), Exit::passed);
}

TEST_F(Run, NothingButRefusalsIsInconclusive) {
    plan_.candidates = {standard_candidate(picky_)};
    go();
    EXPECT_EQ(verdict_of(profile_), Exit::inconclusive);
}

TEST_F(Run, AWrongResultIsNeitherCountedNorTimedAndOutranksAll) {
    device_.verify = [](const Variant& variant) {
        Verification v = correct_result();
        if (variant.name == "slow") {
            v.correct = false;
            v.wrong_elements = 3;
            v.first_wrong =
                WrongElement{.batch = 1, .position = 2, .head = 3, .column = 5, .got = 0.5, .expected = 0.25};
        }
        return v;
    };
    device_.count = [](const Variant& variant, const Declaration& declaration) {
        EXPECT_NE(variant.name, "slow");
        Counters counters = as_declared(declaration);
        counters["launches"].value = 7;
        return counters;
    };
    go();
    const Measurement& m = measurement("slow/2x3x4x64/f32/warm");
    EXPECT_TRUE(m.seconds.empty());
    EXPECT_EQ(error_of(m), "wrong result: 3 of 1536 elements, the first at b=1 s=2 h=3 d=5: got 0.5, expected 0.25");
    EXPECT_EQ(verdict_of(profile_), Exit::wrong_result);
}

TEST_F(Run, EachDeclarationIsComparedWithItsCount) {
    Measurement m;
    m.variant = "fast";
    m.problem = plan_.problems[0];
    m.declaration = Declaration{.launches = 2, .load_bytes = 64, .store_bytes = 96, .shared_bytes = 1024};
    m.counters = as_declared(*m.declaration);
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
    device_.count = [](const Variant&, const Declaration& declaration) {
        Counters counters = as_declared(declaration);
        counters["launches"].value = 2;
        return counters;
    };
    go();
    EXPECT_EQ(verdict_of(profile_), Exit::failed);
}

TEST_F(Run, AnEmptyProblemIsNotTimed) {
    plan_.problems[0].heads = 0;
    go();
    EXPECT_TRUE(measurement("fast/2x3x0x64/f32/warm").seconds.empty());
    EXPECT_EQ(measurement("fast/2x3x0x64/f32/warm").no_time_reason, "an empty problem launches nothing");
}

TEST_F(Run, AnInterruptedRunKeepsWhatItHasAndSaysSo) {
    device_.sample = [this](const Variant&, CacheState, int number) {
        stop_ = number == 2;
        return sample_of(1e-5);
    };
    go();
    EXPECT_FALSE(profile_.environment.complete);
    EXPECT_EQ(verdict_of(profile_), Exit::inconclusive);
    std::size_t samples = 0;
    for (const Measurement& m : profile_.measurements) {
        samples += m.seconds.size();
    }
    EXPECT_GE(samples, 3U);
    EXPECT_LT(samples, 30U);
}

TEST_F(Run, AFailureWhileTimingKeepsTheSamplesBeforeIt) {
    int taken = 0;
    device_.sample = [&](const Variant&, CacheState, int) {
        if (++taken == 13) {
            throw CannotMeasure("The GPU fell off the bus.");
        }
        return sample_of(1e-5);
    };
    EXPECT_THROW(go(), CannotMeasure);
    std::size_t samples = 0;
    for (const Measurement& m : profile_.measurements) {
        samples += m.seconds.size();
    }
    EXPECT_EQ(samples, 12U);
    EXPECT_FALSE(profile_.environment.complete);
}

TEST_F(Run, TellsOfResultsAfterEachVariantAndProblem) {
    plan_.problems.push_back({.batch = 1, .sequence = 1, .heads = 1, .head_dim = 64});
    go();
    EXPECT_EQ(additions_, 2 * (3 + 1) + 1);  // copy, fast, slow and the times, of two problems; and the end
    EXPECT_EQ(profile_.measurements.size(), 12U);
}

TEST_F(Run, CountsEachVariantAloneOrAllOfAProblemTogether) {
    go();
    EXPECT_EQ(device_.batches, 3);
    const Profile alone = profile_;
    profile_ = {};
    device_.batches = additions_ = 0;
    device_.info().counts_together = true;
    device_.kernels = {{.name = "made_up", .launches = 1, .grid = {2, 1, 1}, .block = {32, 1, 1}, .registers = 7}};
    go();
    EXPECT_EQ(device_.batches, 1);
    EXPECT_EQ(additions_, 3 + 1 + 1 + 1);  // three verified, all counted, all timed; and the end
    ASSERT_EQ(profile_.measurements.size(), alone.measurements.size());
    for (std::size_t i = 0; i < alone.measurements.size(); ++i) {
        EXPECT_EQ(profile_.measurements[i].name(), alone.measurements[i].name());
        EXPECT_EQ(profile_.measurements[i].counters.at("launches").value,
                  alone.measurements[i].counters.at("launches").value);
        EXPECT_EQ(profile_.measurements[i].kernels, device_.kernels);
    }
}

TEST_F(Run, AProblemWithoutMemoryIsLostAlone) {
    plan_.problems.push_back({.batch = 64, .sequence = 3, .heads = 4, .head_dim = 64});
    plan_.problems.push_back({.batch = 1, .sequence = 3, .heads = 4, .head_dim = 64});
    device_.prepare_load = [](const Problem& problem) {
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
    EXPECT_TRUE(profile_.environment.complete);
    EXPECT_EQ(verdict_of(profile_), Exit::inconclusive);
}

TEST_F(Run, WhereNoProblemFitsNothingCanBeMeasured) {
    device_.prepare_load = [](const Problem&) { throw std::bad_alloc(); };
    go();
    EXPECT_EQ(measurement("slow/2x3x4x64/f32/warm").not_run, "the memory of this machine is exhausted");
    EXPECT_EQ(verdict_of(profile_), Exit::cannot_measure);
}

TEST_F(Run, ACallThatCannotBeTimedSaysWhyAndTheOthersAre) {
    device_.prepare_timing = [](const Variant& variant, CacheState state) {
        if (variant.name == "fast" && state == CacheState::cold) {
            throw CannotMeasure("The graph was refused.");
        }
    };
    go();
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").no_time_reason, "The graph was refused");
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/warm").seconds.size(), 5U);
    EXPECT_EQ(verdict_of(profile_), Exit::passed);
}

TEST_F(Run, WhereNothingCanBeCountedOrTimedNothingCanBeMeasured) {
    device_.prepare_timing = [](const Variant&, CacheState) { throw CannotMeasure("No clock today."); };
    device_.count = [](const Variant&, const Declaration&) {
        return Counters{{"launches", {.value = {}, .source = Source::counted, .reason = "no permission"}}};
    };
    go();
    EXPECT_EQ(verdict_of(profile_), Exit::cannot_measure);
}

TEST_F(Run, AMetricThatWasAskedForAndIsNowhereCannotBeMeasured) {
    const Counter unknown = {.value = {}, .source = Source::counted, .reason = "no permission"};
    device_.count = [&](const Variant& variant, const Declaration& declaration) {
        Counters counters = as_declared(declaration);
        counters["sm__x.sum"] = variant.name == "slow" ? counted(3) : unknown;
        counters["sm__y.sum"] = unknown;
        counters["instructions"] = unknown;  // was not asked for
        return counters;
    };
    go();
    EXPECT_EQ(missed_metrics(profile_), (std::vector<std::string>{"sm__y.sum"}));
    EXPECT_EQ(verdict_of(profile_), Exit::cannot_measure);
}

TEST_F(Run, ASweepIsSeveralVariants) {
    const std::vector<Variant> all = {fast_, slow_};
    plan_.candidates = select(all, {"fast"}, {{.parameter = "threads", .values = {64, 128}}});
    go();
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold/threads:64").seconds.size(), 5U);
    EXPECT_EQ(measurement("fast/2x3x4x64/f32/cold").parameters.at("threads"), 128);
}

TEST_F(Run, TunedParametersAreThoseOfTheTable) {
    const std::vector<Variant> all = {tuned_variant()};
    plan_.candidates = select(all, {"*"}, {{.parameter = "heads", .values = {1}}});
    plan_.candidates.push_back(standard_candidate(all[0]));
    plan_.problems = {{.sequence = 64, .heads = 16}, {.sequence = 8, .heads = 16}};
    plan_.tuning = {{.device = device_.info().description,
                     .entries = {{"best", {tuning_entry({.sequence = 64, .heads = 16}, 4, 2)}}}}};
    go();
    const Measurement& own = measurement("best/1x64x16x128/f32/warm");
    EXPECT_EQ(own.parameters, (Parameters{{"heads", 2}, {"lanes", 4}, {"threads", 128}}));
    EXPECT_TRUE(own.tuned_from.value().own);
    EXPECT_EQ(own.seconds.size(), 5U);
    const Measurement& swept = measurement("best/1x8x16x128/f32/cold/heads:1");
    EXPECT_EQ(swept.parameters, (Parameters{{"heads", 1}, {"lanes", 4}, {"threads", 128}}));
    EXPECT_FALSE(swept.tuned_from.value().own);
    EXPECT_FALSE(measurement("copy/1x8x16x128/f32/cold").tuned_from.has_value());

    profile_.environment.device = device_.info();
    const auto notes = [&](std::size_t section) { return results_table(profile_).sections.at(section).notes; };
    EXPECT_EQ(notes(0), (std::vector<std::string>{
                            "best heads=1: lanes 4, as tuned for 1x64x16x128 f32 on a device of the tests",
                            "best: heads 2, lanes 4, as tuned for 1x64x16x128 f32 on a device of the tests"}));
    EXPECT_EQ(notes(1).at(1),
              "best: heads 2, lanes 4, as tuned for 1x64x16x128 f32 on a device of the tests (the nearest problem)");
    profile_.environment.device.description = "GPU B";
    EXPECT_EQ(notes(1).at(1),
              "best: heads 2, lanes 4, as tuned for 1x64x16x128 f32 on a device of the tests (no table for GPU B, the "
              "nearest problem)");
    const std::string csv = to_csv(results_rows(profile_));
    EXPECT_NE(
        csv.find(",heads=2 lanes=4 threads=128,1x64x16x128 f32 of a device of the tests (the nearest),1x8x16x128,"),
        std::string::npos)
        << csv;
}

TEST_F(Run, WithoutATableATunedVariantIsRefused) {
    const Variant best = tuned_variant();
    plan_.candidates = {standard_candidate(best), standard_candidate(fast_)};
    plan_.tuning = std::vector<TuningTable>();
    go();
    EXPECT_NE(measurement("best/2x3x4x64/f32/warm").refused.find("no table says how it is tuned"), std::string::npos);
    EXPECT_EQ(verdict_of(profile_), Exit::passed);
}

TEST_F(Run, WhatDoesNotFitTheMemoryIsSaidBeforeAnythingRuns) {
    device_.info().memory_bytes = 1000;
    device_.verify = [](const Variant&) -> Verification { throw std::logic_error("verified"); };
    try {
        go();
        FAIL() << "1536 elements fitted into 1000 bytes";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("2x3x4x64 f32 needs"), std::string::npos) << error.what();
    }
}

TEST_F(Run, WhatKeepsADeviceWithoutAClockBusyForLongIsSaid) {
    // Two variants, each called three times, ask for 24 GiB.
    plan_.problems = {{.batch = 256, .sequence = 1024, .heads = 16, .head_dim = 128}};
    EXPECT_EQ(long_run(device_, plan_), "");
    device_.info().has_clock = false;
    const std::string sentence = long_run(device_, plan_);
    EXPECT_NE(sentence.find("the calls of this run ask for 24 GiB: with two cores that takes roughly 5 minutes."),
              std::string::npos)
        << sentence;
    plan_.candidates.push_back(standard_candidate(picky_));  // which refuses
    EXPECT_EQ(long_run(device_, plan_), sentence);
    plan_.problems[0].batch = 256 * 32;
    EXPECT_NE(long_run(device_, plan_).find("roughly 3 hours."), std::string::npos) << long_run(device_, plan_);
    plan_.problems[0].batch = 128;
    EXPECT_EQ(long_run(device_, plan_), "");
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
