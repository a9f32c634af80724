// The 16-bit types, exhaustively, against a rounding computed in double.
#include "vocabulary/number.h"

#include "input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace qkprof {
namespace {

// A binary format with an implicit leading one: significand bits after the point, exponent range, largest finite value.
struct Layout {
    int fraction_bits;
    int least_exponent;
    double largest;
};
constexpr Layout bf16_layout = {7, -126, 0x1.fep127};
constexpr Layout f16_layout = {10, -14, 65504.0};

// Round to nearest even in double: scale so that a unit in the last place is 1, round, scale back.
double rounded(double value, const Layout& layout) {
    if (value == 0 || !std::isfinite(value)) {
        return value;
    }
    const int exponent = std::max(std::ilogb(value), layout.least_exponent);
    const int unit = exponent - layout.fraction_bits;
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    return std::abs(result) > layout.largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

template <class T>
void round_trips() {
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const T value = {static_cast<std::uint16_t>(bits)};
        const float wide = to_float(value);
        if (std::isnan(wide)) {
            EXPECT_TRUE(std::isnan(to_float(from_float<T>(wide)))) << bits;
        } else {
            ASSERT_EQ(from_float<T>(wide).bits, bits);
        }
    }
}

template <class T>
void rounds_as(float value, const Layout& layout) {
    const auto expected = static_cast<float>(rounded(static_cast<double>(value), layout));
    const float got = to_float(from_float<T>(value));
    ASSERT_EQ(got, expected) << value;
    ASSERT_EQ(std::signbit(got), std::signbit(expected)) << value;
}

// At, just below and just above every value and every midpoint between neighbours.
template <class T>
void rounds_around_every_value(const Layout& layout) {
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const float value = to_float(T{static_cast<std::uint16_t>(bits)});
        const float next = to_float(T{static_cast<std::uint16_t>(bits + 1)});
        if (!std::isfinite(value)) {
            continue;
        }
        const auto middle = std::isfinite(next) && std::signbit(next) == std::signbit(value)
                                ? static_cast<float>((static_cast<double>(value) + static_cast<double>(next)) / 2)
                                : value;
        for (const float centre : {value, middle}) {
            rounds_as<T>(centre, layout);
            rounds_as<T>(std::nextafter(centre, std::numeric_limits<float>::infinity()), layout);
            rounds_as<T>(std::nextafter(centre, -std::numeric_limits<float>::infinity()), layout);
        }
    }
}

TEST(Number, Bf16RoundTripsAllValues) { round_trips<bf16>(); }
TEST(Number, F16RoundTripsAllValues) { round_trips<f16>(); }
TEST(Number, Bf16RoundsToNearestEvenEverywhere) { rounds_around_every_value<bf16>(bf16_layout); }
TEST(Number, F16RoundsToNearestEvenEverywhere) { rounds_around_every_value<f16>(f16_layout); }

TEST(Number, RoundsAMillionOtherFloats) {
    for (std::uint64_t i = 0; i < 1000000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random_bits(7, i)));
        if (std::isnan(value)) {
            continue;
        }
        rounds_as<bf16>(value, bf16_layout);
        rounds_as<f16>(value, f16_layout);
    }
}

TEST(Number, KnownValues) {
    EXPECT_EQ(from_float<f16>(1.0F).bits, 0x3c00);
    EXPECT_EQ(from_float<f16>(-2.0F).bits, 0xc000);
    EXPECT_EQ(from_float<f16>(65504.0F).bits, 0x7bff);
    EXPECT_EQ(from_float<f16>(65520.0F).bits, 0x7c00);
    EXPECT_EQ(from_float<f16>(0x1p-24F).bits, 0x0001);
    EXPECT_EQ(from_float<f16>(0x1p-25F).bits, 0x0000);
    EXPECT_EQ(from_float<bf16>(1.0F).bits, 0x3f80);
    EXPECT_EQ(from_float<bf16>(3.0F).bits, 0x4040);
    EXPECT_EQ(from_float<bf16>(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_EQ(from_float<bf16>(-0.0F).bits, 0x8000);
}

}  // namespace
}  // namespace qkprof
