#include "reference.h"

#include "parallel.h"

#include <limits>
#include <vector>

namespace qkprof {
namespace {

constexpr std::int64_t rows_per_chunk = 1024;

// Compares each row by compare(row, comparison). The parts are merged in order: the sums are the same on every machine.
template <class F>
Comparison compare_rows(std::int64_t rows, F compare) {
    std::vector<Comparison> parts(static_cast<std::size_t>((rows + rows_per_chunk - 1) / rows_per_chunk));
    for_each_chunk(rows, rows_per_chunk, [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
        Comparison part;
        for (std::int64_t row = first; row < last; ++row) {
            compare(row, part);
        }
        parts[static_cast<std::size_t>(chunk)] = part;
    });
    Comparison whole;
    for (const Comparison& part : parts) {
        whole.squared_error += part.squared_error;
        whole.squared_reference += part.squared_reference;
        whole.wrong += part.wrong;
        if (whole.first_wrong < 0) {
            whole.first_wrong = part.first_wrong;
        }
    }
    return whole;
}

template <class T>
Verification verify(const Problem& problem, const T* q, const T* out, std::span<const float> gamma,
                    std::span<const float> cos, std::span<const float> sin) {
    const std::int64_t head_dim = problem.head_dim;
    const auto eps = static_cast<double>(problem.eps);
    const auto table_start = [&](std::int64_t row) { return row / problem.heads % problem.sequence * (head_dim / 2); };
    const Comparison whole = compare_rows(problem.rows(), [&](std::int64_t row, Comparison& part) {
        compare_row(q + row * head_dim, out + row * head_dim, gamma.data(), cos.data() + table_start(row),
                    sin.data() + table_start(row), head_dim, eps, tolerance_of(problem.dtype), row, part);
    });
    if (whole.first_wrong < 0) {
        return conclude(problem, whole, 0, 0);
    }
    const std::int64_t row = whole.first_wrong / head_dim;
    const T* x = q + row * head_dim;
    const ReferenceElement expected =
        reference_element(x, reference_scale(x, head_dim, eps), gamma.data(), cos.data() + table_start(row),
                          sin.data() + table_start(row), head_dim, whole.first_wrong % head_dim);
    return conclude(problem, whole, static_cast<double>(to_float(out[whole.first_wrong])), expected.value);
}

template <class T>
Verification verify_copy(const Problem& problem, const T* q, const T* out) {
    const std::int64_t head_dim = problem.head_dim;
    const Comparison whole = compare_rows(problem.rows(), [&](std::int64_t row, Comparison& part) {
        compare_copied_row(q + row * head_dim, out + row * head_dim, head_dim, row, part);
    });
    if (whole.first_wrong < 0) {
        return conclude(problem, whole, 0, 0);
    }
    return conclude(problem, whole, static_cast<double>(to_float(out[whole.first_wrong])),
                    static_cast<double>(to_float(q[whole.first_wrong])));
}

// Calls f(T{}) for the storage type.
template <class F>
Verification for_storage(DataType dtype, F f) {
    switch (dtype) {
        case DataType::f32:
            return f(float{});
        case DataType::bf16:
            return f(bf16{});
        default:
            return f(f16{});
    }
}

// |out - reference| / |reference|; where the reference is nothing but zeros any error is infinitely large.
double relative_norm(const Comparison& comparison) {
    if (comparison.squared_error == 0) {
        return 0;
    }
    if (comparison.squared_reference == 0) {
        return std::numeric_limits<double>::infinity();
    }
    return std::sqrt(comparison.squared_error / comparison.squared_reference);
}

}  // namespace

Verification conclude(const Problem& problem, const Comparison& comparison, double got, double expected) {
    Verification verification;
    verification.error_norm = relative_norm(comparison);
    verification.wrong_elements = comparison.wrong;
    // A NaN norm compares false: not correct.
    verification.correct = comparison.wrong == 0 && verification.error_norm <= tolerance_of(problem.dtype).error_norm;
    if (comparison.first_wrong >= 0) {
        const std::int64_t row = comparison.first_wrong / problem.head_dim;
        verification.first_wrong = WrongElement{.batch = row / problem.heads / problem.sequence,
                                                .position = row / problem.heads % problem.sequence,
                                                .head = row % problem.heads,
                                                .column = comparison.first_wrong % problem.head_dim,
                                                .got = got,
                                                .expected = expected};
    }
    return verification;
}

Verification verify_on_host(const Problem& problem, const void* q, const void* out, std::span<const float> gamma,
                            std::span<const float> cos, std::span<const float> sin) {
    return for_storage(problem.dtype, [&]<class T>(T) {
        return verify(problem, static_cast<const T*>(q), static_cast<const T*>(out), gamma, cos, sin);
    });
}

Verification verify_copy_on_host(const Problem& problem, const void* q, const void* out) {
    return for_storage(problem.dtype, [&]<class T>(T) {
        return verify_copy(problem, static_cast<const T*>(q), static_cast<const T*>(out));
    });
}

}  // namespace qkprof
