// The reference against values worked out by hand, and the comparison against planted errors.
#include "reference.h"

#include "input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace qkprof {
namespace {

// One head vector in f32 with its operands, q alone.
struct OneRow {
    OneRow(std::vector<float> row, std::vector<float> weights, std::vector<float> cosines, std::vector<float> sines)
        : x(std::move(row)), gamma(std::move(weights)), cos(std::move(cosines)), sin(std::move(sines)) {
        problem.head_dim = static_cast<std::int64_t>(x.size());
    }

    ReferenceElement element(std::int64_t column, double scale) const {
        const Operands<float> operands(problem,
                                       {.q = x.data(), .gamma_q = gamma.data(), .cos = cos.data(), .sin = sin.data()});
        return reference_element(operands, HeadVector<float>(operands, 0), scale, column);
    }

    std::vector<float> x;
    std::vector<float> gamma;
    std::vector<float> cos;
    std::vector<float> sin;
    Problem problem;
};

TEST(Reference, IsTheFormulaWorkedOutByHand) {
    // x = (3, 4), gamma = (1, 2): mean square 12.5; eps 12.5 makes the scale 1/5: y = (0.6, 1.6).
    const OneRow row({3, 4}, {1, 2}, {0.5F}, {0.25F});
    const double scale = reference_scale(row.x.data(), 2, 12.5).value;
    EXPECT_DOUBLE_EQ(scale, 0.2);
    EXPECT_DOUBLE_EQ(row.element(0, scale).value, 0.6 * 0.5 - 1.6 * 0.25);
    EXPECT_DOUBLE_EQ(row.element(1, scale).value, 1.6 * 0.5 + 0.6 * 0.25);
    EXPECT_DOUBLE_EQ(row.element(0, scale).magnitude, 2.2);
}

TEST(Reference, PairsTheHalvesOrTheNeighbours) {
    OneRow row({1, 0, 0, 0}, {1, 1, 1, 1}, {0, 1}, {1, 0});
    EXPECT_DOUBLE_EQ(row.element(2, 1).value, 1);
    EXPECT_DOUBLE_EQ(row.element(1, 1).value, 0);
    row.problem.pairing = Pairing::interleaved;
    EXPECT_DOUBLE_EQ(row.element(2, 1).value, 0);
    EXPECT_DOUBLE_EQ(row.element(1, 1).value, 1);
    EXPECT_DOUBLE_EQ(row.element(0, 1).value, 0);
}

TEST(Reference, RotatesTheFirstElementsOnlyAndScalesAll) {
    OneRow row({1, 2, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 2}, {0, 0}, {1, 1});
    row.problem.rotary_dim = 4;
    const std::vector<double> halves = {-3, -4, 1, 2, 5, 12};
    const std::vector<double> neighbours = {-2, 1, -4, 3, 5, 12};
    for (std::int64_t column = 0; column < 6; ++column) {
        row.problem.pairing = Pairing::half_split;
        EXPECT_DOUBLE_EQ(row.element(column, 1).value, halves[static_cast<std::size_t>(column)]);
        row.problem.pairing = Pairing::interleaved;
        EXPECT_DOUBLE_EQ(row.element(column, 1).value, neighbours[static_cast<std::size_t>(column)]);
    }
    EXPECT_DOUBLE_EQ(row.element(5, 1).magnitude, 12);
}

TEST(Reference, GemmaAddsOne) {
    OneRow row({1, 2}, {0.5F, -0.25F}, {1}, {0});
    row.problem.gemma = true;
    EXPECT_DOUBLE_EQ(row.element(0, 1).value, 1.5);
    EXPECT_DOUBLE_EQ(row.element(1, 1).value, 1.5);
}

TEST(ReferenceScale, TakesWhatF32CannotHoldForWhatItBecomes) {
    const auto scale = [](std::vector<float> x, double eps) {
        return reference_scale(x.data(), static_cast<std::int64_t>(x.size()), eps);
    };
    EXPECT_EQ(scale({0x1p64F, 1}, 0).value, 0);            // the square overflows
    EXPECT_EQ(scale({0x1.fp63F, 0x1.fp63F}, 0).value, 0);  // the sum does
    EXPECT_GT(scale({0x1.fp63F, 1}, 0).value, 0);
    EXPECT_DOUBLE_EQ(scale({0x1p-80F, 0x1p-80F}, 0.25).value, 2);
    EXPECT_TRUE(std::isinf(scale({0x1p-80F, 0}, 0).value));  // the square underflows
    EXPECT_TRUE(std::isnan(scale({std::numeric_limits<float>::quiet_NaN(), 1}, 1).value));
    EXPECT_DOUBLE_EQ(scale({0x1.8p-74F, 0}, 0).value, 1 / std::sqrt(0x1p-148));  // 2.25 * 2^-148 is 4 * 2^-149 or 5
}

// Squares of 2^-148 and less: a kernel that adds them by fused multiply-adds, or rounds the mean, is within the bound;
// and the bound is nothing where eps is.
TEST(ReferenceScale, BoundsWhatSubnormalSquaresLeaveOpen) {
    for (const float magnitude : {0x1.1p-70F, 0x1.7p-68F, 0x1.9p-66F}) {
        std::vector<float> x;
        for (int i = 0; i < 128; ++i) {
            x.push_back(magnitude * (1 + static_cast<float>(i) / 128));
        }
        float fused = 0;
        double exact = 0;
        for (const float value : x) {
            fused = std::fma(value, value, fused);
            exact += static_cast<double>(value) * static_cast<double>(value);
        }
        const ReferenceScale scale = reference_scale(x.data(), 128, 0);
        for (const double mean : {static_cast<double>(fused / 128), exact / 128}) {
            EXPECT_LE(std::abs(1 / std::sqrt(mean) / scale.value - 1), scale.slack + 32 * 0x1p-24) << magnitude;
        }
        EXPECT_LT(scale.slack, 0.1);
        EXPECT_LT(reference_scale(x.data(), 128, 1e-6).slack, 1e-30);
    }
}

template <class T>
class Comparing : public testing::Test {
  protected:
    Comparing() {
        problem_.dtype = std::is_same_v<T, float>  ? DataType::f32
                         : std::is_same_v<T, bf16> ? DataType::bf16
                                                   : DataType::f16;
        constants_ = constants_of(problem_);
        for (std::int64_t i = 0; i < problem_.elements(); ++i) {
            q_.push_back(from_float<T>(input_value(problem_.seed, static_cast<std::uint64_t>(i))));
        }
        out_.resize(q_.size());
        const Operands<T> operands(problem_, memory());
        for (std::int64_t row = 0; row < problem_.rows(); ++row) {
            const HeadVector<T> vector(operands, row);
            const double scale = reference_scale(vector.x, problem_.head_dim, operands.eps).value;
            for (std::int64_t column = 0; column < problem_.head_dim; ++column) {
                const double value = reference_element(operands, vector, scale, column).value;
                out_[static_cast<std::size_t>(row * problem_.head_dim + column)] =
                    from_float<T>(static_cast<float>(value));
            }
        }
    }

    Buffers memory() {
        const std::byte* tables = constants_.tables.data();
        return {.q = q_.data(),
                .q_out = out_.data(),
                .gamma_q = constants_.gamma_q.data(),
                .cos = tables,
                .sin = tables + problem_.table_bytes()};
    }
    Verification verify() { return verify_on_host(problem_, memory()); }
    std::size_t index(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const {
        return static_cast<std::size_t>(((b * problem_.sequence + s) * problem_.heads + h) * problem_.head_dim + d);
    }
    void expect_first_wrong(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) {
        const Verification v = verify();
        EXPECT_FALSE(v.correct);
        ASSERT_TRUE(v.first_wrong.has_value());
        EXPECT_EQ(v.first_wrong->batch, b);
        EXPECT_EQ(v.first_wrong->position, s);
        EXPECT_EQ(v.first_wrong->head, h);
        EXPECT_EQ(v.first_wrong->column, d);
    }

    // More rows than one chunk of the comparison.
    Problem problem_ = {.batch = 3, .sequence = 101, .heads = 5, .head_dim = 64};
    Constants constants_;
    std::vector<T> q_;
    std::vector<T> out_;
};

using Types = testing::Types<float, bf16, f16>;
TYPED_TEST_SUITE(Comparing, Types);

TYPED_TEST(Comparing, TheRoundedReferenceIsCorrect) {
    const Verification v = this->verify();
    EXPECT_TRUE(v.correct);
    EXPECT_EQ(v.wrong_elements, 0);
    EXPECT_FALSE(v.first_wrong.has_value());
    EXPECT_GT(v.error_norm, 0);
    EXPECT_LT(v.error_norm, tolerance_of(this->problem_.dtype).error_norm);
}

TYPED_TEST(Comparing, ANaNIsWrong) {
    this->out_[this->index(1, 50, 2, 63)] = from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    this->expect_first_wrong(1, 50, 2, 63);
    EXPECT_TRUE(std::isnan(this->verify().error_norm));
    EXPECT_TRUE(std::isnan(this->verify().first_wrong->got));
}

TYPED_TEST(Comparing, AnInfinityIsWrong) {
    this->out_[this->index(0, 0, 0, 0)] = from_float<TypeParam>(std::numeric_limits<float>::infinity());
    this->expect_first_wrong(0, 0, 0, 0);
}

TYPED_TEST(Comparing, OneWrongElementIsFoundThoughTheNormIsSmall) {
    TypeParam& element = this->out_[this->index(2, 100, 4, 63)];  // the very last
    element = from_float<TypeParam>(to_float(element) + 0.05F);
    this->expect_first_wrong(2, 100, 4, 63);
    EXPECT_EQ(this->verify().wrong_elements, 1);
}

TYPED_TEST(Comparing, TheFirstOfSeveralIsNamed) {
    for (const std::int64_t b : {2, 0, 1}) {
        this->out_[this->index(b, 7, 1, 3)] = from_float<TypeParam>(100.0F);
    }
    this->expect_first_wrong(0, 7, 1, 3);
    EXPECT_EQ(this->verify().wrong_elements, 3);
    EXPECT_EQ(this->verify().first_wrong->got, 100.0);
}

TYPED_TEST(Comparing, SwappedPartnersAreWrong) {
    const auto row = this->out_.begin() + static_cast<std::ptrdiff_t>(this->index(0, 1, 0, 0));
    std::swap_ranges(row, row + 32, row + 32);
    const Verification v = this->verify();
    EXPECT_FALSE(v.correct);
    EXPECT_GT(v.wrong_elements, 32);
    EXPECT_EQ(v.first_wrong.value().position, 1);
}

TYPED_TEST(Comparing, AnUnwrittenTailIsWrong) {
    std::fill(this->out_.end() - 64, this->out_.end(), from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN()));
    this->expect_first_wrong(2, 100, 4, 0);
    EXPECT_EQ(this->verify().wrong_elements, 64);
}

TYPED_TEST(Comparing, TheAnswerOfAnotherPositionIsWrong) {
    const auto row = this->out_.begin() + static_cast<std::ptrdiff_t>(this->index(1, 10, 3, 0));
    std::copy(row, row + 64, this->out_.begin() + static_cast<std::ptrdiff_t>(this->index(1, 11, 3, 0)));
    EXPECT_FALSE(this->verify().correct);
}

TYPED_TEST(Comparing, AnErrorThatIsEverywhereAndWithinEachBoundIsCaughtByTheNorm) {
    const Tolerance tolerance = tolerance_of(this->problem_.dtype);
    const auto factor = static_cast<float>(1 + 2 * tolerance.error_norm);
    for (TypeParam& element : this->out_) {
        element = from_float<TypeParam>(to_float(element) * factor);
    }
    EXPECT_FALSE(this->verify().correct);
    EXPECT_GT(this->verify().error_norm, tolerance.error_norm);
}

TYPED_TEST(Comparing, IsTheSameOnEveryRun) {
    const double norm = this->verify().error_norm;
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(this->verify().error_norm, norm);
    }
}

TYPED_TEST(Comparing, ACopyMustBeExact) {
    EXPECT_FALSE(verify_copy_on_host(this->problem_, this->memory()).correct);
    this->out_ = this->q_;
    this->q_[5] = this->out_[5] = from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(verify_copy_on_host(this->problem_, this->memory()).correct);  // of a NaN too
    this->out_.back() = from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    const Verification v = verify_copy_on_host(this->problem_, this->memory());
    EXPECT_EQ(v.wrong_elements, 1);
    ASSERT_TRUE(v.first_wrong.has_value());
    EXPECT_EQ(v.first_wrong->column, 63);
    this->q_.back() = from_float<TypeParam>(0.0F);
    this->out_.back() = from_float<TypeParam>(-0.0F);
    EXPECT_EQ(verify_copy_on_host(this->problem_, this->memory()).wrong_elements, 1);
}

// An infinity in a row makes its scale 0: its own place and its partner's are NaN, the others zeros.
TYPED_TEST(Comparing, WhatIsNotFiniteMustBeSoAndEntersNoNorm) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const auto nan = from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    const double norm = this->verify().error_norm;
    const std::size_t row = this->index(2, 7, 3, 0);
    this->q_[row + 5] = from_float<TypeParam>(infinity);
    std::fill_n(this->out_.begin() + static_cast<std::ptrdiff_t>(row), 64, from_float<TypeParam>(0.0F));
    EXPECT_EQ(this->verify().wrong_elements, 2);
    this->expect_first_wrong(2, 7, 3, 5);
    EXPECT_TRUE(std::isnan(this->verify().first_wrong->expected));
    this->out_[row + 5] = this->out_[row + 37] = nan;
    EXPECT_TRUE(this->verify().correct);
    EXPECT_NEAR(this->verify().error_norm / norm, 1, 0.01);
    this->out_[row + 37] = from_float<TypeParam>(infinity);
    EXPECT_EQ(this->verify().wrong_elements, 1);
    this->out_[row + 37] = this->out_[row + 38] = nan;  // it spreads
    this->expect_first_wrong(2, 7, 3, 38);
}

TEST(Comparing, AnInfinityMustBeTheSameOne) {
    // eps 0 and squares that underflow: the scale is infinite. sin 0 in place of a number makes NaN of the partner.
    OneRow row({0x1p-100F, 0x1p-100F}, {1, -1}, {0.5F}, {0.5F});
    row.problem.eps = 0;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> out = {infinity, std::numeric_limits<float>::quiet_NaN()};
    const auto wrong = [&] {
        return verify_on_host(row.problem, {.q = row.x.data(),
                                            .q_out = out.data(),
                                            .gamma_q = row.gamma.data(),
                                            .cos = row.cos.data(),
                                            .sin = row.sin.data()})
            .wrong_elements;
    };
    EXPECT_EQ(wrong(), 0);
    out[0] = -infinity;
    EXPECT_EQ(wrong(), 1);
    out[0] = std::numeric_limits<float>::max();
    EXPECT_EQ(wrong(), 1);
}

TEST(Conclude, AnEmptyProblemIsCorrect) {
    const Verification v = verify_on_host({.batch = 0}, {});
    EXPECT_TRUE(v.correct);
    EXPECT_EQ(v.error_norm, 0);
}

TEST(Conclude, AnyErrorOnAReferenceOfZerosIsInfinite) {
    const Verification v = conclude({}, {.squared_error = 1e-30});
    EXPECT_FALSE(v.correct);
    EXPECT_TRUE(std::isinf(v.error_norm));
}

}  // namespace
}  // namespace qkprof
