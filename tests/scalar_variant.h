// A variant of the tests that computes any problem: a warp takes a head vector, a lane a pair at a time, each number by
// an access of its own. It follows the definition in problem.h and shares no arithmetic with the kernels or the
// reference, so that it judges both; and it can be made to err in the ways that the operation's forms invite.
#pragma once

#define QKPROF_EMULATED_KERNELS
#include "vocabulary.h"

#include <cstdint>
#include <string>

namespace qkprof {

enum class Slip {
    none,
    writes_a_value_head,
    writes_the_padding,
    takes_the_gamma_of_k,
    stands_at_the_next_token,
    pairs_the_other_way,
    rotates_it_all,
    forgets_the_offset_of_gamma,
    reads_past_the_tables,
    reads_what_it_has_overwritten,
    leaves_the_keys,
    spreads_a_nan
};

namespace scalar {

struct Scalar {
    Buffers buffers;
    std::int64_t heads, all_heads, sequence, head_dim, rotary, q_stride, k_stride, positions;
    float eps, gamma_offset;
    PositionType position_type;
    bool narrow_gamma, narrow_tables, interleaved;
    Slip slip;
};

template <class T>
float number(const void* numbers, bool narrow, std::int64_t index) {
    return narrow ? to_float(load(static_cast<const T*>(numbers) + index))
                  : load(static_cast<const float*>(numbers) + index);
}

inline std::int64_t position_of(const Scalar& s, std::int64_t token) {
    if (s.slip == Slip::reads_past_the_tables) {
        return s.positions;
    }
    if (s.slip == Slip::stands_at_the_next_token) {
        ++token;
    }
    switch (s.position_type) {
        case PositionType::int32:
            return load(static_cast<const std::int32_t*>(s.buffers.positions) + token);
        case PositionType::int64:
            return load(static_cast<const std::int64_t*>(s.buffers.positions) + token);
        default:
            return token % s.sequence;
    }
}

template <class T>
void kernel(Scalar s) {
    const std::int64_t token = block() / s.all_heads;
    const std::int64_t head = block() % s.all_heads;
    const bool of_k = head >= s.heads;
    if (of_k && s.slip == Slip::leaves_the_keys) {
        return;
    }
    const std::int64_t first =
        of_k ? token * s.k_stride + (head - s.heads) * s.head_dim : token * s.q_stride + head * s.head_dim;
    const T* x = static_cast<const T*>(of_k ? s.buffers.k : s.buffers.q) + first;
    T* out = static_cast<T*>(of_k ? s.buffers.k_out : s.buffers.q_out) + first;
    const void* gamma = of_k || s.slip == Slip::takes_the_gamma_of_k ? s.buffers.gamma_k : s.buffers.gamma_q;

    float sum = 0;
    for (std::int64_t i = lane(); i < s.head_dim; i += 32) {
        const float value = to_float(load(x + i));
        sum += value * value;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        sum += shuffle_xor(sum, mask);
    }
    const float scale = 1.0F / std::sqrt(sum / static_cast<float>(s.head_dim) + s.eps);
    const auto normalised = [&](std::int64_t i) {
        const float weight = number<T>(gamma, s.narrow_gamma, i);
        return to_float(load(x + i)) * scale *
               (s.slip == Slip::forgets_the_offset_of_gamma ? weight : s.gamma_offset + weight);
    };
    const auto write = [&](std::int64_t i, float value) { store(out + i, from_float<T>(value)); };

    const std::int64_t pairs = (s.slip == Slip::rotates_it_all ? s.head_dim : s.rotary) / 2;
    const bool neighbours = s.interleaved != (s.slip == Slip::pairs_the_other_way);
    const std::int64_t first_entry = position_of(s, token) * (s.rotary / 2);
    for (std::int64_t i = lane(); i < pairs; i += 32) {
        const std::int64_t lo = neighbours ? 2 * i : i;
        const std::int64_t hi = neighbours ? 2 * i + 1 : i + pairs;
        const float cosine = number<T>(s.buffers.cos, s.narrow_tables, first_entry + i % (s.rotary / 2));
        const float sine = number<T>(s.buffers.sin, s.narrow_tables, first_entry + i % (s.rotary / 2));
        const float a = normalised(lo);
        const float b = normalised(hi);
        write(lo, a * cosine - b * sine);
        write(hi, b * cosine + (s.slip == Slip::reads_what_it_has_overwritten ? normalised(lo) : a) * sine);
    }
    for (std::int64_t i = 2 * pairs + lane(); i < s.head_dim; i += 32) {
        write(i, normalised(i));
    }
    if (head == 0 && lane() == 0) {
        if (s.slip == Slip::writes_a_value_head) {
            store(out + s.all_heads * s.head_dim + 1, from_float<T>(1));
        } else if (s.slip == Slip::writes_the_padding) {
            store(out + s.q_stride - 1, from_float<T>(1));
        } else if (s.slip == Slip::spreads_a_nan && token == 3) {
            store(out, load(static_cast<const T*>(s.buffers.k_out) + (token - 1) * s.k_stride));  // key head 0 is NaN
        }
    }
}

}  // namespace scalar

inline Variant scalar_variant(Slip slip = Slip::none) {
    return {.name = "scalar",
            .family = Family::naive,
            .hypothesis = "it is right",
            .parameters = {},
            .features = {std::begin(all_features), std::end(all_features)},
            .refuses = [](const Request&) { return std::string(); },
            .declare = [](const Request&) { return Declaration{}; },
            .scratch_bytes = {},
            .persisting_bytes = {},
            .run =
                [slip](const Call& call) {
                    const Problem& p = call.request.problem;
                    const scalar::Scalar s = {.buffers = call.buffers,
                                              .heads = p.heads,
                                              .all_heads = p.all_heads(),
                                              .sequence = p.sequence,
                                              .head_dim = p.head_dim,
                                              .rotary = p.rotary(),
                                              .q_stride = p.q_stride(),
                                              .k_stride = p.k_stride(),
                                              .positions = p.table_positions(),
                                              .eps = p.eps,
                                              .gamma_offset = p.gamma_offset(),
                                              .position_type = p.positions.type,
                                              .narrow_gamma = p.gamma_dtype != DataType::f32,
                                              .narrow_tables = p.table_dtype != DataType::f32,
                                              .interleaved = p.pairing == Pairing::interleaved,
                                              .slip = slip};
                    const LaunchConfig config = {.kernel = "scalar", .blocks = p.rows(), .threads = 32};
                    if (p.dtype == DataType::f32) {
                        launch(call.stream, config, scalar::kernel<float>, s);
                    } else if (p.dtype == DataType::bf16) {
                        launch(call.stream, config, scalar::kernel<bf16>, s);
                    } else {
                        launch(call.stream, config, scalar::kernel<f16>, s);
                    }
                }};
}

}  // namespace qkprof
