// The paired layout, for the variants that hold both partners of a rotation in one lane, so that no lane needs another
// but for the sum of squares.
//
// A lane group of `lanes` neighbouring lanes holds a head vector. Each lane has `count` vectors of `size` neighbouring
// elements of the lower half and, at the same places, their partners of the upper half: vector c of lane l begins at
// column (c * lanes + l) * size of its half. A warp works on 32 / lanes head vectors at once.
//
// What a lane group cannot divide it either takes in shorter vectors, all lanes busy (paired_layout), or in vectors of
// 16 bytes, the last lanes idle (OneVector): those are what cp.async copies and what shared memory serves without bank
// conflicts.
#pragma once

#include "head_vector.h"

#include <bit>

namespace qkprof::inline QK_BUILD {

struct PairedLayout {
    int lanes;
    int size;
    int count;

    constexpr int rows_at_once() const { return 32 / lanes; }
};

// Vectors of 16 bytes, or of as many as divide what a lane holds: 48 pairs in 8 lanes are three vectors of two.
constexpr PairedLayout paired_layout(int head_dim, int element_bytes, int lanes) {
    const int elements = head_dim / 2 / lanes;
    int size = 16 / element_bytes;
    while (elements % size != 0) {
        size /= 2;
    }
    return {lanes, size, elements / size};
}

// The most lanes, a power of two for the butterfly, that still leave each lane 16 bytes of each half.
constexpr int widest_lanes(int head_dim, int element_bytes) {
    int lanes = 32;
    while (head_dim / 2 % lanes != 0 || head_dim / 2 / lanes * element_bytes < 16) {
        lanes /= 2;
    }
    return lanes;
}

inline PairedLayout widest_layout(const Problem& p) {
    const int element_bytes = bytes_of(p.dtype);
    const int head_dim = static_cast<int>(p.head_dim);
    return paired_layout(head_dim, element_bytes, widest_lanes(head_dim, element_bytes));
}

// What one lane does, for storage type T, head dim D and L lanes a head vector, in vectors of Size elements.
template <class T, int D, int L, int Size = paired_layout(D, sizeof(T), L).size>
struct Paired {
    static_assert(D / 2 % Size == 0 && L <= 32);
    static constexpr int head_dim = D;
    static constexpr int size = Size;
    static constexpr int count = (D / 2 / Size + L - 1) / L;
    static constexpr PairedLayout layout = {L, size, count};
    static constexpr int elements = size * count;  // of each half
    static constexpr unsigned lanes = L;
    static constexpr unsigned rows_at_once = 32 / L;
    using V = Vector<T, size>;
    using Words = Vector<std::uint32_t, size * sizeof(T) / 4>;  // a V that stays packed in its registers

    struct Head {  // as stored
        Words lo[count];
        Words hi[count];
    };
    struct Gamma {
        float lo[elements];
        float hi[elements];
    };
    struct Angles {
        float cosine[elements];
        float sine[elements];
    };

    // Which of the warp's head vectors this lane works on.
    static QK_DEVICE unsigned group() { return lane() / L; }
    // The column of vector c within its half.
    static QK_DEVICE unsigned column(int c) { return (static_cast<unsigned>(c) * L + lane() % L) * size; }

    // Whether this lane has a vector c: always, unless lanes are left over.
    static QK_DEVICE bool holds(int c = 0) { return D / 2 % (L * size) == 0 || column(c) < D / 2; }

    // Zeros for a row past the last, and in an idle lane.
    template <Cache Hint>
    static QK_DEVICE Head load_head(const Arguments& a, unsigned row) {
        Head head = {};
        if (row < a.rows) {
            for (int c = 0; c < count && holds(c); ++c) {
                head.lo[c] = load<Hint>(reinterpret_cast<const Words*>(q_at<T>(a, row, D, column(c))));
                head.hi[c] = load<Hint>(reinterpret_cast<const Words*>(q_at<T>(a, row, D, column(c) + D / 2)));
            }
        }
        return head;
    }

    // Nothing for a row past the last.
    template <Cache Hint>
    static QK_DEVICE void store_head(const Arguments& a, unsigned row, const Head& head) {
        if (row < a.rows) {
            for (int c = 0; c < count && holds(c); ++c) {
                store<Hint>(reinterpret_cast<Words*>(out_at<T>(a, row, D, column(c))), head.lo[c]);
                store<Hint>(reinterpret_cast<Words*>(out_at<T>(a, row, D, column(c) + D / 2)), head.hi[c]);
            }
        }
    }

    template <Cache Hint>
    static QK_DEVICE Gamma load_gamma(const Arguments& a) {
        Gamma gamma = {};
        load_floats<Hint>(a.gamma, gamma.lo);
        load_floats<Hint>(a.gamma + D / 2, gamma.hi);
        return gamma;
    }

    template <Cache Hint>
    static QK_DEVICE Angles load_angles(const Arguments& a, unsigned position) {
        Angles angles = {};
        load_floats<Hint>(a.cos + static_cast<std::size_t>(position) * (D / 2), angles.cosine);
        load_floats<Hint>(a.sin + static_cast<std::size_t>(position) * (D / 2), angles.sine);
        return angles;
    }

    // Over the whole head vector, in every lane of the group. All lanes of the warp take part.
    static QK_DEVICE float sum_of_squares(const Head& head) {
        float sum = 0.0F;
        for (int c = 0; c < count; ++c) {
            float lo[size];
            float hi[size];
            unpack(std::bit_cast<V>(head.lo[c]), lo);
            unpack(std::bit_cast<V>(head.hi[c]), hi);
            for (int i = 0; i < size; ++i) {
                sum += lo[i] * lo[i] + hi[i] * hi[i];
            }
        }
        return sum_lanes<L>(sum);
    }

    static QK_DEVICE Head apply(Head head, float scale, const Gamma& gamma, const Angles& angles) {
        for (int c = 0; c < count; ++c) {
            float lo[size];
            float hi[size];
            unpack(std::bit_cast<V>(head.lo[c]), lo);
            unpack(std::bit_cast<V>(head.hi[c]), hi);
            for (int i = 0; i < size; ++i) {
                const int e = c * size + i;
                lo[i] *= scale * gamma.lo[e];
                hi[i] *= scale * gamma.hi[e];
                rotate(lo[i], hi[i], angles.cosine[e], angles.sine[e]);
            }
            head.lo[c] = std::bit_cast<Words>(pack<T, size>(lo));
            head.hi[c] = std::bit_cast<Words>(pack<T, size>(hi));
        }
        return head;
    }

    static QK_DEVICE Head norm_and_rotate(const Head& head, const Gamma& gamma, const Angles& angles, float eps) {
        return apply(head, inverse_rms(sum_of_squares(head), D, eps), gamma, angles);
    }

  private:
    // This lane's `elements` numbers of a row of D/2, in accesses of at most 16 bytes.
    template <Cache Hint>
    static QK_DEVICE void load_floats(const float* row, float* values) {
        constexpr int piece = size < 4 ? size : 4;
        for (int c = 0; c < count && holds(c); ++c) {
            for (int i = 0; i < size; i += piece) {
                unpack(load<Hint>(reinterpret_cast<const Vector<float, piece>*>(row + column(c) + i)), values);
                values += piece;
            }
        }
    }
};

// One vector of each half a lane, as many lanes as that takes; those that the butterfly adds are idle: 4 of 16 for a
// head dim of 96 in f32.
template <class T, int D, int Size = 16 / static_cast<int>(sizeof(T))>
using OneVector = Paired<T, D, static_cast<int>(std::bit_ceil(static_cast<unsigned>(D / 2 / Size))), Size>;

// The body of a kernel that computes one head vector a lane group.
template <class P, Cache Data, Cache Constant>
QK_DEVICE void one_head_a_group(const Arguments& a) {
    const unsigned first = (block() * (threads() / 32) + warp()) * P::rows_at_once;
    if (first >= a.rows) {
        return;  // the whole warp
    }
    const unsigned row = first + P::group();
    const auto head = P::template load_head<Data>(a, row);
    const auto angles = P::template load_angles<Constant>(a, position_of(a, row < a.rows ? row : a.rows - 1));
    const auto gamma = P::template load_gamma<Constant>(a);
    P::template store_head<Data>(a, row, P::norm_and_rotate(head, gamma, angles, a.eps));
}

// Calls f(Paired<T, D, L>{}) for the problem's type and head dim, with the widest lanes.
template <class F>
void for_widest(const Problem& problem, F f) {
    for_compiled(problem, [&](auto compiled) {
        using C = decltype(compiled);
        using T = typename C::type;
        f(Paired<T, C::head_dim, widest_lanes(C::head_dim, sizeof(T))>{});
    });
}

inline std::string refuse_paired(const Problem& problem) {
    const std::string reason = refuse_head_dim(problem);
    return reason.empty() ? refuse_alignment(problem, widest_layout(problem).size * problem.element_bytes()) : reason;
}

// Bytes in whole sectors of one pass over q or out, in a layout without idle lanes.
inline std::int64_t paired_tensor_bytes(const Problem& p, const PairedLayout& layout) {
    const std::int64_t segment = std::int64_t{layout.lanes} * layout.size * p.element_bytes();
    return p.rows() * 2 * layout.count * sector_bytes(begin_in_sector(p), segment);
}

// Bytes that a warp requests for gamma, and for both table rows of a position. Lanes of 8 elements ask for them in two
// accesses, 32 bytes apart from lane to lane: each touches every sector.
inline std::int64_t paired_constant_bytes(const Problem& p, const PairedLayout& layout) {
    return p.gamma_bytes() * (layout.size == 8 ? 2 : 1);
}

// What one_head_a_group requests.
inline Declaration declare_one_head_a_group(const Problem& p) {
    const PairedLayout layout = widest_layout(p);
    const std::int64_t warps = divide_up(p.rows(), layout.rows_at_once());
    const std::int64_t constants = warps + positions_touched(p, layout.rows_at_once());
    return {.launches = p.rows() > 0 ? 1 : 0,
            .load_bytes = paired_tensor_bytes(p, layout) + constants * paired_constant_bytes(p, layout),
            .store_bytes = paired_tensor_bytes(p, layout),
            .shared_bytes = 0};
}

inline std::int64_t one_head_blocks(const Problem& p, int threads) {
    return divide_up(p.rows(), std::int64_t{threads} / 32 * widest_layout(p).rows_at_once());
}

}  // namespace qkprof::inline QK_BUILD
