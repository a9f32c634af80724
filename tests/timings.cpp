// Where the wall time goes, on a clock that the test turns: in a step, in one within another, and in a whole run.
#include "timings.h"

#include "fake_device.h"
#include "run.h"
#include "timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace qkprof {
namespace {

using Seconds = std::chrono::duration<double>;

class TimingsTest : public testing::Test {
  protected:
    void passes(double seconds) { now_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds)); }
    static double sum_of(const std::vector<StepTime>& steps) {
        return std::accumulate(steps.begin(), steps.end(), 0.0,
                               [](double sum, const StepTime& of) { return sum + of.seconds; });
    }

    std::chrono::nanoseconds now_ = std::chrono::hours(5);
    Timings timings_ = Timings(now_, [this] { return now_; });
};

TEST_F(TimingsTest, WhatIsBeforeItIsReadyIsTheStartAndWhatIsInNoStepIsOther) {
    passes(1);
    timings_.ready();
    passes(0.25);
    {
        const Timings::Scope step = timings_.during(Step::timing);
        passes(2);
    }
    passes(0.5);
    EXPECT_EQ(timings_.so_far(),
              (std::vector<StepTime>{{Step::start, 1, 1}, {Step::timing, 2, 1}, {Step::other, 0.75, 0}}));
    passes(1);
    EXPECT_EQ(timings_.so_far().back().seconds, 1.75);
}

TEST_F(TimingsTest, AStepStandsStillWhileOneIsWithinIt) {
    timings_.ready();
    for (int i = 0; i < 2; ++i) {
        const Timings::Scope outer = timings_.during(Step::noise);
        passes(1);
        {
            const Timings::Scope inner = timings_.during(Step::writing);
            passes(4);
            const Timings::Scope same = timings_.during(Step::writing);
            passes(2);
        }
        passes(0.5);
    }
    EXPECT_EQ(
        timings_.so_far(),
        (std::vector<StepTime>{{Step::start, 0, 1}, {Step::noise, 3, 2}, {Step::writing, 12, 4}, {Step::other, 0, 0}}));
}

TEST_F(TimingsTest, AStepThatEndsByAnErrorHasEnded) {
    timings_.ready();
    try {
        const Timings::Scope step = timings_.during(Step::inputs);
        passes(1);
        throw CannotMeasure("no");
    } catch (const CannotMeasure&) {
        passes(2);
    }
    EXPECT_EQ(timings_.so_far().back(), (StepTime{Step::other, 2, 0}));
}

TEST_F(TimingsTest, NobodyWhoAsksIsNoError) {
    const Timings::Scope step(nullptr, Step::inputs);
    passes(1);
    EXPECT_EQ(timings_.so_far().size(), 2U);
}

TEST_F(TimingsTest, TheTableHasEachStepAndAll) {
    timings_.ready();
    {
        const Timings::Scope step = timings_.during(Step::warm_up);
        passes(3);
    }
    passes(1);
    EXPECT_EQ(to_csv(timings_table(timings_.so_far())),
              "step,seconds,share,times\nstart,0.000,0.0%,1\nwarm-up,3.000,75.0%,1\nother,1.000,25.0%,\nall,4.000,"
              "100.0%,\n");
    EXPECT_NE(to_csv(timings_table({})).find("all,0.000,-,"), std::string::npos);
}

// Each call of the device takes a time that no other takes; so does what the observer does between them.
TEST_F(TimingsTest, OfARunAddUpAndNothingIsCountedTwice) {
    configure_benchmark({});
    FakeDevice device;
    device.info().counts_together = true;
    device.prepare_load = [&](const Problem&) { passes(0.5); };
    device.verify = [&](const Variant&) {
        passes(0.125);
        return correct_result();
    };
    device.count = [&](const Variant&, const Declaration& declaration) {
        passes(8);
        return as_declared(declaration);
    };
    device.prepare_timing = [&](const Variant&, CacheState) { passes(0.0625); };
    device.sample = [&](const Variant&, CacheState, int) {
        passes(1);
        return sample_of(1e-5);
    };
    const Variant fast = fake_variant("fast");
    const Plan plan = {.candidates = {standard_candidate(fast)},
                       .problems = {{.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64},
                                    {.batch = 1, .sequence = 3, .heads = 4, .head_dim = 64}},
                       .states = {CacheState::cold, CacheState::warm},
                       .samples = 5};
    Profile profile;
    const Observer observer = {.progress = [](const std::string&) {},
                               .added =
                                   [&](const Profile&) {
                                       const Timings::Scope step = timings_.during(Step::writing);
                                       passes(16);
                                   },
                               .interrupted = [] { return false; },
                               .timings = &timings_};
    const std::chrono::nanoseconds before = now_;
    passes(0.25);
    timings_.ready();
    run(device, plan, profile, observer);
    // copy and fast, two problems, two states
    const std::vector<StepTime> expected = {
        {Step::start, 0.25, 1},     {Step::calibration, 0, 1}, {Step::inputs, 1, 2},  {Step::verification, 0.5, 4},
        {Step::counting, 64, 2},    {Step::preparing, 0.5, 8}, {Step::warm_up, 0, 2}, {Step::timing, 40, 2},
        {Step::writing, 16 * 9, 9}, {Step::other, 0, 0}};
    EXPECT_EQ(timings_.so_far(), expected);
    EXPECT_DOUBLE_EQ(sum_of(timings_.so_far()), Seconds(now_ - before).count());
}

TEST_F(TimingsTest, StandInAProfileWhereTheyAreAskedForAndAreReadBack) {
    Profile profile;
    EXPECT_EQ(to_json(profile).find("\"timings\""), std::string::npos);
    timings_.ready();
    passes(1.5);
    profile.environment.timings = timings_.so_far();
    const std::string text = to_json(profile);
    EXPECT_NE(
        text.find(R"("timings":[{"step":"start","seconds":0.0,"times":1},{"step":"other","seconds":1.5,"times":0}])"),
        std::string::npos)
        << text.substr(0, 2000);
    EXPECT_EQ(parse_profile(text, "memory").environment.timings, profile.environment.timings);
    const auto error = [&](const std::string& was, const std::string& is) -> std::string {
        std::string damaged = text;
        damaged.replace(damaged.find(was), was.size(), is);
        try {
            parse_profile(damaged, "memory");
        } catch (const InputError& e) {
            return e.what();
        }
        return "no error";
    };
    EXPECT_EQ(error("\"step\":\"start\"", "\"step\":\"nap\""),
              "memory, 'context', 'timings'[0]: 'step' is a word that this qkprof does not know.");
    EXPECT_EQ(error("\"seconds\":1.5", "\"seconds\":-1"), "memory, 'context', 'timings'[1]: 'seconds' is negative.");
    EXPECT_EQ(error("\"times\":1", "\"times\":0.5"),
              "memory, 'context', 'timings'[0]: 'times' is not a whole number in its range.");
}

}  // namespace
}  // namespace qkprof
