// The search for tuned parameters, on a device whose times and results the test makes up for each combination.
#include "tune.h"

#include "timing.h"
#include "tune_table.h"
#include "tuned_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace qkprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "4/2": lanes and heads; "copy" for the ceiling.
std::string word(const Parameters& p) {
    return p.contains("lanes") ? std::to_string(p.at("lanes")) + '/' + std::to_string(p.at("heads")) : "copy";
}

class TunedDevice : public FakeDevice {
  public:
    std::map<std::string, double> seconds;  // of those that do not take 1e-5
    std::map<std::string, int> samples;     // that were taken
    std::vector<std::string> verified;
    std::string wrong;  // the combination that computes a wrong result
    std::string cannot_be_timed;
    std::function<void()> before_sample = [] {};
    bool throttled = false;

    std::unique_ptr<Workload> load(const Problem& problem, std::int64_t /*scratch_bytes*/) override {
        prepare_load(problem);
        return std::make_unique<TunedWorkload>(*this);
    }

  private:
    class TunedTiming : public Timing {
      public:
        TunedTiming(TunedDevice& device, std::string combination)
            : device_(device), combination_(std::move(combination)) {}
        Sample sample() override {
            device_.before_sample();
            ++device_.samples[combination_];
            const auto found = device_.seconds.find(combination_);
            Sample sample = sample_of(found == device_.seconds.end() ? 1e-5 : found->second);
            if (device_.throttled) {
                sample.throttle_reasons = {"heat"};
            }
            return sample;
        }
        const char* timer() const override { return "graph_events"; }

      private:
        TunedDevice& device_;
        std::string combination_;
    };

    class TunedWorkload : public Workload {
      public:
        explicit TunedWorkload(TunedDevice& device) : device_(device) {}
        Verification verify(const Variant& /*variant*/, const Parameters& parameters) override {
            device_.verified.push_back(word(parameters));
            Verification verification = correct_result();
            if (device_.wrong == word(parameters)) {
                verification.correct = false;
                verification.wrong_elements = 3;
            }
            return verification;
        }
        std::vector<Counts> count(std::span<const CountJob> /*jobs*/) override {
            throw std::logic_error("tuning counts nothing");
        }
        std::unique_ptr<Timing> timing(const Variant& /*variant*/, const Parameters& parameters,
                                       CacheState state) override {
            EXPECT_EQ(state, CacheState::warm);
            if (device_.cannot_be_timed == word(parameters)) {
                throw LaunchError("no memory.");
            }
            return std::make_unique<TunedTiming>(device_, word(parameters));
        }
        void trace(const Variant& /*variant*/, const Parameters& /*parameters*/, CacheState /*state*/) override {}

      private:
        TunedDevice& device_;
    };
};

class Tune : public testing::Test {
  protected:
    static void SetUpTestSuite() { configure_benchmark({}); }

    void go() {
        found_.clear();
        results_ = tune(device_, plan_, observer_);
        EXPECT_EQ(found_.size(), results_.size());
    }
    std::string winner() {
        go();
        return results_.at(0).winner ? word(results_.at(0).winner->parameters) : "none";
    }

    TunedDevice device_;
    Variant variant_ = tuned_variant();
    TunePlan plan_ = {
        .candidates = {standard_candidate(variant_)}, .problems = {{.sequence = 64, .heads = 16}}, .samples = 7};
    bool stop_ = false;
    std::vector<TuneResult> found_;
    TuneObserver observer_ = {.progress = [](const std::string&) {},
                              .found = [this](const TuneResult& result) { found_.push_back(result); },
                              .interrupted = [this] { return stop_; }};
    std::vector<TuneResult> results_;
};

TEST_F(Tune, TriesEveryCombinationOfTheTunedParametersAlone) {
    const std::vector<Parameters> all = combinations_of(standard_candidate(variant_));
    std::vector<std::string> words;
    for (const Parameters& parameters : all) {
        EXPECT_EQ(parameters.at("threads"), 128);
        words.push_back(word(parameters));
    }
    EXPECT_THAT(words, ElementsAre("1/1", "1/2", "2/1", "2/2", "4/1", "4/2"));
    go();
    EXPECT_EQ(device_.verified, words);
    EXPECT_EQ(results_.at(0).tried, 6U);
    EXPECT_EQ(results_.at(0).combinations, 6U);
}

TEST_F(Tune, WhatIsGivenIsNotTried) {
    Candidate& candidate = plan_.candidates.at(0);
    candidate.parameters["heads"] = 2;
    candidate.non_standard = {{"heads", 2}};
    device_.seconds = {{"1/2", 9e-6}, {"2/2", 8e-6}, {"4/1", 1e-6}};
    EXPECT_EQ(winner(), "2/2");
    EXPECT_EQ(device_.verified, (std::vector<std::string>{"1/2", "2/2", "4/2"}));
    EXPECT_EQ(results_.at(0).winner->given, std::vector<std::string>{"heads"});
}

TEST_F(Tune, TheFastestWins) {
    device_.seconds = {{"2/2", 8e-6}, {"4/1", 9e-6}, {"copy", 6e-6}};
    EXPECT_EQ(winner(), "2/2");
    const TuneResult& result = results_.at(0);
    EXPECT_DOUBLE_EQ(result.winner->seconds.value(), 8e-6);
    EXPECT_DOUBLE_EQ(result.winner->copy_seconds.value(), 6e-6);
    EXPECT_EQ(result.winner->parameters, (Parameters{{"heads", 2}, {"lanes", 2}}));
    EXPECT_NEAR(result.second_best.value(), 0.125, 1e-9);
    EXPECT_EQ(verdict_of(results_, true), Exit::passed);
    EXPECT_EQ(device_.samples["2/2"], 3 + 7);
    EXPECT_EQ(device_.samples["copy"], 7);
}

TEST_F(Tune, OfTimesWithinTheNoiseTheFirstIsTaken) {
    device_.seconds = {{"4/2", 8e-6}, {"2/1", 8.03e-6}, {"1/2", 8.05e-6}};
    EXPECT_EQ(winner(), "2/1");
    EXPECT_NEAR(results_.at(0).second_best.value(), 8 / 8.03 - 1, 1e-9);
    EXPECT_EQ(winner_of({1.0051, 1.0049, 1}), 1U);
    EXPECT_EQ(winner_of({3}), 0U);
}

TEST_F(Tune, TheSecondRoundIsOfTheBest) {
    variant_.parameters[0].values = {1, 2, 4, 8, 16, 32};  // with heads, 12 combinations
    device_.seconds = {{"1/1", 2e-5}, {"32/2", 2e-5}, {"8/1", 2e-5}, {"16/1", 2e-5}, {"2/1", 8e-6}};
    EXPECT_EQ(winner(), "2/1");
    int second_round = 0;
    for (const auto& [combination, samples] : device_.samples) {
        second_round += combination != "copy" && samples == 3 + 7 ? 1 : 0;
    }
    EXPECT_EQ(second_round, static_cast<int>(second_round_combinations));
    EXPECT_EQ(device_.samples["8/1"], 3);
}

TEST_F(Tune, AWrongCombinationNeverWins) {
    device_.seconds = {{"2/2", 1e-6}, {"4/1", 9e-6}};
    device_.wrong = "2/2";
    EXPECT_EQ(winner(), "4/1");
    EXPECT_EQ(device_.samples["2/2"], 0);
    ASSERT_EQ(results_.at(0).wrong.size(), 1U);
    EXPECT_THAT(results_.at(0).wrong[0],
                HasSubstr("best with heads 2, lanes 2, threads 128 on 1x64x16x128 f32: wrong: 3"));
    EXPECT_EQ(results_.at(0).tried, 6U);
    EXPECT_EQ(verdict_of(results_, true), Exit::wrong_result);
    EXPECT_EQ(verdict_of(results_, false), Exit::wrong_result);
}

TEST_F(Tune, ARefusedCombinationIsNotTried) {
    variant_ = tuned_variant(
        [](const Request& request) { return request.parameter("lanes") == 1 ? std::string("no 1") : std::string(); });
    device_.seconds = {{"1/1", 1e-6}, {"1/2", 1e-6}, {"2/2", 9e-6}};
    EXPECT_EQ(winner(), "2/2");
    EXPECT_EQ(results_.at(0).tried, 4U);
    EXPECT_EQ(results_.at(0).refused, "");
}

TEST_F(Tune, WhereAllAreRefusedThereIsNoWinner) {
    variant_ = tuned_variant([](const Request&) { return std::string("not in the mood"); });
    EXPECT_EQ(winner(), "none");
    EXPECT_EQ(results_.at(0).refused, "not in the mood");
    EXPECT_EQ(verdict_of(results_, true), Exit::inconclusive);
    EXPECT_THAT(to_text(tune_table(results_, false), false),
                HasSubstr("best on 1x64x16x128 f32: refused: not in the mood"));
}

TEST_F(Tune, WhatCannotBeTimedIsPassedOver) {
    device_.seconds = {{"2/2", 1e-6}, {"4/1", 9e-6}};
    device_.cannot_be_timed = "2/2";
    EXPECT_EQ(winner(), "4/1");
    device_.cannot_be_timed = "copy";
    EXPECT_EQ(winner(), "2/2");
    EXPECT_FALSE(results_.at(0).winner->copy_seconds.has_value());
}

TEST_F(Tune, ThrottledSamplesChooseNothing) {
    device_.throttled = true;
    EXPECT_EQ(winner(), "none");
    EXPECT_THAT(results_.at(0).failure, HasSubstr("throttled (heat)"));
    EXPECT_EQ(verdict_of(results_, true), Exit::cannot_measure);
}

TEST_F(Tune, AProblemThatCannotBeHadEndsNotTheOthers) {
    plan_.problems.push_back({.sequence = 0, .heads = 16});
    plan_.problems.push_back({.sequence = 8, .heads = 16});
    device_.prepare_load = [](const Problem& problem) {
        if (problem.sequence == 64) {
            throw InputError("It is too large.");
        }
    };
    go();
    ASSERT_EQ(results_.size(), 3U);
    EXPECT_EQ(results_[0].failure, "It is too large");
    EXPECT_EQ(results_[1].failure, "an empty problem launches nothing");
    EXPECT_TRUE(results_[2].winner.has_value());
    EXPECT_EQ(verdict_of(results_, true), Exit::inconclusive);
    EXPECT_EQ(verdict_of({results_[0]}, true), Exit::cannot_measure);
}

TEST_F(Tune, AnInterruptedProblemHasNoResult) {
    plan_.problems.push_back({.sequence = 8, .heads = 16});
    int taken = 0;
    device_.before_sample = [&] { stop_ = ++taken > 6 * 3 + 7 * 7 + 10; };  // in the first round of the second problem
    go();
    EXPECT_EQ(results_.size(), 1U);
    EXPECT_TRUE(results_.at(0).winner.has_value());
    EXPECT_EQ(verdict_of(results_, false), Exit::inconclusive);
}

TEST_F(Tune, ADeviceWithoutAClockCannot) {
    device_.info().has_clock = false;
    EXPECT_THROW(go(), CannotMeasure);
    EXPECT_TRUE(device_.verified.empty());
}

TEST_F(Tune, TheTableSaysWhatWasFound) {
    device_.seconds = {{"2/2", 8e-6}, {"4/1", 9e-6}, {"copy", 6e-6}};
    go();
    const std::string text = to_text(tune_table(results_, false), false);
    for (const char* part :
         {"best ", "1x64x16x128 f32", "heads=2 lanes=2", "8.000 us", "6.000 us", "75.0%", "+12.5%"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
    EXPECT_THAT(to_csv(tune_table(results_, true)),
                HasSubstr("variant,problem,parameters,time_us,copy_us,copy_fraction,second_best,tried,combinations\n"
                          "best,1x64x16x128 f32,heads=2 lanes=2,8.000,6.000,0.7500,0.1250,6,6\n"));
}

}  // namespace
}  // namespace qkprof
