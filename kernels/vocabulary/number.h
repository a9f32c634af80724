// The 16-bit storage types and their conversion to f32, in which all arithmetic is done. Rounding is to nearest even.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define QK_ANYWHERE __host__ __device__ __forceinline__
#else
#define QK_ANYWHERE inline
#endif

namespace qkprof {

struct bf16 {
    std::uint16_t bits;
};
struct f16 {
    std::uint16_t bits;
};

// N values of type T that one lane moves in one access of N * sizeof(T) bytes, aligned to their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
    T values[N];
};

QK_ANYWHERE float to_float(float value) { return value; }

QK_ANYWHERE float to_float(bf16 value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16U); }

QK_ANYWHERE float to_float(f16 value) {
#ifdef __CUDA_ARCH__
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
#else
    const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = value.bits & 0x7fffU;
    if (magnitude >= 0x7c00U) {  // infinity and NaN
        return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13U));
    }
    if (magnitude < 0x400U) {  // zero and subnormal: a whole number of 2^-24
        const float small = static_cast<float>(magnitude) * 0x1p-24F;
        return sign != 0 ? -small : small;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13U) + (112U << 23U)));
#endif
}

template <class T>
QK_ANYWHERE T from_float(float value) {
    if constexpr (std::is_same_v<T, float>) {
        return value;
    } else if constexpr (std::is_same_v<T, bf16>) {
#ifdef __CUDA_ARCH__
        bf16 narrow;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
        return narrow;
#else
        const auto bits = std::bit_cast<std::uint32_t>(value);
        if ((bits & 0x7fffffffU) > 0x7f800000U) {
            return bf16{0x7fffU};  // the NaN that the GPU gives
        }
        return bf16{static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
#endif
    } else {
        static_assert(std::is_same_v<T, f16>);
#ifdef __CUDA_ARCH__
        f16 narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
        return narrow;
#else
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t sign = (bits >> 16U) & 0x8000U;
        const std::uint32_t magnitude = bits & 0x7fffffffU;
        if (magnitude > 0x7f800000U) {
            return f16{0x7fffU};
        }
        if (magnitude >= 0x477ff000U) {  // rounds to 65520 or more: infinity
            return f16{static_cast<std::uint16_t>(sign | 0x7c00U)};
        }
        if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 leaves round(x / 2^-24) in the low bits
            const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
            return f16{static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U))};
        }
        const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13U) & 1U);
        return f16{static_cast<std::uint16_t>(sign | ((rounded - (112U << 23U)) >> 13U))};
#endif
    }
}

// Two values of a 16-bit type from one register, and into one: fewer instructions than one by one.
template <class T>
QK_ANYWHERE void unpack_pair(std::uint32_t pair, float* values) {
    if constexpr (std::is_same_v<T, bf16>) {
        values[0] = std::bit_cast<float>(pair << 16U);
        values[1] = std::bit_cast<float>(pair & 0xffff0000U);
    } else {
#ifdef __CUDA_ARCH__
        asm("{.reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
            : "=f"(values[0]), "=f"(values[1])
            : "r"(pair));
#else
        values[0] = to_float(T{static_cast<std::uint16_t>(pair)});
        values[1] = to_float(T{static_cast<std::uint16_t>(pair >> 16U)});
#endif
    }
}

template <class T>
QK_ANYWHERE std::uint32_t pack_pair(const float* values) {
#ifdef __CUDA_ARCH__
    std::uint32_t pair;
    if constexpr (std::is_same_v<T, bf16>) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(values[1]), "f"(values[0]));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(values[1]), "f"(values[0]));
    }
    return pair;
#else
    return from_float<T>(values[0]).bits | std::uint32_t{from_float<T>(values[1]).bits} << 16U;
#endif
}

// Whether N values of T are whole registers of two.
template <class T, int N>
inline constexpr bool in_pairs = sizeof(T) == 2 && N % 2 == 0;

template <class T, int N>
QK_ANYWHERE void unpack(const Vector<T, N>& packed, float* values) {
    if constexpr (in_pairs<T, N>) {
        const auto pairs = std::bit_cast<Vector<std::uint32_t, N / 2>>(packed);
        for (int i = 0; i < N; i += 2) {
            unpack_pair<T>(pairs.values[i / 2], values + i);
        }
    } else {
        for (int i = 0; i < N; ++i) {
            values[i] = to_float(packed.values[i]);
        }
    }
}

template <class T, int N>
QK_ANYWHERE Vector<T, N> pack(const float* values) {
    if constexpr (in_pairs<T, N>) {
        Vector<std::uint32_t, N / 2> pairs;
        for (int i = 0; i < N; i += 2) {
            pairs.values[i / 2] = pack_pair<T>(values + i);
        }
        return std::bit_cast<Vector<T, N>>(pairs);
    } else {
        Vector<T, N> packed;
        for (int i = 0; i < N; ++i) {
            packed.values[i] = from_float<T>(values[i]);
        }
        return packed;
    }
}

}  // namespace qkprof
