// What the variants share: the arithmetic of one head vector, the choice of the compiled kernel, the reasons to refuse,
// and the counting of table rows for the declarations.
#pragma once

#include "vocabulary.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <type_traits>

namespace qkprof::inline QK_BUILD {

// What every kernel is passed. Row r is one head vector; see Problem.
struct Arguments {
    const void* q;
    void* out;
    const float* gamma;
    const float* cos;
    const float* sin;
    void* scratch;
    unsigned rows;
    unsigned heads;
    unsigned sequence;
    unsigned head_dim;  // for kernels that are not compiled for one
    float eps;
};

inline Arguments arguments_of(const Call& call) {
    const Problem& problem = call.request.problem;
    const Buffers& buffers = call.buffers;
    return {buffers.q,
            buffers.q_out,
            static_cast<const float*>(buffers.gamma_q),
            static_cast<const float*>(buffers.cos),
            static_cast<const float*>(buffers.sin),
            buffers.scratch,
            static_cast<unsigned>(problem.rows()),
            static_cast<unsigned>(problem.heads),
            static_cast<unsigned>(problem.sequence),
            static_cast<unsigned>(problem.head_dim),
            problem.eps};
}

// The address of element `column` of row `row`: the offset is 64 bits wide.
template <class T>
QK_DEVICE const T* q_at(const Arguments& a, unsigned row, unsigned head_dim, unsigned column) {
    return static_cast<const T*>(a.q) + (static_cast<std::size_t>(row) * head_dim + column);
}
template <class T>
QK_DEVICE T* out_at(const Arguments& a, unsigned row, unsigned head_dim, unsigned column) {
    return static_cast<T*>(a.out) + (static_cast<std::size_t>(row) * head_dim + column);
}

QK_DEVICE unsigned position_of(const Arguments& a, unsigned row) { return row / a.heads % a.sequence; }

// 1 / rms of a head vector: rsqrt(sum(x^2) / head_dim + eps).
QK_DEVICE float inverse_rms(float sum_of_squares, int head_dim, float eps) {
    return reciprocal_square_root(sum_of_squares / static_cast<float>(head_dim) + eps);
}

// The half-split rotation of one pair, in place: lo = y[i], hi = y[i + head_dim/2].
QK_DEVICE void rotate(float& lo, float& hi, float cosine, float sine) {
    const float rotated = lo * cosine - hi * sine;
    hi = hi * cosine + lo * sine;
    lo = rotated;
}

// A storage type and a head dim that are known to the compiler, handed to the callable of the functions below.
template <class T, int D>
struct Compiled {
    using type = T;
    static constexpr int head_dim = D;
};

// Calls f(Compiled<T, D>{}) for the problem's type and head dim; the head dim must be one of compiled_head_dims.
inline constexpr int compiled_head_dims[] = {64, 96, 128, 256};

template <class T, class F>
void for_head_dim(std::int64_t head_dim, F f) {
    switch (head_dim) {
        case 64:
            return f(Compiled<T, 64>{});
        case 96:
            return f(Compiled<T, 96>{});
        case 128:
            return f(Compiled<T, 128>{});
        case 256:
            return f(Compiled<T, 256>{});
        default:
            throw LaunchError("No kernel is compiled for head_dim " + std::to_string(head_dim) + ".");
    }
}

template <class F>
void for_compiled(const Problem& problem, F f) {
    switch (problem.dtype) {
        case DataType::f32:
            return for_head_dim<float>(problem.head_dim, f);
        case DataType::bf16:
            return for_head_dim<bf16>(problem.head_dim, f);
        case DataType::f16:
            return for_head_dim<f16>(problem.head_dim, f);
    }
}

// Calls f(std::integral_constant<int, V>{}) for the one of Values that equals `value`.
template <int... Values, class F>
void for_value(int value, F f) {
    if (!((value == Values && (f(std::integral_constant<int, Values>{}), true)) || ...)) {
        throw LaunchError("No kernel is compiled for the value " + std::to_string(value) + " of a parameter.");
    }
}

// Calls f(T{}) for the problem's storage type: for kernels that take the head dim at run time.
template <class F>
void for_type(DataType dtype, F f) {
    switch (dtype) {
        case DataType::f32:
            return f(float{});
        case DataType::bf16:
            return f(bf16{});
        case DataType::f16:
            return f(f16{});
    }
}

// Reasons to refuse, empty where there is none. first_reason gives the first that is not empty.
inline std::string refuse_head_dim(const Problem& problem) {
    const auto* end = std::end(compiled_head_dims);
    if (std::find(std::begin(compiled_head_dims), end, problem.head_dim) != end) {
        return {};
    }
    return "head_dim " + std::to_string(problem.head_dim) + " is not one of 64, 96, 128, 256, for which it is compiled";
}

inline std::string refuse_alignment(const Problem& problem, std::int64_t bytes) {
    if (problem.alignment() >= bytes) {
        return {};
    }
    return "q and out are aligned to " + std::to_string(problem.alignment()) + " bytes and it needs " +
           std::to_string(bytes);
}

inline std::string refuse_shared_bytes(const Request& request, std::int64_t bytes) {
    if (bytes <= request.limits.shared_bytes_per_block) {
        return {};
    }
    return "it needs " + std::to_string(bytes) + " bytes of shared memory a block and the device gives " +
           std::to_string(request.limits.shared_bytes_per_block);
}

inline std::string first_reason(std::initializer_list<std::string> reasons) {
    for (const std::string& reason : reasons) {
        if (!reason.empty()) {
            return reason;
        }
    }
    return {};
}

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// The distinct positions that rows first..last belong to.
inline std::int64_t positions_between(const Problem& problem, std::int64_t first, std::int64_t last) {
    return std::min(last / problem.heads - first / problem.heads + 1, problem.sequence);
}

// How many positions of the first `rows` rows (not 0) begin inside, and not with, a piece of `piece` consecutive rows.
inline std::int64_t positions_begun_inside(const Problem& problem, std::int64_t piece, std::int64_t rows) {
    return (rows - 1) / problem.heads - (rows - 1) / std::lcm(problem.heads, piece);
}

// Summed over all warp-wide accesses, the distinct positions that one access touches, when each access covers
// `rows_per_access` consecutive rows: lanes at the same position ask for the same sectors of the tables, which are
// requested once.
inline std::int64_t positions_touched(const Problem& problem, std::int64_t rows_per_access) {
    const std::int64_t rows = problem.rows();
    if (rows == 0) {
        return 0;
    }
    // An access touches as many positions as it would if it began with one, or one more: either all of the sequence...
    if (problem.sequence <= divide_up(rows_per_access, problem.heads)) {
        const std::int64_t rest = rows % rows_per_access;
        return rows / rows_per_access * problem.sequence +
               (rest > 0 ? positions_between(problem, rows - rest, rows - 1) : 0);
    }
    // ... or distinct ones: one, and one more where a position begins inside the access.
    return divide_up(rows, rows_per_access) + positions_begun_inside(problem, rows_per_access, rows);
}

// Likewise when a warp takes `turns` such accesses, one after the other, and has its positions' table rows loaded at
// each of them, but only once where all its rows are of one position.
inline std::int64_t positions_touched(const Problem& problem, std::int64_t rows_per_access, std::int64_t turns) {
    const std::int64_t touched = positions_touched(problem, rows_per_access);
    const std::int64_t rows_per_warp = rows_per_access * turns;
    const std::int64_t whole = problem.rows() / rows_per_warp * rows_per_warp;  // rows of the warps that are full
    std::int64_t saved = 0;
    if (rows_per_warp <= problem.heads && whole > 0) {
        const std::int64_t mixed = positions_begun_inside(problem, rows_per_warp, whole);
        saved = (whole / rows_per_warp - mixed) * (turns - 1);
    }
    if (whole < problem.rows() && whole / problem.heads == (problem.rows() - 1) / problem.heads) {
        saved += divide_up(problem.rows() - whole, rows_per_access) - 1;
    }
    return touched - saved;
}

// How many bytes after a sector's boundary q and out begin.
inline std::int64_t begin_in_sector(const Problem& problem) { return problem.offset * problem.element_bytes() % 32; }

// Bytes of the sectors that one access of `bytes` contiguous bytes touches.
constexpr std::int64_t sector_bytes(std::int64_t begin, std::int64_t bytes) {
    return (divide_up(begin + bytes, 32) - begin / 32) * 32;
}

// Bytes, in whole sectors, of all of q or out taken in `pieces` contiguous pieces that are multiples of a sector: one
// that begins inside a sector reaches into one more.
inline std::int64_t piecewise_bytes(const Problem& problem, std::int64_t pieces) {
    constexpr std::int64_t sector = 32;
    return problem.tensor_bytes() + (problem.alignment() < sector ? pieces * sector : 0);
}

}  // namespace qkprof::inline QK_BUILD
