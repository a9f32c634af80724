// fused_table_shared: gamma and the tables of a block's positions are staged in shared memory, then used by all its
// rows.
//
// Hypothesis: every head of a position needs the same table rows, so a block that stages them once asks for fewer bytes
// of global memory than warps that each ask the L1 for them; the gain must pay for the barrier.
//
// A block handles consecutive rows, `heads` a lane group (see paired.h). Their loads are issued before the staging, so
// that the two overlap. The staged rows have room for head_dim / 2 floats: the two halves of gamma (of q, then of k),
// then in the plain form the cosines of each position and the sines of each position; in the others, where tokens may
// stand anywhere, cosines and sines of each token.

#include "paired.h"

#include <numeric>

namespace qkprof::inline QK_BUILD {
namespace {

// At least 8 lanes a head, so that the lanes of one shared wavefront (8 of 16 bytes) read one table row.
template <class T, int D>
using Layout = OneVector<T, D, D == 64 ? 4 : 16 / static_cast<int>(sizeof(T))>;

// Where vector `v` of a staged row lies: a lane of 16-bit storage reads two neighbouring vectors in two accesses, and
// flipping the lowest bit of every other eight keeps 8 lanes with a stride of two vectors in different banks.
template <int D>
QK_DEVICE Vector<float, 4>* staged(unsigned row, unsigned v) {
    return reinterpret_cast<Vector<float, 4>*>(shared_memory()) + (row * (D / 8) + (v ^ (v / 8 % 2)));
}

// N neighbouring numbers of a staged row, from number `entry`, a multiple of N: at most four in an access.
template <int D, int N>
QK_DEVICE Vector<float, N>* staged_numbers(unsigned row, unsigned entry) {
    static_assert(N <= 4);
    return reinterpret_cast<Vector<float, N>*>(staged<D>(row, entry / 4)) + entry % 4 / N;
}
template <int D, int N>
QK_DEVICE void read_staged(unsigned row, unsigned entry, float* values QK_CALLER) {
    constexpr int piece = std::min(N, 4);
    for (int i = 0; i < N; i += piece) {
        unpack(shared_load(staged_numbers<D, piece>(row, entry + i) QK_FROM_CALLER), values + i);
    }
}

// The staged rows of the plain form: 2 of gamma; the cosines, then the sines, of the block's positions, which are
// consecutive, modulo the sequence.
template <int D>
QK_DEVICE void stage_positions(const Arguments& a, unsigned first_position, unsigned positions) {
    constexpr unsigned vectors = D / 8;
    const auto* weights = static_cast<const Vector<float, 4>*>(a.gamma_q);
    const auto* cos = static_cast<const Vector<float, 4>*>(a.cos);
    const auto* sin = static_cast<const Vector<float, 4>*>(a.sin);
    for (unsigned i = thread(); i < 2 * vectors; i += threads()) {
        shared_store(staged<D>(i / vectors, i % vectors), load<Cache::read_only>(weights + i));
    }
    for (unsigned i = thread(); i < positions * vectors; i += threads()) {
        const unsigned position = (first_position + i / vectors) % a.sequence;
        const std::size_t from = static_cast<std::size_t>(position) * vectors + i % vectors;
        shared_store(staged<D>(2 + i / vectors, i % vectors), load<Cache::read_only>(cos + from));
        shared_store(staged<D>(2 + positions + i / vectors, i % vectors), load<Cache::read_only>(sin + from));
    }
}

// Numbers that a lane stages at a time in the other forms: at most 16 bytes, and no more than a vector turns by, since
// that divides the rows of the tables.
constexpr int staged_at_once(Form form, int size) { return std::min(form == Form::interleaved ? size / 2 : size, 4); }

// A warp stages `count` numbers of a gamma or a table, from number `first` on.
template <class P>
QK_DEVICE void stage_row(const void* numbers, bool narrow, std::size_t first, unsigned count, float offset,
                         unsigned to) {
    constexpr int n = staged_at_once(P::form, P::size);
    for (unsigned i = lane() * n; i < count; i += 32 * n) {
        float values[n];
        load_numbers<typename P::type, n, Cache::read_only>(numbers, narrow, first + i, values);
        for (float& value : values) {
            value += offset;
        }
        shared_store(staged_numbers<P::head_dim, n>(to, i), pack<float, n>(values));
    }
    warp_barrier();  // lanes that had fewer turns wait for the others before the next row
}

// The staged rows of the other forms: 2 of gamma, 2 more where there are key heads; then a token's cosines and sines.
QK_ANYWHERE constexpr unsigned gamma_rows(bool has_keys) { return has_keys ? 4 : 2; }

template <class P>
QK_DEVICE void stage_tokens(const Arguments& a, unsigned first_token, unsigned tokens) {
    constexpr unsigned half = P::head_dim / 2;
    const unsigned gammas = gamma_rows(a.query_heads < a.heads);
    const unsigned warps = threads() / 32;
    for (unsigned row = warp(); row < gammas; row += warps) {
        stage_row<P>(row < 2 ? a.gamma_q : a.gamma_k, a.narrow_gamma, row % 2 * half, half, a.gamma_offset, row);
    }
    for (unsigned token = warp(); token < tokens; token += warps) {
        const unsigned position = position_of<P::form>(a, (first_token + token) * a.heads);
        const std::size_t first = static_cast<std::size_t>(position) * (a.rotary_dim / 2);
        stage_row<P>(a.cos, a.narrow_tables, first, a.rotary_dim / 2, 0.0F, gammas + 2 * token);
        stage_row<P>(a.sin, a.narrow_tables, first, a.rotary_dim / 2, 0.0F, gammas + 2 * token + 1);
    }
}

// Of a row's lane: from the staged rows that begin with `gamma_row`, `cos_row` and `sin_row`.
template <class P>
QK_DEVICE void read_constants(const Arguments& a, unsigned gamma_row, unsigned cos_row, unsigned sin_row,
                              typename P::Gamma& gamma, typename P::Angles& angles) {
    constexpr int D = P::head_dim;
    constexpr unsigned half = D / 2;
    for (int c = 0; c < P::count && P::holds(c); ++c) {
        const unsigned lower = P::lower(a, c);
        const unsigned upper = P::upper(a, c);
        const int i = c * P::size;
        read_staged<D, P::size>(gamma_row + lower / half, lower % half, gamma.lo + i);
        read_staged<D, P::size>(gamma_row + upper / half, upper % half, gamma.hi + i);
        if constexpr (P::form == Form::interleaved) {
            constexpr int pairs = P::size / 2;
            if (P::lower_turns(a, c)) {
                read_staged<D, pairs>(cos_row, lower / 2, angles.cosine + i);
                read_staged<D, pairs>(sin_row, lower / 2, angles.sine + i);
            }
            if (P::upper_turns(a, c)) {
                read_staged<D, pairs>(cos_row, upper / 2, angles.cosine + i + pairs);
                read_staged<D, pairs>(sin_row, upper / 2, angles.sine + i + pairs);
            }
        } else if (P::lower_turns(a, c)) {
            read_staged<D, P::size>(cos_row, lower, angles.cosine + i);
            read_staged<D, P::size>(sin_row, lower, angles.sine + i);
        }
    }
}

template <class P, int Heads>
QK_KERNEL void fused_table_shared_kernel(Arguments a) {
    const unsigned rows_at_once = threads() / P::lanes;
    const unsigned first = block() * rows_at_once * Heads;
    const unsigned last = std::min(first + rows_at_once * Heads, a.rows) - 1;
    const unsigned row = first + thread() / P::lanes;

    typename P::Head head[Heads];
    for (int h = 0; h < Heads; ++h) {
        head[h] = P::template load_head<Cache::normal>(a, row + h * rows_at_once);
    }

    const unsigned first_token = first / a.heads;
    unsigned slots = last / a.heads - first_token + 1;  // of table rows
    if constexpr (P::form == Form::plain) {
        slots = std::min(slots, a.sequence);
        stage_positions<P::head_dim>(a, first_token, slots);
    } else {
        stage_tokens<P>(a, first_token, slots);
    }
    barrier();

    for (int h = 0; h < Heads; ++h) {
        const unsigned r = row + h * rows_at_once;
        const float scale = inverse_rms(P::sum_of_squares(head[h]), P::head_dim, a.eps);
        if (P::holds() && r <= last) {
            typename P::Gamma gamma = {};
            typename P::Angles angles = {};
            if constexpr (P::form == Form::plain) {
                const unsigned slot = (r / a.heads - first_token) % slots;
                read_constants<P>(a, 0, 2 + slot, 2 + slots + slot, gamma, angles);
            } else {
                const unsigned tables = gamma_rows(a.query_heads < a.heads) + 2 * (r / a.heads - first_token);
                read_constants<P>(a, is_key(a, r) ? 2 : 0, tables, tables + 1, gamma, angles);
            }
            P::template store_head<Cache::normal>(a, r, P::apply(a, head[h], scale, gamma, angles));
        }
    }
}

// Calls f(Paired<...>{}) for the problem's type, head dim and form. At least 8 lanes a head, so that the lanes of one
// shared wavefront (8 of 16 bytes) read one table row.
template <class F>
void for_layout(const Problem& problem, F f) {
    for_compiled(problem, [&]<class T, int D>(Compiled<T, D>) {
        constexpr int size = D == 64 ? 4 : 16 / static_cast<int>(sizeof(T));
        for_form(problem, [&](auto form) {
            if constexpr (form() != Form::plain) {
                if (!whole_vectors_rotate(problem, size)) {
                    return f(Scalar<T, D, form()>{});
                }
            }
            f(OneVector<T, D, size, form()>{});
        });
    });
}

// The head dim must be a compiled one.
PairedLayout layout_of(const Problem& problem) {
    PairedLayout layout = {};
    for_layout(problem, [&](auto paired) { layout = decltype(paired)::layout; });
    return layout;
}

// What one block handles.
std::int64_t rows_per_block(const Request& request) {
    return std::int64_t{request.parameter("threads")} / layout_of(request.problem).lanes * request.parameter("heads");
}

// Gamma and both tables of the most tokens that one block meets, in the plain form of their positions: a block begins
// at a multiple of its rows, so at most all heads - gcd rows into a token.
std::int64_t shared_bytes(const Request& request) {
    const Problem& p = request.problem;
    if (p.rows() == 0) {
        return 0;
    }
    const std::int64_t rows = rows_per_block(request);
    const std::int64_t heads = p.all_heads();
    const std::int64_t tokens = (heads - std::gcd(heads, rows) + rows - 1) / heads + 1;
    const std::int64_t slots = std::min(tokens, p.is_plain() ? p.sequence : p.tokens());
    return (gamma_rows(p.key_heads > 0) + 2 * slots) * p.head_dim / 2 * static_cast<std::int64_t>(sizeof(float));
}

// Bytes of global memory that the blocks stage.
std::int64_t staged_bytes(const Request& request) {
    const Problem& p = request.problem;
    const std::int64_t rows = rows_per_block(request);
    const std::int64_t blocks = divide_up(p.rows(), rows);
    if (p.is_plain()) {  // once gamma, and once both table rows of each position: as many bytes again
        return (blocks + positions_touched(p, rows)) * p.gamma_bytes();
    }
    // A warp stages a row in accesses of neighbouring numbers.
    const std::int64_t at_once = std::int64_t{32} * staged_at_once(form_of(p), layout_of(p).size);
    const auto pieces = [&](std::int64_t count) {
        std::vector<Instruction> instructions;
        for (std::int64_t first = 0; first < count; first += at_once) {
            instructions.push_back({{first, std::min(at_once, count - first)}});
        }
        return instructions;
    };
    std::int64_t bytes =
        blocks * gamma_rows(p.key_heads > 0) * requested_bytes(pieces(p.head_dim / 2), 0, bytes_of(p.gamma_dtype));
    TableRequests tables(p, pieces(p.rotary() / 2));
    for_each_access(p, rows, [&](const Access& block) {
        for (std::int64_t row = block.first; row < block.first + block.rows;
             row += p.all_heads() - row % p.all_heads()) {
            bytes += block.times * tables.bytes({row, 1, 1});
        }
    });
    return bytes;
}

std::string refuse_several_heads(const Request& request) {
    return request.parameter("heads") == 1 || request.problem.is_plain()
               ? std::string()
               : "several heads a lane group are compiled for the first form alone";
}

const Registration registration(
    this_backend,
    {.name = "fused_table_shared",
     .family = Family::shared_memory,
     .hypothesis = "tables staged once a block and shared by its heads cost less than tables from the L1",
     .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}},
                    {"heads", "head vectors a lane group", 1, {1, 2, 4}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses =
         [](const Request& request) {
             const Problem& p = request.problem;
             std::string reason = refuse_head_dim(p);
             if (!reason.empty()) {
                 return reason;
             }
             return first_reason({refuse_alignment(p, layout_of(p).size * p.element_bytes()),
                                  refuse_several_heads(request), refuse_shared_bytes(request, shared_bytes(request))});
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const std::int64_t tensor = paired_tensor_bytes(p, layout_of(p));
             return Declaration{.launches = p.rows() > 0 ? 1 : 0,
                                .load_bytes = tensor + staged_bytes(request),
                                .store_bytes = tensor,
                                .shared_bytes = shared_bytes(request)};
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const Request& request = call.request;
             const LaunchConfig config = {.kernel = "fused_table_shared",
                                          .blocks = divide_up(request.problem.rows(), rows_per_block(request)),
                                          .threads = request.parameter("threads"),
                                          .shared_bytes = shared_bytes(request)};
             for_layout(request.problem, [&](auto paired) {
                 using P = decltype(paired);
                 if constexpr (P::form == Form::plain) {
                     for_value<1, 2, 4>(request.parameter("heads"), [&](auto heads) {
                         launch(call.stream, config, fused_table_shared_kernel<P, heads()>, arguments_of(call));
                     });
                 } else {
                     launch(call.stream, config, fused_table_shared_kernel<P, 1>, arguments_of(call));
                 }
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
