// fused_table_shared: gamma and the tables of a block's positions are staged in shared memory, then used by all its
// rows.
//
// Hypothesis: every head of a position needs the same table rows, so a block that stages them once asks for fewer bytes
// of global memory than warps that each ask the L1 for them; the gain must pay for the barrier.
//
// A block handles consecutive rows, `heads` a lane group (see paired.h). Their loads are issued before the
// staging, so that the two overlap. The staged rows are half vectors of head_dim / 2 floats: the two halves of gamma,
// the cosines of each position, the sines of each position.

#include "paired.h"

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

template <int D, int N>
QK_DEVICE void read_staged(unsigned row, unsigned entry, float (&values)[N]) {
    for (int i = 0; i < N; i += 4) {
        unpack(shared_load(staged<D>(row, (entry + i) / 4)), values + i);
    }
}

template <class T, int D, int Heads>
QK_KERNEL void fused_table_shared_kernel(Arguments a) {
    using P = Layout<T, D>;
    const unsigned rows_at_once = threads() / P::lanes;
    const unsigned first = block() * rows_at_once * Heads;
    const unsigned last = std::min(first + rows_at_once * Heads, a.rows) - 1;
    const unsigned row = first + thread() / P::lanes;

    typename P::Head head[Heads];
    for (int h = 0; h < Heads; ++h) {
        head[h] = P::template load_head<Cache::normal>(a, row + h * rows_at_once);
    }

    // The block's positions are consecutive, modulo the sequence.
    constexpr unsigned vectors = D / 8;
    const unsigned first_position = first / a.heads;
    const unsigned positions = std::min(last / a.heads - first_position + 1, a.sequence);
    const auto* weights = reinterpret_cast<const Vector<float, 4>*>(a.gamma);
    const auto* cos = reinterpret_cast<const Vector<float, 4>*>(a.cos);
    const auto* sin = reinterpret_cast<const Vector<float, 4>*>(a.sin);
    for (unsigned i = thread(); i < 2 * vectors; i += threads()) {
        shared_store(staged<D>(i / vectors, i % vectors), load<Cache::read_only>(weights + i));
    }
    for (unsigned i = thread(); i < positions * vectors; i += threads()) {
        const unsigned position = (first_position + i / vectors) % a.sequence;
        const std::size_t from = static_cast<std::size_t>(position) * vectors + i % vectors;
        shared_store(staged<D>(2 + i / vectors, i % vectors), load<Cache::read_only>(cos + from));
        shared_store(staged<D>(2 + positions + i / vectors, i % vectors), load<Cache::read_only>(sin + from));
    }
    barrier();

    for (int h = 0; h < Heads; ++h) {
        const unsigned r = row + h * rows_at_once;
        const float scale = inverse_rms(P::sum_of_squares(head[h]), D, a.eps);
        if (P::holds() && r <= last) {
            const unsigned slot = (r / a.heads - first_position) % positions;
            typename P::Gamma gamma;
            typename P::Angles angles;
            read_staged<D>(0, P::column(0), gamma.lo);
            read_staged<D>(1, P::column(0), gamma.hi);
            read_staged<D>(2 + slot, P::column(0), angles.cosine);
            read_staged<D>(2 + positions + slot, P::column(0), angles.sine);
            P::template store_head<Cache::normal>(a, r, P::apply(head[h], scale, gamma, angles));
        }
    }
}

// What one block handles; the head dim must be a compiled one.
std::int64_t rows_per_block(const Request& request) {
    std::int64_t rows = 0;
    for_compiled(request.problem, [&](auto compiled) {
        using P = Layout<typename decltype(compiled)::type, decltype(compiled)::head_dim>;
        rows = std::int64_t{request.parameter("threads")} / P::layout.lanes * request.parameter("heads");
    });
    return rows;
}

// Gamma and both tables of the most positions that one block meets: a block begins at a multiple of its rows, so at
// most heads - gcd rows into a position.
std::int64_t shared_bytes(const Request& request) {
    const Problem& p = request.problem;
    if (p.rows() == 0) {
        return 0;
    }
    const std::int64_t rows = rows_per_block(request);
    const std::int64_t positions = (p.heads - std::gcd(p.heads, rows) + rows - 1) / p.heads + 1;
    return (1 + std::min(positions, p.sequence)) * p.gamma_bytes();
}

const Registration registration(
    this_backend,
    {.name = "fused_table_shared",
     .family = Family::shared_memory,
     .hypothesis = "tables staged once a block and shared by its heads cost less than tables from the L1",
     .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}},
                    {"heads", "head vectors a lane group", 1, {1, 2, 4}}},
     .refuses =
         [](const Request& request) {
             const std::string reason =
                 first_reason({refuse_head_dim(request.problem), refuse_alignment(request.problem, 16)});
             return reason.empty() ? refuse_shared_bytes(request, shared_bytes(request)) : reason;
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const std::int64_t rows = rows_per_block(request);
             const std::int64_t tensor = piecewise_bytes(p, 2 * p.rows());
             // Each block asks once for gamma and once for both table rows of each of its positions.
             const std::int64_t staged_rows = divide_up(p.rows(), rows) + positions_touched(p, rows);
             return Declaration{.launches = p.rows() > 0 ? 1 : 0,
                                .load_bytes = tensor + staged_rows * p.gamma_bytes(),
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
             for_compiled(request.problem, [&](auto compiled) {
                 using C = decltype(compiled);
                 for_value<1, 2, 4>(request.parameter("heads"), [&](auto heads) {
                     launch(call.stream, config, fused_table_shared_kernel<typename C::type, C::head_dim, heads()>,
                            arguments_of(call));
                 });
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
