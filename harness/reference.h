// The reference in double and the bounds of a correct result. Written for any compiler, so that the emulated device
// runs it on the host and the CUDA device on the GPU: one formula, two drivers.
#pragma once

#include "input.h"
#include "measurement.h"
#include "vocabulary/number.h"

#include <cmath>

namespace qkprof {

// Bounds. The norm catches an error that is everywhere and small; the element bound catches one that is anywhere.
struct Tolerance {
    double error_norm;  // of |out - reference| / |reference| over the whole output
    double element;     // |out - reference| <= element * (|y[i]| + |y[partner]|) + tiny for each element
    double tiny;        // what rounding adds where results are subnormal, and the unit of the last place is absolute
};

// f32: a sum of 256 squares, rsqrt.approx (2 ulp) and five roundings. 16-bit types: up to four intermediates rounded to
// the type (naive_primitives stores so many) beside the output: 6 unit roundoffs. Among subnormals a rounding is half
// the smallest of them: x * scale, times gamma, both of a pair, turned (at most by sqrt 2), their two products and the
// result come to less than four halves and four halves: 4 of the smallest.
constexpr Tolerance tolerance_of(DataType dtype) {
    switch (dtype) {
        case DataType::f32:
            return {5e-7, 32 * 0x1p-24, 4 * 0x1p-149};
        case DataType::bf16:
            return {4e-3, 6 * 0x1p-8, 4 * 0x1p-133};
        default:
            return {5e-4, 6 * 0x1p-11, 4 * 0x1p-24};
    }
}

QK_ANYWHERE bool is_finite(double value) { return value - value == 0; }  // false of an infinity and of a NaN

// 1 / rms of a head vector, and the relative error that arithmetic in f32 may have beyond a few roundings.
struct ReferenceScale {
    double value;
    double slack;
};

// The operation is defined in f32, so what f32 cannot hold counts as what it becomes there: a square overflows to
// infinity, which makes the scale 0, or rounds to a subnormal or to 0; so does the sum overflow. In between all is
// double. A subnormal square, rounded or not (a fused multiply-add does not), is uncertain by half of 2^-149, and so
// is their mean; dividing adds as much: the mean is uncertain by 2^-149. Relative to mean + eps that is more than
// the error that it makes in the scale, as long as it is below 0.6; with eps at 1e-6 it is nothing.
template <class T>
QK_ANYWHERE ReferenceScale reference_scale(const T* x, std::int64_t head_dim, double eps) {
    constexpr double least_normal = 0x1p-126;
    constexpr double largest = 0x1.fffffep127;
    double sum = 0;
    for (std::int64_t i = 0; i < head_dim; ++i) {
        const float value = to_float(x[i]);
        const double square = static_cast<double>(value) * static_cast<double>(value);
        sum += square >= least_normal && square <= largest ? square : static_cast<double>(value * value);
    }
    const double mean =
        (sum > largest ? std::numeric_limits<double>::infinity() : sum) / static_cast<double>(head_dim) + eps;
    return {1.0 / sqrt(mean), 0x1p-149 / mean};
}

// A problem in memory: the inputs as they were before the call, and the results. Plain numbers, so that a kernel can be
// passed it. T is the storage type.
template <class T>
struct Operands {
    Operands(const Problem& problem, const Buffers& memory)
        : q(static_cast<const T*>(memory.q)),
          k(static_cast<const T*>(memory.k)),
          q_out(static_cast<const T*>(memory.q_out)),
          k_out(static_cast<const T*>(memory.k_out)),
          gamma_q(memory.gamma_q),
          gamma_k(memory.gamma_k),
          cos(memory.cos),
          sin(memory.sin),
          positions(memory.positions),
          position_type(problem.positions.type),
          narrow_gamma(problem.gamma_dtype != DataType::f32),
          narrow_tables(problem.table_dtype != DataType::f32),
          interleaved(problem.pairing == Pairing::interleaved),
          rows(problem.rows()),
          heads(problem.heads),
          all_heads(problem.all_heads()),
          sequence(problem.sequence),
          head_dim(problem.head_dim),
          pairs(problem.rotary() / 2),
          q_stride(problem.q_stride()),
          k_stride(problem.k_stride()),
          eps(static_cast<double>(problem.eps)),
          gamma_offset(static_cast<double>(problem.gamma_offset())),
          tolerance(tolerance_of(problem.dtype)) {}

    const T* q;
    const T* k;
    const T* q_out;
    const T* k_out;
    const void* gamma_q;
    const void* gamma_k;
    const void* cos;
    const void* sin;
    const void* positions;
    PositionType position_type;
    bool narrow_gamma;
    bool narrow_tables;
    bool interleaved;
    std::int64_t rows;
    std::int64_t heads;
    std::int64_t all_heads;
    std::int64_t sequence;
    std::int64_t head_dim;
    std::int64_t pairs;
    std::int64_t q_stride;
    std::int64_t k_stride;
    double eps;
    double gamma_offset;
    Tolerance tolerance;

    // A number of gamma or of a table, which are in f32 or, where they are narrow, in the storage type.
    QK_ANYWHERE static double number(const void* memory, bool narrow, std::int64_t index) {
        return static_cast<double>(narrow ? to_float(static_cast<const T*>(memory)[index])
                                          : static_cast<const float*>(memory)[index]);
    }

    QK_ANYWHERE std::int64_t position(std::int64_t token) const {
        switch (position_type) {
            case PositionType::int32:
                return static_cast<const std::int32_t*>(positions)[token];
            case PositionType::int64:
                return static_cast<const std::int64_t*>(positions)[token];
            default:
                return token % sequence;
        }
    }
};

// One row of them.
template <class T>
struct HeadVector {
    QK_ANYWHERE HeadVector(const Operands<T>& operands, std::int64_t row) {
        const std::int64_t token = row / operands.all_heads;
        const std::int64_t head = row % operands.all_heads;
        const bool of_key = head >= operands.heads;
        const std::int64_t first = of_key ? token * operands.k_stride + (head - operands.heads) * operands.head_dim
                                          : token * operands.q_stride + head * operands.head_dim;
        x = (of_key ? operands.k : operands.q) + first;
        out = (of_key ? operands.k_out : operands.q_out) + first;
        gamma = of_key ? operands.gamma_k : operands.gamma_q;
        first_entry = operands.position(token) * operands.pairs;
    }

    const T* x;
    const T* out;
    const void* gamma;
    std::int64_t first_entry;  // of its position in the tables
};

struct ReferenceElement {
    double value;      // out[column]
    double magnitude;  // |y[column]| + |y[partner]|: what the element bound is relative to
};

// out[column] of one row.
template <class T>
QK_ANYWHERE ReferenceElement reference_element(const Operands<T>& o, const HeadVector<T>& row, double scale,
                                               std::int64_t column) {
    const auto normalised = [&](std::int64_t i) {
        return static_cast<double>(to_float(row.x[i])) * scale *
               (o.gamma_offset + o.number(row.gamma, o.narrow_gamma, i));
    };
    const double own = normalised(column);
    if (column >= 2 * o.pairs) {  // not rotated
        return {own, own < 0 ? -own : own};
    }
    const bool upper = o.interleaved ? column % 2 != 0 : column >= o.pairs;
    const std::int64_t distance = o.interleaved ? 1 : o.pairs;
    const double other = normalised(upper ? column - distance : column + distance);
    const std::int64_t entry = row.first_entry + (o.interleaved ? column / 2 : upper ? column - o.pairs : column);
    const double turned = other * o.number(o.sin, o.narrow_tables, entry);
    return {own * o.number(o.cos, o.narrow_tables, entry) + (upper ? turned : -turned),
            (own < 0 ? -own : own) + (other < 0 ? -other : other)};
}

// What a comparison adds up over rows. Merge order does not matter but for rounding in the sums.
struct Comparison {
    double squared_error = 0;
    double squared_reference = 0;
    double squared_slack = 0;  // of what each element's bound has beside its relative part
    std::int64_t wrong = 0;
    std::int64_t first_wrong = -1;  // row * head_dim + column; -1: none
    double got = 0;                 // there
    double expected = 0;
};

QK_ANYWHERE void merge(Comparison& whole, const Comparison& part) {
    whole.squared_error += part.squared_error;
    whole.squared_reference += part.squared_reference;
    whole.squared_slack += part.squared_slack;
    whole.wrong += part.wrong;
    if (part.first_wrong >= 0 && (whole.first_wrong < 0 || part.first_wrong < whole.first_wrong)) {
        whole.first_wrong = part.first_wrong;
        whole.got = part.got;
        whole.expected = part.expected;
    }
}

// Adds one element. One that must not be finite enters no norm: it is right or wrong.
QK_ANYWHERE void add_element(Comparison& comparison, std::int64_t index, double got, double expected, double slack,
                             bool right) {
    if (is_finite(expected)) {
        comparison.squared_error += (got - expected) * (got - expected);
        comparison.squared_reference += expected * expected;
        comparison.squared_slack += slack * slack;
    }
    if (!right) {
        merge(comparison, {.wrong = 1, .first_wrong = index, .got = got, .expected = expected});
    }
}

// Compares one row of the results with the reference and adds to `comparison`.
template <class T>
QK_ANYWHERE void compare_row(const Operands<T>& operands, std::int64_t row, Comparison& comparison) {
    const HeadVector<T> vector(operands, row);
    const ReferenceScale scale = reference_scale(vector.x, operands.head_dim, operands.eps);
    for (std::int64_t column = 0; column < operands.head_dim; ++column) {
        const ReferenceElement expected = reference_element(operands, vector, scale.value, column);
        const double got = to_float(vector.out[column]);
        const double slack = scale.slack * expected.magnitude + operands.tolerance.tiny;
        const double distance = got < expected.value ? expected.value - got : got - expected.value;
        const bool both_nan = got != got && expected.value != expected.value;
        const bool right = is_finite(expected.value)
                               ? distance <= operands.tolerance.element * expected.magnitude + slack  // not of a NaN
                               : both_nan || got == expected.value;
        add_element(comparison, row * operands.head_dim + column, got, expected.value, slack, right);
    }
}

// The same for a ceiling, which copies: the results must equal the inputs to the bit.
template <class T>
QK_ANYWHERE void compare_copied_row(const Operands<T>& operands, std::int64_t row, Comparison& comparison) {
    const HeadVector<T> vector(operands, row);
    for (std::int64_t column = 0; column < operands.head_dim; ++column) {
        add_element(comparison, row * operands.head_dim + column, to_float(vector.out[column]),
                    to_float(vector.x[column]), 0, same_bits(vector.out[column], vector.x[column]));
    }
}

// The verdict of a whole comparison.
Verification conclude(const Problem& problem, const Comparison& comparison);

// Compares all rows on the host, in as many threads as the machine has. memory.q and memory.k are the inputs as they
// were before the call.
Verification verify_on_host(const Problem& problem, const Buffers& memory);

// The same for a ceiling: compares the results with the inputs.
Verification verify_copy_on_host(const Problem& problem, const Buffers& memory);

}  // namespace qkprof
