// The inputs: their distribution, and that they are the same on every machine.
#include "input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace qkprof {
namespace {

TEST(InputValue, HasMeanZeroVarianceOneAndShortTails) {
    constexpr int count = 1 << 20;
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    double largest = 0;
    for (int i = 0; i < count; ++i) {
        const auto value = static_cast<double>(input_value(3, static_cast<std::uint64_t>(i)));
        sum += value;
        squares += value * value;
        fourths += value * value * value * value;
        largest = std::max(largest, std::abs(value));
    }
    EXPECT_NEAR(sum / count, 0.0, 5e-3);
    EXPECT_NEAR(squares / count, 1.0, 5e-3);
    EXPECT_NEAR(fourths / count, 2.7, 0.02);  // Irwin-Hall of 4: kurtosis 3 - 6/5/4
    EXPECT_LE(largest, 131070 * 2.6429e-5);
    EXPECT_GT(largest, 3.0);
}

TEST(InputValue, IsPinned) {  // a change would make recorded profiles incomparable
    EXPECT_EQ(random_bits(1, 0), 17629623748622851610U);
    EXPECT_EQ(input_value(1, 0), 0x1.32f7260000000p-1F);
}

TEST(InputValue, SeedsAndIndicesDiffer) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        for (std::uint64_t index = 0; index < 100; ++index) {
            seen.insert(random_bits(seed, index));
        }
    }
    EXPECT_EQ(seen.size(), 10000U);
}

TEST(Tables, AreThoseOfTheFormula) {
    const Problem problem = {.batch = 1, .sequence = 3000, .heads = 1, .head_dim = 64};
    const Tables tables = build_tables(problem);
    ASSERT_EQ(tables.gamma.size(), 64U);
    ASSERT_EQ(tables.cos.size(), 3000U * 32);
    ASSERT_EQ(tables.sin.size(), 3000U * 32);
    EXPECT_EQ(tables.cos[0], 1.0F);
    EXPECT_EQ(tables.sin[0], 0.0F);
    for (const int position : {1, 1023, 1024, 2999}) {
        for (const int i : {0, 1, 31}) {
            const double angle = position * std::pow(10000.0, -2.0 * i / 64);
            EXPECT_EQ(tables.cos[static_cast<std::size_t>(position * 32 + i)], static_cast<float>(std::cos(angle)));
            EXPECT_EQ(tables.sin[static_cast<std::size_t>(position * 32 + i)], static_cast<float>(std::sin(angle)));
        }
    }
}

TEST(Tables, GammaIsDifferentInEachColumnAndFollowsTheSeed) {
    Problem problem = {.head_dim = 256};
    const std::vector<float> gamma = build_tables(problem).gamma;
    EXPECT_EQ(std::set<float>(gamma.begin(), gamma.end()).size(), gamma.size());
    for (const float value : gamma) {
        EXPECT_GE(value, 0.45F);
        EXPECT_LE(value, 1.55F);
    }
    problem.seed = 2;
    EXPECT_NE(build_tables(problem).gamma, gamma);
}

TEST(Tables, FollowTheBase) {
    Problem problem = {.sequence = 2, .head_dim = 4};
    problem.rotary_base = 100;
    EXPECT_EQ(build_tables(problem).cos[3], static_cast<float>(std::cos(0.1)));
}

}  // namespace
}  // namespace qkprof
