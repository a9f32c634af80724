// For the variants that a person writes first: a warp takes a row, a lane one element at a time, 32 neighbouring
// elements an access. Any even head dim, any alignment.
#pragma once

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {

QK_DEVICE unsigned row_of_warp() { return block() * (threads() / 32) + warp(); }

inline std::string refuse_odd_head_dim(const Problem& problem) {
    return problem.head_dim % 2 == 0 ? std::string()
                                     : "head_dim " + std::to_string(problem.head_dim) + " has no two halves";
}

// `count` rows of `elements` elements, each `stride` elements after the last one.
struct Rows {
    std::int64_t count;
    std::int64_t stride;
    std::int64_t elements;
    std::int64_t element_bytes;
    std::int64_t begin = 0;  // bytes that the first is after a sector's boundary
};

// Bytes of the sectors that warps touch in going through the rows, each row by one warp, a lane an element at a time.
inline std::int64_t scalar_pass_bytes(const Rows& rows) {
    constexpr std::int64_t period = 16;  // rows, after which they lie in their sectors as before
    std::int64_t whole = 0;
    std::int64_t rest = 0;
    for (std::int64_t row = 0; row < period; ++row) {
        for (std::int64_t column = 0; column < rows.elements; column += 32) {
            const std::int64_t begin = rows.begin + (row * rows.stride + column) * rows.element_bytes;
            const std::int64_t bytes =
                sector_bytes(begin, std::min<std::int64_t>(32, rows.elements - column) * rows.element_bytes);
            whole += bytes;
            rest += row < rows.count % period ? bytes : 0;
        }
    }
    return rows.count / period * whole + rest;
}

// The rows of q, of out, or of a dense intermediate of their size.
inline Rows whole_rows(const Problem& p, std::int64_t begin) {
    return {p.rows(), p.head_dim, p.head_dim, p.element_bytes(), begin};
}

// The halves of such rows, where the first of them begins at `begin`.
inline Rows half_rows(const Problem& p, std::int64_t begin) {
    return {p.rows(), p.head_dim, p.head_dim / 2, p.element_bytes(), begin};
}

// The row of both tables of each row: each position has as many rows. The table of sines begins where that of cosines
// ends, inside a sector for some head dims.
inline std::int64_t scalar_table_bytes(const Problem& p) {
    const std::int64_t half = p.head_dim / 2;
    return p.batch * p.heads *
           (scalar_pass_bytes({p.sequence, half, half, 4}) +
            scalar_pass_bytes({p.sequence, half, half, 4, p.table_bytes() % 32}));
}

// Gamma, for each row.
inline std::int64_t scalar_gamma_bytes(const Problem& p) {
    return p.rows() * scalar_pass_bytes({1, p.head_dim, p.head_dim, 4});
}

}  // namespace qkprof::inline QK_BUILD
