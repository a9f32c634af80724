// A head vector held in pairs: a group of neighbouring lanes shares it, and each lane has a chunk of the lower half and
// the chunk of the upper half that rotates with it, so that the rotation needs no other lane. Unlike paired.h, chunks
// are always one 16-byte access (what cp.async copies and what shared memory serves without bank conflicts), and lanes
// of a group that this leaves over are idle: 4 of 16 for a head dim of 96 in f32.
#pragma once

#include "head_vector.h"

#include <bit>
#include <type_traits>

namespace qkprof::inline QK_BUILD {

template <class T, int D, int Size = 16 / static_cast<int>(sizeof(T))>
struct PairedLanes {
    static constexpr int size = Size;            // elements a chunk
    static constexpr int active = D / 2 / size;  // lanes of a group that hold chunks
    static constexpr int lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(active)));  // lanes of a group
    static constexpr int rows = 32 / lanes;                                                       // head vectors a warp
    static constexpr int table_accesses = size / 4;  // accesses in which a lane reads its `size` floats of a table
    static_assert(active * size * 2 == D && lanes <= 32 && size % 4 == 0);
};

// Scales a lane's two chunks by `scale` and gamma and rotates them.
template <int N>
QK_DEVICE void normalise_and_rotate(float (&lower)[N], float (&upper)[N], float scale, const float (&gamma)[2][N],
                                    const float (&cosine)[N], const float (&sine)[N]) {
    for (int i = 0; i < N; ++i) {
        lower[i] *= scale * gamma[0][i];
        upper[i] *= scale * gamma[1][i];
        rotate(lower[i], upper[i], cosine[i], sine[i]);
    }
}

template <int N>
QK_DEVICE float sum_of_squares(const float (&lower)[N], const float (&upper)[N]) {
    float sum = 0.0F;
    for (int i = 0; i < N; ++i) {
        sum += lower[i] * lower[i] + upper[i] * upper[i];
    }
    return sum;
}

// N neighbouring floats of gamma or a table, constant during the kernel, four an access.
template <int N>
QK_DEVICE void load_constants(const float* from, float (&values)[N]) {
    for (int i = 0; i < N; i += 4) {
        unpack(load<Cache::read_only>(reinterpret_cast<const Vector<float, 4>*>(from + i)), values + i);
    }
}

// Calls f(std::integral_constant<int, V>{}) for the one of Values that equals `value`.
template <int... Values, class F>
void for_value(int value, F f) {
    if (!((value == Values && (f(std::integral_constant<int, Values>{}), true)) || ...)) {
        throw LaunchError("No kernel is compiled for the value " + std::to_string(value) + " of a parameter.");
    }
}

// Bytes, in whole sectors, of all of q or out taken in `pieces` contiguous pieces that are multiples of a sector: one
// that begins inside a sector reaches into one more.
inline std::int64_t piecewise_bytes(const Problem& problem, std::int64_t pieces) {
    constexpr std::int64_t sector = 32;
    return problem.tensor_bytes() + (problem.alignment() < sector ? pieces * sector : 0);
}

}  // namespace qkprof::inline QK_BUILD
