// For the variants that a person writes first: a warp takes a row, a lane one element at a time, 32 neighbouring
// elements an access. Any even head dim, any alignment.
#pragma once

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {

QK_DEVICE unsigned row_of_warp() { return block() * (threads() / 32) + warp(); }

// Calls f(i) for each i < count, 32 neighbouring ones at a time. Where the lanes would make different numbers of turns,
// nvcc may unroll the loop so that a warp's access is split between copies of its body: there all lanes make as many.
template <class F>
QK_DEVICE void for_each_column(unsigned count, F f) {
    if (count % 32 == 0) {
        for (unsigned i = lane(); i < count; i += 32) {
            f(i);
        }
        return;
    }
    for (unsigned first = 0; first < count; first += 32) {
        const unsigned i = first + lane();
        if (i < count) {
            f(i);
        }
    }
}

inline std::string refuse_odd_rotary(const Problem& problem) {
    return problem.rotary() % 2 == 0 ? std::string()
                                     : "head_dim " + std::to_string(problem.head_dim) + " has no two halves";
}

// The accesses that take a warp through `count` elements, each `step` elements after the last one.
inline std::vector<Instruction> scalar_pass(std::int64_t first, std::int64_t count, std::int64_t step = 1) {
    std::vector<Instruction> instructions;
    for (std::int64_t i = 0; i < count; ++i) {
        if (i % 32 == 0) {
            instructions.emplace_back();
        }
        instructions.back().push_back({first + i * step, 1});
    }
    return instructions;
}

// Bytes of one pass over an intermediate, in which the rows of `p` lie one behind the other.
inline std::int64_t dense_bytes_requested(const Problem& p, std::span<const Instruction> pass) {
    Problem dense;
    dense.batch = p.batch;
    dense.sequence = p.sequence;
    dense.heads = p.all_heads();
    dense.head_dim = p.head_dim;
    dense.dtype = p.dtype;
    return tensor_bytes_requested(dense, pass);
}

// Gamma, for each row.
inline std::int64_t scalar_gamma_bytes(const Problem& p) {
    return p.rows() * requested_bytes(scalar_pass(0, p.head_dim), 0, bytes_of(p.gamma_dtype));
}

// The rows of both tables, and the ids, for each row.
inline std::int64_t scalar_table_bytes(const Problem& p) {
    return TableRequests(p, scalar_pass(0, p.rotary() / 2)).bytes(1);
}

}  // namespace qkprof::inline QK_BUILD
