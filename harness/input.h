// The inputs of a problem, the same to the bit on every device: a counter-based generator, so that any element can be
// made anywhere, in any order; and the tables, built in double and rounded once to f32.
#pragma once

#include "problem.h"
#include "vocabulary/number.h"

#include <cstdint>
#include <vector>

namespace qkprof {

// 64 well-mixed bits for element `index` of the stream `seed` (the finaliser of SplitMix64: Steele, Lea, Flood, 2014).
QK_ANYWHERE std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0xd1342543de82ef95U + (index + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

// Element `index` of q before it is rounded to the storage type: the sum of four uniform 16-bit numbers, centred and
// scaled to variance 1 (Irwin-Hall, near to normal). Exact in f32 up to the one rounding of the last product, so equal
// on every device.
QK_ANYWHERE float input_value(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t bits = random_bits(seed, index);
    const auto sum = static_cast<std::int32_t>((bits & 0xffffU) + ((bits >> 16U) & 0xffffU) +
                                               ((bits >> 32U) & 0xffffU) + (bits >> 48U));
    return static_cast<float>(sum - 131070) * 2.6429e-5F;  // 1 / (65536 * sqrt(4 / 12))
}

// gamma, cos, sin as Problem lays them out.
struct Tables {
    std::vector<float> gamma;
    std::vector<float> cos;
    std::vector<float> sin;
};
Tables build_tables(const Problem& problem);

}  // namespace qkprof
