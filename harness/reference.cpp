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
        merge(whole, part);
    }
    return whole;
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

Verification conclude(const Problem& problem, const Comparison& comparison) {
    Verification verification;
    verification.error_norm = relative_norm(comparison);
    verification.wrong_elements = comparison.wrong;
    const double allowed = tolerance_of(problem.dtype).error_norm * std::sqrt(comparison.squared_reference) +
                           std::sqrt(comparison.squared_slack);
    // A NaN norm compares false: not correct.
    verification.correct = comparison.wrong == 0 && std::sqrt(comparison.squared_error) <= allowed;
    if (comparison.first_wrong >= 0) {
        const std::int64_t row = comparison.first_wrong / problem.head_dim;
        const std::int64_t token = row / problem.all_heads();
        verification.first_wrong = WrongElement{.batch = token / problem.sequence,
                                                .position = token % problem.sequence,
                                                .head = row % problem.all_heads(),
                                                .column = comparison.first_wrong % problem.head_dim,
                                                .got = comparison.got,
                                                .expected = comparison.expected};
    }
    return verification;
}

Verification verify_on_host(const Problem& problem, const Buffers& memory) {
    return for_storage(problem.dtype, [&]<class T>(T) {
        const Operands<T> operands(problem, memory);
        return conclude(problem, compare_rows(problem.rows(), [&](std::int64_t row, Comparison& part) {
                            compare_row(operands, row, part);
                        }));
    });
}

Verification verify_copy_on_host(const Problem& problem, const Buffers& memory) {
    return for_storage(problem.dtype, [&]<class T>(T) {
        const Operands<T> operands(problem, memory);
        return conclude(problem, compare_rows(problem.rows(), [&](std::int64_t row, Comparison& part) {
                            compare_copied_row(operands, row, part);
                        }));
    });
}

}  // namespace qkprof
