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

TEST(Reference, IsTheFormulaWorkedOutByHand) {
    // x = (3, 4), gamma = (1, 2): mean square 12.5; eps 12.5 makes the scale 1/5: y = (0.6, 1.6).
    const std::vector<float> x = {3, 4};
    const std::vector<float> gamma = {1, 2};
    const std::vector<float> cos = {0.5F};
    const std::vector<float> sin = {0.25F};
    const double scale = reference_scale(x.data(), 2, 12.5);
    EXPECT_DOUBLE_EQ(scale, 0.2);
    const auto element = [&](std::int64_t column) {
        return reference_element(x.data(), scale, gamma.data(), cos.data(), sin.data(), 2, column);
    };
    EXPECT_DOUBLE_EQ(element(0).value, 0.6 * 0.5 - 1.6 * 0.25);
    EXPECT_DOUBLE_EQ(element(1).value, 1.6 * 0.5 + 0.6 * 0.25);
    EXPECT_DOUBLE_EQ(element(0).magnitude, 2.2);
}

TEST(Reference, PairsTheHalvesAndNotTheNeighbours) {
    const std::vector<float> x = {1, 0, 0, 0};
    const std::vector<float> gamma = {1, 1, 1, 1};
    const std::vector<float> cos = {0, 1};
    const std::vector<float> sin = {1, 0};
    const double scale = 1;
    EXPECT_DOUBLE_EQ(reference_element(x.data(), scale, gamma.data(), cos.data(), sin.data(), 4, 2).value, 1);
    EXPECT_DOUBLE_EQ(reference_element(x.data(), scale, gamma.data(), cos.data(), sin.data(), 4, 1).value, 0);
}

template <class T>
class Comparing : public testing::Test {
  protected:
    Comparing() {
        problem_.dtype = std::is_same_v<T, float>  ? DataType::f32
                         : std::is_same_v<T, bf16> ? DataType::bf16
                                                   : DataType::f16;
        tables_ = build_tables(problem_);
        for (std::int64_t i = 0; i < problem_.elements(); ++i) {
            q_.push_back(from_float<T>(input_value(problem_.seed, static_cast<std::uint64_t>(i))));
        }
        for (std::int64_t row = 0; row < problem_.rows(); ++row) {
            const T* x = q_.data() + row * problem_.head_dim;
            const double scale = reference_scale(x, problem_.head_dim, static_cast<double>(problem_.eps));
            const std::int64_t start = row / problem_.heads % problem_.sequence * (problem_.head_dim / 2);
            for (std::int64_t column = 0; column < problem_.head_dim; ++column) {
                const double value = reference_element(x, scale, tables_.gamma.data(), tables_.cos.data() + start,
                                                       tables_.sin.data() + start, problem_.head_dim, column)
                                         .value;
                out_.push_back(from_float<T>(static_cast<float>(value)));
            }
        }
    }

    Verification verify() const {
        return verify_on_host(problem_, q_.data(), out_.data(), tables_.gamma, tables_.cos, tables_.sin);
    }
    std::size_t index(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const {
        return static_cast<std::size_t>(((b * problem_.sequence + s) * problem_.heads + h) * problem_.head_dim + d);
    }
    void expect_first_wrong(std::int64_t b, std::int64_t s, std::int64_t h, std::int64_t d) const {
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
    Tables tables_;
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
    EXPECT_TRUE(verify_copy_on_host(this->problem_, this->q_.data(), this->q_.data()).correct);
    EXPECT_FALSE(verify_copy_on_host(this->problem_, this->q_.data(), this->out_.data()).correct);
    std::vector<TypeParam> copy = this->q_;
    copy.back() = from_float<TypeParam>(std::numeric_limits<float>::quiet_NaN());
    const Verification v = verify_copy_on_host(this->problem_, this->q_.data(), copy.data());
    EXPECT_EQ(v.wrong_elements, 1);
    ASSERT_TRUE(v.first_wrong.has_value());
    EXPECT_EQ(v.first_wrong->column, 63);
}

TEST(Conclude, AnEmptyProblemIsCorrect) {
    const Problem empty = {.batch = 0};
    const Verification v = verify_on_host(empty, nullptr, nullptr, {}, {}, {});
    EXPECT_TRUE(v.correct);
    EXPECT_EQ(v.error_norm, 0);
}

TEST(Conclude, AnyErrorOnAReferenceOfZerosIsInfinite) {
    const Verification v = conclude({}, {.squared_error = 1e-30}, 0, 0);
    EXPECT_FALSE(v.correct);
    EXPECT_TRUE(std::isinf(v.error_norm));
}

}  // namespace
}  // namespace qkprof
