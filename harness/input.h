// The inputs of a problem, the same to the bit on every device: a counter-based generator, so that any element can be
// made anywhere, in any order; gamma and the tables, built in double, rounded to f32 and where they are narrow to the
// storage type; and the position ids.
#pragma once

#include "problem.h"
#include "vocabulary/number.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace qkprof {

// 64 well-mixed bits for element `index` of the stream `seed` (the finaliser of SplitMix64: Steele, Lea, Flood, 2014).
QK_ANYWHERE std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0xd1342543de82ef95U + (index + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

// Element `index` of a stream before it is rounded to the storage type: the sum of four uniform 16-bit numbers, centred
// and scaled to variance 1 (Irwin-Hall, near to normal). Exact in f32 up to the one rounding of the last product, so
// equal on every device.
QK_ANYWHERE float input_value(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t bits = random_bits(seed, index);
    const auto sum = static_cast<std::int32_t>((bits & 0xffffU) + ((bits >> 16U) & 0xffffU) +
                                               ((bits >> 32U) & 0xffffU) + (bits >> 48U));
    return static_cast<float>(sum - 131070) * 2.6429e-5F;  // 1 / (65536 * sqrt(4 / 12))
}

// Calls f(T{}) for the storage type.
template <class F>
auto for_storage(DataType dtype, F f) {
    switch (dtype) {
        case DataType::f32:
            return f(float{});
        case DataType::bf16:
            return f(bf16{});
        default:
            return f(f16{});
    }
}

QK_ANYWHERE bool same_bits(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
QK_ANYWHERE bool same_bits(bf16 a, bf16 b) { return a.bits == b.bits; }
QK_ANYWHERE bool same_bits(f16 a, f16 b) { return a.bits == b.bits; }

// One tensor of a problem as it lies in memory: the head vectors of a token, then a gap (value heads, padding), then
// the next token. Plain numbers, so that a kernel can be passed it.
struct Tensor {
    const char* name;         // in messages
    const char* result_name;  // of the tensor, as large, that takes the results; in place the same
    std::uint64_t stream;     // of the generator
    std::int64_t tokens;
    std::int64_t stride;  // elements from token to token
    std::int64_t used;    // of them, those of head vectors: the first
    Values values;
    float extreme;          // the magnitude of every element of the head vectors: of zeros, largest and smallest
    std::int64_t infinity;  // where there is one; -1: nowhere
    std::int64_t nan;

    QK_ANYWHERE std::int64_t elements() const { return tokens * stride; }

    // What element `index` holds, before it is rounded to the storage type.
    QK_ANYWHERE float value_at(std::int64_t index) const {
        const float normal = input_value(stream, static_cast<std::uint64_t>(index));
        if (values == Values::normal) {
            return normal;
        }
        if (values == Values::not_finite) {
            return index == infinity ? std::numeric_limits<float>::infinity()
                   : index == nan    ? std::numeric_limits<float>::quiet_NaN()
                                     : normal;
        }
        return index % stride >= used ? normal : normal < 0 ? -extreme : extreme;
    }

    // The elements that no kernel may write: how many there are, and the index of each, numbered from 0.
    QK_ANYWHERE std::int64_t gaps() const { return tokens * (stride - used); }
    QK_ANYWHERE std::int64_t gap(std::int64_t number) const {
        return number / (stride - used) * stride + used + number % (stride - used);
    }
};
// q, or the packed tensor; then k where it has one of its own.
std::vector<Tensor> tensors_of(const Problem& problem);

// Where the key heads begin, given where the memory of q and of k (null where it has none) does: in the packed tensor,
// in k's own, or nowhere.
template <class Byte>
Byte* key_heads_at(const Problem& problem, Byte* q, Byte* k) {
    const bool packed = problem.layout == Layout::packed && problem.key_heads > 0;
    return packed ? q + problem.heads * problem.head_dim * problem.element_bytes() : k;
}

// The sentence for `changed` elements of the gaps of a result that a kernel wrote.
std::string gap_fault(const Tensor& tensor, std::int64_t changed);

// What the operation takes beside q and k, in the types and the order in which Problem lays them out.
struct Constants {
    std::vector<std::byte> gamma_q;
    std::vector<std::byte> gamma_k;    // empty where there are no key heads
    std::vector<std::byte> tables;     // cos, then sin
    std::vector<std::byte> positions;  // empty where they are implicit
};
Constants constants_of(const Problem& problem);

// The bytes of all of these.
std::int64_t constant_bytes(const Problem& problem);

// Throws InputError, saying why, for a problem that no kernel may be given: its tables and ids would be read outside.
void check_input(const Problem& problem);

// "1x64x32+8x128 packed bf16": the problem in messages.
std::string words_for(const Problem& problem);

}  // namespace qkprof
