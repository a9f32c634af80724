// The bootstrap and Holm's correction against what is known of made-up distributions, always the same ones.
#include "statistics.h"

#include "profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace qkprof {
namespace {

double ratio(std::span<const double> medians) { return medians[0] / medians[1]; }

// Samples as a timer gives them: never below a least time, with a long tail above; their true median is `median`.
std::vector<double> skewed(std::mt19937& generator, double median, std::size_t n) {
    constexpr double spread = 0.02;
    std::vector<double> samples(n);
    for (double& sample : samples) {
        const double uniform = (static_cast<double>(generator()) + 0.5) / 0x1p32;
        sample = median * (1 + spread * (-std::log(uniform) - std::log(2.0)));
    }
    return samples;
}

std::vector<Together> apart(const std::vector<double>& a, const std::vector<double>& b) {
    return {{.by_thing = {a}}, {.by_thing = {b}}};
}
std::vector<Together> by_turns(const std::vector<double>& a, const std::vector<double>& b) {
    return {{.by_thing = {a, b}}};
}

// Of 2000 data sets, the share whose interval holds the true ratio.
template <class Draw>
double coverage(std::size_t n, double truth, bool paired, const Draw& draw) {
    constexpr int sets = 2000;
    constexpr std::size_t resamples = 1000;
    std::mt19937 generator(1);
    int held = 0;
    for (int set = 0; set < sets; ++set) {
        const auto [a, b] = draw(generator, n);
        const Interval interval = interval_of(bootstrap(paired ? by_turns(a, b) : apart(a, b), ratio, resamples), tail);
        held += interval.low <= truth && truth <= interval.high ? 1 : 0;
    }
    return static_cast<double>(held) / sets;
}

TEST(Bootstrap, TheIntervalHoldsTheTruthIn99OfAHundred) {
    const auto draw = [](std::mt19937& generator, std::size_t n) {
        return std::pair{skewed(generator, 1.1, n), skewed(generator, 1.0, n)};
    };
    for (const std::size_t n : {fewest_samples, std::size_t{20}}) {
        for (const bool paired : {false, true}) {
            const double share = coverage(n, 1.1, paired, draw);
            EXPECT_GE(share, 0.984) << n << (paired ? " by turns" : " apart");
            EXPECT_LE(share, 0.999) << n << (paired ? " by turns" : " apart");
        }
    }
}

TEST(Bootstrap, ACommonDriftIsNotTakenForADifference) {
    // The clock falls by 10 % during the run; both see it.
    const auto draw = [](std::mt19937& generator, std::size_t n) {
        std::vector<double> a = skewed(generator, 1.02, n);
        std::vector<double> b = skewed(generator, 1.0, n);
        for (std::size_t i = 0; i < n; ++i) {
            const double drift = 1 + 0.1 * static_cast<double>(i) / static_cast<double>(n);
            a[i] *= drift;
            b[i] *= drift;
        }
        return std::pair{a, b};
    };
    EXPECT_GE(coverage(20, 1.02, true, draw), 0.984);
    std::mt19937 generator(2);
    const auto [a, b] = draw(generator, 20);
    const Interval paired = interval_of(bootstrap(by_turns(a, b), ratio, 10000), tail);
    const Interval unpaired = interval_of(bootstrap(apart(a, b), ratio, 10000), tail);
    EXPECT_LT(paired.high - paired.low, 0.8 * (unpaired.high - unpaired.low));
}

TEST(Bootstrap, IsTheSameEachTimeAndSorted) {
    std::mt19937 generator(3);
    const std::vector<double> a = skewed(generator, 1, 20);
    const std::vector<double> b = skewed(generator, 1, 13);
    const std::vector<double> once = bootstrap(apart(a, b), ratio, 1000);
    EXPECT_EQ(once, bootstrap(apart(a, b), ratio, 1000));
    EXPECT_TRUE(std::is_sorted(once.begin(), once.end()));
    EXPECT_EQ(once.size(), 1000U);
}

TEST(Bootstrap, TakesTheMedianThatProfilesTake) {
    const std::vector<double> one = {3};
    const std::vector<double> same = {7, 7, 7, 7};
    for (const double value : bootstrap({{.by_thing = {one}}, {.by_thing = {same}}}, ratio, 100)) {
        EXPECT_EQ(value, median(one) / median(same));
    }
    // Of two samples a resample is one of them twice, or both: then it is their mean.
    for (const double value : bootstrap(
             {{.by_thing = {{1, 2}}}}, [](auto medians) { return medians[0]; }, 100)) {
        EXPECT_TRUE(value == 1 || value == 1.5 || value == 2) << value;
    }
}

TEST(Bootstrap, WhatIsTakenByTurnsIsDrawnTogether) {
    // b is always twice a: their ratio does not vary, however a does.
    const std::vector<double> a = {1, 5, 2, 9, 3};
    const std::vector<double> b = {2, 10, 4, 18, 6};
    for (const double value : bootstrap(by_turns(a, b), ratio, 1000)) {
        EXPECT_EQ(value, 0.5);
    }
    EXPECT_NE(bootstrap(apart(a, b), ratio, 1000).front(), 0.5);
}

TEST(Bootstrap, WhatIsNoNumberIsLeftOut) {
    const auto one_over = [](std::span<const double> medians) { return 1 / medians[0]; };
    const std::vector<double> values = bootstrap({{.by_thing = {{0, 1}}}}, one_over, 1000);
    EXPECT_LT(values.size(), 1000U);
    EXPECT_GT(values.size(), 500U);
}

TEST(LeastError, IsThatOfAllSamplesOnOneSide) {
    EXPECT_EQ(least_error(1), 0.5);
    EXPECT_EQ(least_error(10), 1.0 / 1024);
    EXPECT_EQ(least_samples(tail), fewest_samples);  // 2^-8 would do
    EXPECT_EQ(least_samples(tail / 100), 15U);       // 2^-14 = 0.000061 would not, 2^-15 = 0.000031 does
}

TEST(Holm, OnAHandExample) {
    // 0.005 <= 0.05 / 4; 0.01 <= 0.05 / 3; 0.03 > 0.05 / 2 ends it, and 0.04, alone below 0.05, is not reached.
    EXPECT_EQ(holm({0.01, 0.04, 0.03, 0.005}, 0.05), (std::vector<bool>{true, false, false, true}));
    EXPECT_EQ(holm({0.02, 0.02}, 0.05), (std::vector<bool>{true, true}));
    EXPECT_EQ(holm({0.04}, 0.05), (std::vector<bool>{true}));
    EXPECT_EQ(holm({0.06}, 0.05), (std::vector<bool>{false}));
    EXPECT_TRUE(holm({}, 0.05).empty());
}

}  // namespace
}  // namespace qkprof
