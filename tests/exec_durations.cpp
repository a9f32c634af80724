// Quantiles in bounded memory, and the union of intervals, against the plain way.
#include "exec/busy_time.h"
#include "exec/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace qkprof::exec {
namespace {

TEST(ExecDurations, QuantilesAreWithinAPerCentOfTheSortedOnes) {
    std::mt19937_64 random(7);  // NOLINT(bugprone-random-generator-seed): the same in each run
    std::lognormal_distribution<double> length(9, 4);
    Durations durations;
    Durations first;
    Durations second;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 20000; ++i) {
        const auto one = static_cast<std::uint64_t>(length(random));
        durations.add(one);
        (i % 3 == 0 ? first : second).add(one);
        all.push_back(one);
    }
    std::sort(all.begin(), all.end());
    first.add(second);
    first.add(Durations());
    for (const Durations* d : {&durations, &first}) {
        EXPECT_EQ(d->count(), all.size());
        EXPECT_EQ(d->least(), all.front());
        EXPECT_EQ(d->most(), all.back());
        EXPECT_EQ(d->total(), std::accumulate(all.begin(), all.end(), std::uint64_t{0}));
        for (const double part : {0.0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0}) {
            const auto rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(part * 20000)));
            const auto exact = static_cast<double>(all[rank - 1]);
            EXPECT_NEAR(static_cast<double>(d->quantile(part)), exact, 0.01 * exact) << part;
        }
    }
}

TEST(ExecDurations, TheSmallestAndTheLargestNumbers) {
    Durations durations;
    durations.add(0);
    EXPECT_EQ(durations.quantile(0.5), 0U);
    for (std::uint64_t i = 1; i < 128; ++i) {
        Durations one;
        one.add(i);
        EXPECT_EQ(one.quantile(0.5), i);
    }
    const std::uint64_t most = ~std::uint64_t{0};
    durations.add(most);
    EXPECT_EQ(durations.most(), most);
    EXPECT_GE(durations.quantile(1), most - most / 100);
}

// One flag for each nanosecond.
std::uint64_t plain_union(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& intervals) {
    std::vector<bool> busy(4096);
    for (const auto& [start, end] : intervals) {
        std::fill(busy.begin() + static_cast<std::ptrdiff_t>(start), busy.begin() + static_cast<std::ptrdiff_t>(end),
                  true);
    }
    return static_cast<std::uint64_t>(std::count(busy.begin(), busy.end(), true));
}

TEST(ExecBusyTime, IsTheUnionOfIntervalsInAnyOrder) {
    std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same in each run
    std::uniform_int_distribution<std::uint64_t> start(1, 3000);
    std::uniform_int_distribution<std::uint64_t> length(0, 60);
    for (int round = 0; round < 300; ++round) {
        BusyTime busy;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> intervals;
        std::uint64_t first = 4096;
        std::uint64_t last = 0;
        for (int i = 0; i < round; ++i) {
            const std::uint64_t from = start(random);
            intervals.emplace_back(from, from + length(random));
            busy.add(intervals.back().first, intervals.back().second, 10'000);
            first = std::min(first, from);
            last = std::max(last, intervals.back().second);
        }
        ASSERT_EQ(busy.busy(), plain_union(intervals)) << round;
        ASSERT_EQ(busy.span(), round == 0 ? 0 : last - first);
        ASSERT_EQ(busy.late(), 0U);
    }
}

TEST(ExecBusyTime, TheOldestAreForgottenAndWhatComesBeforeThemIsCountedAtMostByItsLength) {
    BusyTime busy;
    for (std::uint64_t i = 1; i <= 100; ++i) {
        busy.add(i * 100, i * 100 + 10, 5);
    }
    EXPECT_EQ(busy.kept(), 5U);
    EXPECT_EQ(busy.busy(), 1000U);
    EXPECT_EQ(busy.late(), 0U);
    busy.add(300, 305, 5);  // was there before: twice
    EXPECT_EQ(busy.busy(), 1005U);
    EXPECT_EQ(busy.late(), 1U);
    busy.add(9900, 9920, 5);  // known still
    EXPECT_EQ(busy.busy(), 1015U);
    EXPECT_EQ(busy.late(), 1U);
    busy.add(100, 20'000, 5);  // up to what is forgotten by its length, and never more than from first to last
    EXPECT_EQ(busy.late(), 2U);
    EXPECT_EQ(busy.busy(), busy.span());
}

}  // namespace
}  // namespace qkprof::exec
