// The paired layout, for the variants that hold both partners of a rotation in one lane, so that no lane needs another
// but for the sum of squares.
//
// A lane group of `lanes` neighbouring lanes holds a head vector. Each lane has `count` pairs of vectors of `size`
// neighbouring elements. Pair c of lane l is at place (c * lanes + l) * size of 0 .. head_dim/2: where all of the head
// vector rotates in halves, its lower vector begins at that column and its upper vector head_dim/2 further. What else a
// form asks for changes only where the two vectors of a pair lie and which entries of the tables turn them
// (lower_column, upper_column, load_angles). A warp works on 32 / lanes head vectors at once.
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

// The columns of the two vectors of the pair at `place`. Rotated in halves, the pairs of the first rotary_dim columns
// come first; the columns behind them, which do not rotate, are pairs of halves in turn.
template <Form F>
QK_ANYWHERE constexpr unsigned lower_column(unsigned place, unsigned rotary_dim) {
    return F == Form::half_split && place >= rotary_dim / 2 ? place + rotary_dim / 2 : place;
}
template <Form F>
QK_ANYWHERE constexpr unsigned upper_column(unsigned place, unsigned rotary_dim, unsigned head_dim) {
    return F == Form::half_split && place < rotary_dim / 2 ? place + rotary_dim / 2 : place + head_dim / 2;
}

// What one lane does, for storage type T, head dim D and L lanes a head vector, in vectors of Size elements. Whole: the
// compiler knows that all of the head vector rotates.
template <class T, int D, int L, int Size = paired_layout(D, sizeof(T), L).size, Form F = Form::plain,
          bool Whole = F == Form::plain>
struct Paired {
    static_assert(D / 2 % Size == 0 && L <= 32);
    static constexpr Form form = F;
    static constexpr int head_dim = D;
    static constexpr int size = Size;
    static constexpr int count = (D / 2 / Size + L - 1) / L;
    static constexpr PairedLayout layout = {L, size, count};
    static constexpr int elements = size * count;  // of each half
    static constexpr unsigned lanes = L;
    static constexpr unsigned rows_at_once = 32 / L;
    using type = T;
    using V = Vector<T, size>;
    // A V that stays packed in its registers.
    using Words = std::conditional_t<sizeof(V) >= 4, Vector<std::uint32_t, sizeof(V) < 4 ? 1 : sizeof(V) / 4>,
                                     Vector<std::uint16_t, 1>>;

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
    static QK_DEVICE unsigned place(int c) { return (static_cast<unsigned>(c) * L + lane() % L) * size; }
    static QK_DEVICE unsigned rotary_dim(const Arguments& a) { return Whole ? D : a.rotary_dim; }
    static QK_DEVICE unsigned lower(const Arguments& a, int c) { return lower_column<F>(place(c), rotary_dim(a)); }
    static QK_DEVICE unsigned upper(const Arguments& a, int c) { return upper_column<F>(place(c), rotary_dim(a), D); }

    // Whether this lane has a pair c: always, unless lanes are left over.
    static QK_DEVICE bool holds(int c = 0) { return D / 2 % (L * size) == 0 || place(c) < D / 2; }

    // Whether the lower (the upper) vector of pair c rotates: rotated in halves, both do or neither.
    static QK_DEVICE bool lower_turns(const Arguments& a, int c) {
        return Whole || lower(a, c) < (F == Form::half_split ? a.rotary_dim / 2 : a.rotary_dim);
    }
    static QK_DEVICE bool upper_turns(const Arguments& a, int c) { return Whole || upper(a, c) < a.rotary_dim; }

    // Of an existing row. Zeros in an idle lane.
    template <Cache Hint>
    static QK_DEVICE Head load_existing(const Arguments& a, unsigned row QK_CALLER) {
        Head head = {};
        for (int c = 0; c < count && holds(c); ++c) {
            const T* lo = q_at<T, F>(a, row, D, lower(a, c));
            const T* hi = q_at<T, F>(a, row, D, upper(a, c));
            head.lo[c] = load<Hint>(reinterpret_cast<const Words*>(lo) QK_FROM_CALLER);
            head.hi[c] = load<Hint>(reinterpret_cast<const Words*>(hi) QK_FROM_CALLER);
        }
        return head;
    }
    // Zeros for a row past the last.
    template <Cache Hint>
    static QK_DEVICE Head load_head(const Arguments& a, unsigned row QK_CALLER) {
        return row < a.rows ? load_existing<Hint>(a, row QK_FROM_CALLER) : Head{};
    }

    // To an existing row.
    template <Cache Hint>
    static QK_DEVICE void store_existing(const Arguments& a, unsigned row, const Head& head) {
        for (int c = 0; c < count && holds(c); ++c) {
            store<Hint>(reinterpret_cast<Words*>(out_at<T, F>(a, row, D, lower(a, c))), head.lo[c]);
            store<Hint>(reinterpret_cast<Words*>(out_at<T, F>(a, row, D, upper(a, c))), head.hi[c]);
        }
    }
    // Nothing for a row past the last.
    template <Cache Hint>
    static QK_DEVICE void store_head(const Arguments& a, unsigned row, const Head& head) {
        if (row < a.rows) {
            store_existing<Hint>(a, row, head);
        }
    }

    // Of an existing row: the plain form has one gamma for all.
    template <Cache Hint>
    static QK_DEVICE Gamma load_gamma(const Arguments& a, unsigned row) {
        return load_gamma_from<Hint>(a, gamma_of<F>(a, row));
    }
    template <Cache Hint>
    static QK_DEVICE Gamma load_gamma_from(const Arguments& a, const void* weights) {
        Gamma gamma = {};
        for (int c = 0; c < count && holds(c); ++c) {
            load_weights<Hint>(a, weights, lower(a, c), gamma.lo + c * size);
        }
        for (int c = 0; c < count && holds(c); ++c) {
            load_weights<Hint>(a, weights, upper(a, c), gamma.hi + c * size);
        }
        return gamma;
    }

    // Of an existing row. In halves a pair of vectors turns by `size` neighbouring entries; interleaved, each vector
    // turns by half as many of its own, the lower one's first. No angles for what does not rotate.
    template <Cache Hint>
    static QK_DEVICE Angles load_angles(const Arguments& a, unsigned row) {
        return load_angles_at<Hint>(a, position_of<F>(a, row));
    }
    template <Cache Hint>
    static QK_DEVICE Angles load_angles_at(const Arguments& a, unsigned position) {
        const std::size_t first = static_cast<std::size_t>(position) * (rotary_dim(a) / 2);
        const bool narrow = F != Form::plain && a.narrow_tables;
        Angles angles = {};
        for (int c = 0; c < count && holds(c) && lower_turns(a, c); ++c) {
            float* cosine = angles.cosine + c * size;
            float* sine = angles.sine + c * size;
            if constexpr (F == Form::interleaved) {
                constexpr int half = size / 2;
                load_numbers<T, half, Hint>(a.cos, narrow, first + lower(a, c) / 2, cosine);
                load_numbers<T, half, Hint>(a.sin, narrow, first + lower(a, c) / 2, sine);
                if (upper_turns(a, c)) {
                    load_numbers<T, half, Hint>(a.cos, narrow, first + upper(a, c) / 2, cosine + half);
                    load_numbers<T, half, Hint>(a.sin, narrow, first + upper(a, c) / 2, sine + half);
                }
            } else {
                load_numbers<T, size, Hint>(a.cos, narrow, first + place(c), cosine);
                load_numbers<T, size, Hint>(a.sin, narrow, first + place(c), sine);
            }
        }
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

    static QK_DEVICE Head apply(const Arguments& a, Head head, float scale, const Gamma& gamma, const Angles& angles) {
        for (int c = 0; c < count; ++c) {
            float lo[size];
            float hi[size];
            unpack(std::bit_cast<V>(head.lo[c]), lo);
            unpack(std::bit_cast<V>(head.hi[c]), hi);
            for (int i = 0; i < size; ++i) {
                lo[i] *= scale * gamma.lo[c * size + i];
                hi[i] *= scale * gamma.hi[c * size + i];
            }
            turn(lower_turns(a, c), upper_turns(a, c), lo, hi, angles.cosine + c * size, angles.sine + c * size);
            head.lo[c] = std::bit_cast<Words>(pack<T, size>(lo));
            head.hi[c] = std::bit_cast<Words>(pack<T, size>(hi));
        }
        return head;
    }

    static QK_DEVICE Head norm_and_rotate(const Arguments& a, const Head& head, const Gamma& gamma,
                                          const Angles& angles) {
        return apply(a, head, inverse_rms(sum_of_squares(head), D, a.eps), gamma, angles);
    }

  private:
    template <Cache Hint>
    static QK_DEVICE void load_weights(const Arguments& a, const void* weights, unsigned column,
                                       float* values QK_CALLER) {
        load_numbers<T, size, Hint>(weights, F != Form::plain && a.narrow_gamma, column, values QK_FROM_CALLER);
        for (int i = 0; i < size && F != Form::plain; ++i) {
            values[i] += a.gamma_offset;
        }
    }

    // Turns the pairs of two vectors. What does not rotate is left alone, and not turned by an angle of zero, so that
    // an infinity spreads no further than it must.
    static QK_DEVICE void turn(bool lower_turns, bool upper_turns, float* lo, float* hi, const float* cosine,
                               const float* sine) {
        if constexpr (F == Form::interleaved) {
            for (int i = 0; i < size; i += 2) {
                if (lower_turns) {
                    rotate(lo[i], lo[i + 1], cosine[i / 2], sine[i / 2]);
                }
                if (upper_turns) {
                    rotate(hi[i], hi[i + 1], cosine[(size + i) / 2], sine[(size + i) / 2]);
                }
            }
        } else if (lower_turns) {
            for (int i = 0; i < size; ++i) {
                rotate(lo[i], hi[i], cosine[i], sine[i]);
            }
        }
    }
};

// One vector of each half a lane, as many lanes as that takes; those that the butterfly adds are idle: 4 of 16 for a
// head dim of 96 in f32.
template <class T, int D, int Size = 16 / static_cast<int>(sizeof(T)), Form F = Form::plain>
using OneVector = Paired<T, D, static_cast<int>(std::bit_ceil(static_cast<unsigned>(D / 2 / Size))), Size, F>;

// For a rotary dim that cuts through vectors: in halves an element is its own vector, interleaved a pair of neighbours.
// A warp a head vector.
template <class T, int D, Form F>
using Scalar = Paired<T, D, 32, F == Form::interleaved ? 2 : 1, F>;

// Whether vectors of `size` elements either rotate as a whole or not at all, and accesses of head vectors next to each
// other share no sector.
inline bool whole_vectors_rotate(const Problem& p, int size) {
    if (p.rotary() == p.head_dim) {
        return true;
    }
    return p.pairing == Pairing::interleaved ? p.rotary() % size == 0
                                             : p.rotary() / 2 % size == 0 && p.row_alignment() >= bytes_of_sector;
}

// The body of a kernel that computes one head vector a lane group.
template <class P, Cache Data, Cache Constant>
QK_DEVICE void one_head_a_group(const Arguments& a) {
    const unsigned first = (block() * (threads() / 32) + warp()) * P::rows_at_once;
    if (first >= a.rows) {
        return;  // the whole warp
    }
    const unsigned row = first + P::group();
    // A lane group past the last row loads that once more, the same sectors in the same access, and stores nothing.
    const unsigned existing_row = row < a.rows ? row : a.rows - 1;
    const auto head = P::template load_existing<Data>(a, existing_row);
    const auto angles = P::template load_angles<Constant>(a, existing_row);
    const auto gamma = P::template load_gamma<Constant>(a, existing_row);
    const auto result = P::norm_and_rotate(a, head, gamma, angles);
    if (row < a.rows) {
        P::template store_existing<Data>(a, existing_row, result);
    }
}

// Calls f(Paired<...>{}) for the problem's type and head dim, which must be a compiled one, in the plain form: the
// widest lanes.
template <class F>
void for_plain(const Problem& problem, F f) {
    for_compiled(problem, [&](auto compiled) {
        using C = decltype(compiled);
        using T = typename C::type;
        f(Paired<T, C::head_dim, widest_lanes(C::head_dim, sizeof(T))>{});
    });
}

// Likewise in the problem's form: where that cuts through vectors, Scalar.
template <class F>
void for_widest(const Problem& problem, F f) {
    for_plain(problem, [&]<class P>(P) {
        for_form(problem, [&](auto form) {
            if constexpr (form() == Form::plain) {
                f(P{});
            } else if (whole_vectors_rotate(problem, P::size)) {
                f(Paired<typename P::type, P::head_dim, P::lanes, P::size, form()>{});
            } else {
                f(Scalar<typename P::type, P::head_dim, form()>{});
            }
        });
    });
}

inline PairedLayout widest_layout(const Problem& p) {
    PairedLayout layout = {};
    for_widest(p, [&](auto paired) { layout = decltype(paired)::layout; });
    return layout;
}

inline std::string refuse_paired(const Problem& problem) {
    const std::string reason = refuse_head_dim(problem);
    return reason.empty() ? refuse_alignment(problem, widest_layout(problem).size * problem.element_bytes()) : reason;
}

// What a lane group asks of a head vector, of a gamma and of a row of a table, for the declarations.
class PairedRequests {
  public:
    PairedRequests(const Problem& problem, const PairedLayout& layout) : problem_(problem), layout_(layout) {}

    std::vector<Instruction> head() const {
        std::vector<Instruction> instructions;
        for (int c = 0; c < layout_.count; ++c) {
            instructions.push_back(vectors(c, false));
            instructions.push_back(vectors(c, true));
        }
        return instructions;
    }
    std::vector<Instruction> gamma() const {
        std::vector<Instruction> instructions;
        for (const Instruction& whole : head()) {
            append_pieces(whole, problem_.gamma_dtype, instructions);
        }
        return instructions;
    }
    std::vector<Instruction> table() const {
        std::vector<Instruction> instructions;
        const bool interleaved = problem_.pairing == Pairing::interleaved;
        for (int c = 0; c < layout_.count; ++c) {
            for (const bool upper : {false, true}) {
                if (upper && !interleaved) {
                    continue;  // the pair's two vectors turn by the same entries
                }
                Instruction entries;
                for (const Elements& vector : vectors(c, upper)) {
                    if (interleaved && vector.first < problem_.rotary()) {
                        entries.push_back({vector.first / 2, vector.count / 2});
                    } else if (vector.first < problem_.rotary() / 2) {
                        entries.push_back(vector);
                    }
                }
                append_pieces(entries, problem_.table_dtype, instructions);
            }
        }
        return instructions;
    }

  private:
    // Pair c's lower or upper vectors of all lanes.
    Instruction vectors(int c, bool upper) const {
        const auto rotary = static_cast<unsigned>(problem_.rotary());
        const auto head_dim = static_cast<unsigned>(problem_.head_dim);
        const bool in_halves = problem_.pairing == Pairing::half_split;
        Instruction instruction;
        for (int lane = 0; lane < layout_.lanes; ++lane) {
            const auto place = static_cast<unsigned>((c * layout_.lanes + lane) * layout_.size);
            if (place >= head_dim / 2) {
                continue;
            }
            const unsigned lower =
                in_halves ? lower_column<Form::half_split>(place, rotary) : lower_column<Form::plain>(place, rotary);
            const unsigned higher = in_halves ? upper_column<Form::half_split>(place, rotary, head_dim)
                                              : upper_column<Form::plain>(place, rotary, head_dim);
            instruction.push_back({upper ? higher : lower, layout_.size});
        }
        return instruction;
    }

    // Accesses of at most 16 bytes, one after the other.
    static void append_pieces(const Instruction& whole, DataType dtype, std::vector<Instruction>& instructions) {
        const std::int64_t most = 16 / bytes_of(dtype);
        const std::int64_t size = whole.empty() ? 0 : whole.front().count;
        for (std::int64_t i = 0; i < size; i += most) {
            Instruction piece;
            for (const Elements& elements : whole) {
                piece.push_back({elements.first + i, std::min(most, size)});
            }
            instructions.push_back(std::move(piece));
        }
    }

    const Problem& problem_;
    PairedLayout layout_;
};

// Bytes in whole sectors of one pass over all head vectors.
inline std::int64_t paired_tensor_bytes(const Problem& p, const PairedLayout& layout) {
    return tensor_bytes_requested(p, PairedRequests(p, layout).head());
}

// One gamma; and those of all accesses that serve `rows_per_access` rows.
inline std::int64_t paired_gamma_bytes(const Problem& p, const PairedLayout& layout) {
    return requested_bytes(PairedRequests(p, layout).gamma(), 0, bytes_of(p.gamma_dtype));
}
inline std::int64_t paired_gamma_bytes(const Problem& p, const PairedLayout& layout, std::int64_t rows_per_access) {
    return gamma_bytes_requested(p, PairedRequests(p, layout).gamma(), rows_per_access);
}
// The rows of the tables, and the ids, likewise.
inline std::int64_t paired_table_bytes(const Problem& p, const PairedLayout& layout, std::int64_t rows_per_access) {
    return TableRequests(p, PairedRequests(p, layout).table()).bytes(rows_per_access);
}

// What one_head_a_group requests.
inline Declaration declare_one_head_a_group(const Problem& p) {
    const PairedLayout layout = widest_layout(p);
    const std::int64_t tensor = paired_tensor_bytes(p, layout);
    return {.launches = p.rows() > 0 ? 1 : 0,
            .load_bytes = tensor + paired_gamma_bytes(p, layout, layout.rows_at_once()) +
                          paired_table_bytes(p, layout, layout.rows_at_once()),
            .store_bytes = tensor,
            .shared_bytes = 0};
}

inline std::int64_t one_head_blocks(const Problem& p, int threads) {
    return divide_up(p.rows(), std::int64_t{threads} / 32 * widest_layout(p).rows_at_once());
}

}  // namespace qkprof::inline QK_BUILD
