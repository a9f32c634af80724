#include "reference.h"

#include "parallel.h"

#include <limits>
#include <vector>

namespace qkprof {
namespace {

constexpr std::int64_t rows_per_chunk = 1024;

// The tables' rows for the position of a row of q.
struct TableRows {
    const float* cos;
    const float* sin;
};

template <class T>
class HostComparison {
  public:
    HostComparison(const Problem& problem, const T* q, const T* out, std::span<const float> gamma,
                   std::span<const float> cos, std::span<const float> sin)
        : problem_(problem), q_(q), out_(out), gamma_(gamma), cos_(cos), sin_(sin) {}

    Verification run() const {
        const std::int64_t rows = problem_.rows();
        std::vector<Comparison> parts(static_cast<std::size_t>((rows + rows_per_chunk - 1) / rows_per_chunk));
        for_each_chunk(rows, rows_per_chunk, [&](std::int64_t chunk, std::int64_t first, std::int64_t last) {
            Comparison part;
            for (std::int64_t row = first; row < last; ++row) {
                const TableRows tables = tables_of(row);
                const std::int64_t start = row * problem_.head_dim;
                compare_row(q_ + start, out_ + start, gamma_.data(), tables.cos, tables.sin, problem_.head_dim,
                            static_cast<double>(problem_.eps), tolerance_of(problem_.dtype), row, part);
            }
            parts[static_cast<std::size_t>(chunk)] = part;
        });
        Comparison whole;
        for (const Comparison& part : parts) {  // in order: the sums are the same on every machine
            whole.squared_error += part.squared_error;
            whole.squared_reference += part.squared_reference;
            whole.wrong += part.wrong;
            if (whole.first_wrong < 0) {
                whole.first_wrong = part.first_wrong;
            }
        }
        if (whole.first_wrong < 0) {
            return conclude(problem_, whole, 0, 0);
        }
        return conclude(problem_, whole, static_cast<double>(to_float(out_[whole.first_wrong])),
                        expected(whole.first_wrong));
    }

  private:
    TableRows tables_of(std::int64_t row) const {
        const std::int64_t start = row / problem_.heads % problem_.sequence * (problem_.head_dim / 2);
        return {cos_.data() + start, sin_.data() + start};
    }

    double expected(std::int64_t index) const {
        const std::int64_t row = index / problem_.head_dim;
        const T* x = q_ + row * problem_.head_dim;
        const double scale = reference_scale(x, problem_.head_dim, static_cast<double>(problem_.eps));
        const TableRows tables = tables_of(row);
        return reference_element(x, scale, gamma_.data(), tables.cos, tables.sin, problem_.head_dim,
                                 index % problem_.head_dim)
            .value;
    }

    const Problem& problem_;
    const T* q_;
    const T* out_;
    std::span<const float> gamma_;
    std::span<const float> cos_;
    std::span<const float> sin_;
};

// |out - reference| / |reference|; where the reference is nothing but zeros any error is infinitely large.
double relative_norm(const Comparison& comparison) {
    if (comparison.squared_reference == 0 && comparison.squared_error != 0) {
        return std::numeric_limits<double>::infinity();
    }
    return comparison.squared_error == 0 ? 0 : std::sqrt(comparison.squared_error / comparison.squared_reference);
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
    const auto run = [&]<class T>(const T* typed_q) {
        return HostComparison<T>(problem, typed_q, static_cast<const T*>(out), gamma, cos, sin).run();
    };
    switch (problem.dtype) {
        case DataType::f32:
            return run(static_cast<const float*>(q));
        case DataType::bf16:
            return run(static_cast<const bf16*>(q));
        default:
            return run(static_cast<const f16*>(q));
    }
}

}  // namespace qkprof
