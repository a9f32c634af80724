// fused_register: one kernel, a warp per head vector, everything in registers.
//
// Hypothesis: the whole operation fits between one load and one store of each element, so a single launch runs at the
// speed of a copy; the rotation's partner is another lane's, and one shuffle an element is cheap enough to fetch it.
//
// A lane holds a chunk of 2 or 4 neighbouring elements. A head vector of 256 is two chunks a lane, head_dim/2 apart:
// the lane then has both partners itself and the shuffle vanishes. Where only a part of such a head vector rotates, the
// partner is in one or the other chunk of its lane, and both are shuffled. Interleaved pairs lie within a chunk. Where
// the rotary dim cuts through a chunk, chunks are as small as what rotates: an element, or interleaved a pair.

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {
namespace {

// The size of chunks that rotate as a whole, and of those that are as small as what rotates.
constexpr int whole_size(int head_dim) { return head_dim == 64 ? 2 : 4; }
constexpr int small_size(Form form, int head_dim) {
    return form == Form::plain ? whole_size(head_dim) : form == Form::half_split ? 1 : 2;
}

// How a warp holds a head vector: `count` chunks of `size` elements a lane, in `lanes` of its lanes.
struct Layout {
    int size;
    int lanes;
    int count;
};

// The most lanes that divide the chunks among them.
constexpr Layout layout_of(int head_dim, int size) {
    const int chunks = head_dim / size;
    int lanes = 32;
    while (chunks % lanes != 0) {
        --lanes;  // 96 = 24 lanes of 4
    }
    return {size, lanes, chunks / lanes};
}

template <int D, int Size>
struct Chunks {
    static constexpr Layout layout = layout_of(D, Size);
    static constexpr int size = Size;
    static constexpr int lanes = layout.lanes;
    static constexpr int count = layout.count;
    using Values = float[count][Size];

    static QK_DEVICE unsigned column(int c) { return (c * lanes + lane()) * size; }
};

// The rotation of the first rotary_dim columns in halves, by a cosine and a sine for each element.
template <class C>
QK_DEVICE void rotate_halves(unsigned rotary_dim, typename C::Values& x, const typename C::Values& cosine,
                             const typename C::Values& sine) {
    const unsigned half = rotary_dim / 2;
    for (int i = 0; i < C::size; ++i) {
        float others[C::count];
        for (int c = 0; c < C::count; ++c) {
            if constexpr (C::count == 2) {
                if (half == C::lanes * C::size) {  // all rotate: the lane has both partners itself
                    others[c] = x[1 - c][i];
                    continue;
                }
            }
            const unsigned column = C::column(c);
            const unsigned partner = column < half ? column + half : column < rotary_dim ? column - half : column;
            others[c] = 0.0F;
            for (int from = 0; from < C::count; ++from) {
                const float other = shuffle(x[from][i], partner / C::size % C::lanes);
                others[c] = partner / C::size / C::lanes == static_cast<unsigned>(from) ? other : others[c];
            }
        }
        for (int c = 0; c < C::count; ++c) {
            if (C::column(c) < rotary_dim) {
                const bool upper = C::column(c) >= half;
                x[c][i] = x[c][i] * cosine[c][i] + (upper ? others[c] : -others[c]) * sine[c][i];
            }
        }
    }
}

// The rotation of the pairs of neighbours among the first rotary_dim columns.
template <class C>
QK_DEVICE void rotate_neighbours(unsigned rotary_dim, typename C::Values& x, const typename C::Values& cosine,
                                 const typename C::Values& sine) {
    for (int c = 0; c < C::count; ++c) {
        for (int i = 0; i < C::size / 2 && C::column(c) < rotary_dim; ++i) {
            rotate(x[c][2 * i], x[c][2 * i + 1], cosine[c][i], sine[c][i]);
        }
    }
}

// Beyond the first form: each chunk is rotated by its own entries of the tables. All lanes take part.
template <class C, class T, Form F>
QK_DEVICE void scale_and_rotate(const Arguments& a, unsigned row, bool active, float scale, typename C::Values& x) {
    constexpr bool interleaved = F == Form::interleaved;
    constexpr int entries = interleaved ? C::size / 2 : C::size;
    const unsigned half = a.rotary_dim / 2;
    typename C::Values cosine = {};
    typename C::Values sine = {};
    if (active) {
        const std::size_t table = static_cast<std::size_t>(position_of<F>(a, row)) * half;
        for (int c = 0; c < C::count && C::column(c) < a.rotary_dim; ++c) {
            const unsigned column = C::column(c);
            const std::size_t entry = table + (interleaved ? column / 2 : column < half ? column : column - half);
            load_numbers<T, entries, Cache::read_only>(a.cos, a.narrow_tables, entry, cosine[c]);
            load_numbers<T, entries, Cache::read_only>(a.sin, a.narrow_tables, entry, sine[c]);
        }
        for (int c = 0; c < C::count; ++c) {
            float gamma[C::size];
            load_numbers<T, C::size, Cache::read_only>(gamma_of<F>(a, row), a.narrow_gamma, C::column(c), gamma);
            for (int i = 0; i < C::size; ++i) {
                x[c][i] *= scale * (a.gamma_offset + gamma[i]);
            }
        }
    }
    if constexpr (interleaved) {
        rotate_neighbours<C>(a.rotary_dim, x, cosine, sine);
    } else {
        rotate_halves<C>(a.rotary_dim, x, cosine, sine);
    }
}

template <class T, int D, int Size, Form F>
QK_KERNEL void fused_register_kernel(Arguments a) {
    using C = Chunks<D, Size>;
    using V = Vector<T, Size>;
    using Table = Vector<float, Size>;
    const unsigned row = block() * (threads() / 32) + warp();
    const bool active = row < a.rows && lane() < C::lanes;

    typename C::Values x = {};
    float sum_of_squares = 0.0F;
    if (active) {
        for (int c = 0; c < C::count; ++c) {
            unpack(load(reinterpret_cast<const V*>(q_at<T, F>(a, row, D, C::column(c)))), x[c]);
            for (int i = 0; i < Size; ++i) {
                sum_of_squares += x[c][i] * x[c][i];
            }
        }
    }
    const float scale = inverse_rms(sum_lanes<32>(sum_of_squares), D, a.eps);

    if constexpr (F == Form::plain) {
        // A lane of the upper half rotates by its partner's entries.
        const unsigned half = C::lanes / (C::count == 1 ? 2 : 1);
        const bool upper = C::count == 1 && lane() >= half;
        const unsigned partner = upper ? lane() - half : lane() + half;
        Table cosine = {};
        Table sine = {};
        if (active) {
            const unsigned column = lane() % half * Size;
            const std::size_t entry = static_cast<std::size_t>(position_of(a, row)) * (D / 2) + column;
            cosine = load<Cache::read_only>(reinterpret_cast<const Table*>(static_cast<const float*>(a.cos) + entry));
            sine = load<Cache::read_only>(reinterpret_cast<const Table*>(static_cast<const float*>(a.sin) + entry));
            for (int c = 0; c < C::count; ++c) {
                const auto gamma =
                    load<Cache::read_only>(static_cast<const Table*>(a.gamma_q) + (c * C::lanes + lane()));
                for (int i = 0; i < Size; ++i) {
                    x[c][i] *= scale * gamma.values[i];
                }
            }
        }
        for (int i = 0; i < Size; ++i) {
            if constexpr (C::count == 1) {
                const float other = shuffle(x[0][i], partner);
                x[0][i] = x[0][i] * cosine.values[i] + (upper ? other : -other) * sine.values[i];
            } else {
                rotate(x[0][i], x[1][i], cosine.values[i], sine.values[i]);
            }
        }
    } else {
        scale_and_rotate<C, T, F>(a, row, active, scale, x);
    }
    if (active) {
        for (int c = 0; c < C::count; ++c) {
            store(reinterpret_cast<V*>(out_at<T, F>(a, row, D, C::column(c))), pack<T, Size>(x[c]));
        }
    }
}

// What the compiled kernel takes from the problem: the size of the chunks.
int size_of(const Problem& p) {
    const auto head_dim = static_cast<int>(p.head_dim);
    const std::int64_t turning = p.pairing == Pairing::interleaved ? p.rotary() : p.rotary() / 2;
    return turning % whole_size(head_dim) == 0 ? whole_size(head_dim) : small_size(form_of(p), head_dim);
}

// What a warp asks for: its chunks, and the entries of a table that turn them.
std::vector<Instruction> chunks_of(const Problem& p) {
    const Layout layout = layout_of(static_cast<int>(p.head_dim), size_of(p));
    const std::int64_t elements = std::int64_t{layout.lanes} * layout.size;
    std::vector<Instruction> instructions;
    for (int c = 0; c < layout.count; ++c) {
        instructions.push_back({{c * elements, elements}});
    }
    return instructions;
}

std::vector<Instruction> entries_of(const Problem& p) {
    const std::int64_t half = p.rotary() / 2;
    if (p.is_plain()) {
        return {{{0, half}}};
    }
    const std::int64_t size = size_of(p);
    std::vector<Instruction> instructions;
    for (const Instruction& chunks : chunks_of(p)) {
        Instruction entries;
        const std::int64_t end = std::min(chunks.front().first + chunks.front().count, p.rotary());
        for (std::int64_t column = chunks.front().first; column < end; column += size) {
            entries.push_back(p.pairing == Pairing::interleaved ? Elements{column / 2, size / 2}
                                                                : Elements{column % half, size});
        }
        instructions.push_back(std::move(entries));
    }
    return instructions;
}

const Registration registration(
    this_backend,
    {.name = "fused_register",
     .family = Family::register_only,
     .hypothesis = "one launch, a warp per head vector, rotation by shuffle: runs at the speed of a copy",
     .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses =
         [](const Request& request) {
             const Problem& p = request.problem;
             std::string reason = refuse_head_dim(p);
             return reason.empty() ? refuse_alignment(p, size_of(p) * p.element_bytes()) : reason;
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const auto chunks = chunks_of(p);
             const std::int64_t tensor = tensor_bytes_requested(p, chunks);
             const std::int64_t gamma = p.rows() * requested_bytes(chunks, 0, bytes_of(p.gamma_dtype));
             return Declaration{.launches = p.rows() > 0 ? 1 : 0,
                                .load_bytes = tensor + gamma + TableRequests(p, entries_of(p)).bytes(1),
                                .store_bytes = tensor,
                                .shared_bytes = 0};
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const Problem& p = call.request.problem;
             const int threads = call.request.parameter("threads");
             const LaunchConfig config = {
                 .kernel = "fused_register", .blocks = divide_up(p.rows(), threads / 32), .threads = threads};
             for_compiled(p, [&]<class T, int D>(Compiled<T, D>) {
                 for_form(p, [&](auto form) {
                     for_value<whole_size(D), small_size(form(), D)>(size_of(p), [&](auto size) {
                         launch(call.stream, config, fused_register_kernel<T, D, size(), form()>, arguments_of(call));
                     });
                 });
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
