// The reference in double and the bounds of a correct result. Written for any compiler, so that the emulated device
// runs it on the host and the CUDA device on the GPU: one formula, two drivers.
#pragma once

#include "measurement.h"
#include "vocabulary/number.h"

#include <cmath>
#include <span>

namespace qkprof {

// Bounds. The norm catches an error that is everywhere and small; the element bound catches one that is anywhere.
struct Tolerance {
    double error_norm;  // of |out - reference| / |reference| over the whole output
    double element;     // |out - reference| <= element * (|y[i]| + |y[partner]|) + tiny for each element
    double tiny;        // the smallest subnormal of the storage type
};

// f32: a sum of 256 squares, rsqrt.approx (2 ulp) and five roundings. 16-bit types: up to four intermediates rounded to
// the type (naive_primitives stores so many) beside the output: 6 unit roundoffs.
constexpr Tolerance tolerance_of(DataType dtype) {
    switch (dtype) {
        case DataType::f32:
            return {5e-7, 32 * 0x1p-24, 0x1p-149};
        case DataType::bf16:
            return {4e-3, 6 * 0x1p-8, 0x1p-133};
        default:
            return {5e-4, 6 * 0x1p-11, 0x1p-24};
    }
}

// 1 / rms of the row x[0..head_dim) in double.
template <class T>
QK_ANYWHERE double reference_scale(const T* x, std::int64_t head_dim, double eps) {
    double sum = 0;
    for (std::int64_t i = 0; i < head_dim; ++i) {
        const double value = to_float(x[i]);
        sum += value * value;
    }
    return 1.0 / sqrt(sum / static_cast<double>(head_dim) + eps);
}

struct ReferenceElement {
    double value;      // out[column]
    double magnitude;  // |y[column]| + |y[partner]|: what the element bound is relative to
};

// out[column] of one row; cos and sin are the table rows of its position.
template <class T>
QK_ANYWHERE ReferenceElement reference_element(const T* x, double scale, const float* gamma, const float* cos,
                                               const float* sin, std::int64_t head_dim, std::int64_t column) {
    const std::int64_t half = head_dim / 2;
    const bool upper = column >= half;
    const std::int64_t partner = upper ? column - half : column + half;
    const std::int64_t entry = upper ? column - half : column;
    const double own = static_cast<double>(to_float(x[column])) * scale * static_cast<double>(gamma[column]);
    const double other = static_cast<double>(to_float(x[partner])) * scale * static_cast<double>(gamma[partner]);
    const double turned = other * static_cast<double>(sin[entry]);
    return {own * static_cast<double>(cos[entry]) + (upper ? turned : -turned),
            (own < 0 ? -own : own) + (other < 0 ? -other : other)};
}

// What a comparison adds up over rows. Merge order does not matter but for rounding in the sums.
struct Comparison {
    double squared_error = 0;
    double squared_reference = 0;
    std::int64_t wrong = 0;
    std::int64_t first_wrong = -1;  // index of the element; -1: none
};

// Compares row `row` of `out` with the reference and adds to `comparison`. q and out point at the row.
template <class T>
QK_ANYWHERE void compare_row(const T* q, const T* out, const float* gamma, const float* cos, const float* sin,
                             std::int64_t head_dim, double eps, Tolerance tolerance, std::int64_t row,
                             Comparison& comparison) {
    const double scale = reference_scale(q, head_dim, eps);
    for (std::int64_t column = 0; column < head_dim; ++column) {
        const ReferenceElement expected = reference_element(q, scale, gamma, cos, sin, head_dim, column);
        const double difference = static_cast<double>(to_float(out[column])) - expected.value;
        const double distance = difference < 0 ? -difference : difference;
        comparison.squared_error += difference * difference;
        comparison.squared_reference += expected.value * expected.value;
        if (!(distance <= tolerance.element * expected.magnitude + tolerance.tiny)) {  // NaN is wrong too
            ++comparison.wrong;
            const std::int64_t index = row * head_dim + column;
            if (comparison.first_wrong < 0 || index < comparison.first_wrong) {
                comparison.first_wrong = index;
            }
        }
    }
}

// The same for a ceiling, which copies: `out` must equal q to the bit.
template <class T>
QK_ANYWHERE void compare_copied_row(const T* q, const T* out, std::int64_t head_dim, std::int64_t row,
                                    Comparison& comparison) {
    for (std::int64_t column = 0; column < head_dim; ++column) {
        const double expected = to_float(q[column]);
        const double difference = static_cast<double>(to_float(out[column])) - expected;
        comparison.squared_error += difference * difference;
        comparison.squared_reference += expected * expected;
        if (difference != 0) {  // true of NaN
            ++comparison.wrong;
            const std::int64_t index = row * head_dim + column;
            if (comparison.first_wrong < 0 || index < comparison.first_wrong) {
                comparison.first_wrong = index;
            }
        }
    }
}

// The verdict of a whole comparison. `got` and `expected` are those of comparison.first_wrong, if there is one.
Verification conclude(const Problem& problem, const Comparison& comparison, double got, double expected);

// Compares all rows on the host, in as many threads as the machine has.
// q and out: problem.elements() elements of the storage type; tables as Problem lays them out.
Verification verify_on_host(const Problem& problem, const void* q, const void* out, std::span<const float> gamma,
                            std::span<const float> cos, std::span<const float> sin);

// The same for a ceiling: compares out with q.
Verification verify_copy_on_host(const Problem& problem, const void* q, const void* out);

}  // namespace qkprof
