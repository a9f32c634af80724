// fused_tile_bulk: a persistent grid whose warps stream tiles of head vectors through shared memory by bulk copies.
//
// Hypothesis: the bulk copy engine moves whole tiles in and out with one instruction each, so that a few resident warps
// keep the memory as busy as thousands of threads with their own loads and stores.
//
// Each warp runs a ring of its own: `stages` buffers of `tile` bytes, an mbarrier a buffer. Lane 0 asks for the tiles,
// stages - 1 ahead; when a tile has arrived, the warp computes it in place and lane 0 stores it. Nothing in the loop is
// waited for by the whole block. Within a tile the layout is that of paired.h.
//
// Tensors that begin inside a sector are refused: the copy engine moves such a piece in lines of 128 bytes that each
// ask for one sector more (counted on an H200: 5 sectors for 4).

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

// With 4 lanes a head the 8 lanes of one shared wavefront belong to two rows, 128 bytes apart: every other group takes
// its upper chunk first, which is in other banks, and rotates the other way round.
template <class P>
constexpr bool alternates = P::lanes == 4;

// Bytes before the tiles: an mbarrier for each of `count` buffers, the tiles aligned to 128 bytes.
QK_ANYWHERE constexpr unsigned barrier_bytes(unsigned count) { return (count * 8 + 127) / 128 * 128; }

template <class T, int D, int Stages>
QK_KERNEL void fused_tile_bulk_kernel(Arguments a, unsigned tile_rows) {
    using P = OneVector<T, D>;
    using Words = typename P::Words;
    const unsigned warps = threads() / 32;
    const std::size_t tile_bytes = std::size_t{tile_rows} * D * sizeof(T);
    const std::size_t first_buffer = std::size_t{warp()} * Stages;
    Barrier* arrived = reinterpret_cast<Barrier*>(shared_memory()) + first_buffer;
    std::byte* ring = shared_memory() + barrier_bytes(warps * Stages) + first_buffer * tile_bytes;

    const unsigned tiles = (a.rows - 1) / tile_rows + 1;
    const unsigned stride = blocks() * warps;
    const unsigned first_tile = block() * warps + warp();
    const auto rows_of = [&](unsigned tile) { return std::min(tile_rows, a.rows - tile * tile_rows); };
    const auto fetch = [&](unsigned tile, unsigned stage) {
        const unsigned bytes = rows_of(tile) * D * static_cast<unsigned>(sizeof(T));
        barrier_expect(arrived + stage, bytes);
        bulk_load(ring + stage * tile_bytes, q_at<T>(a, tile * tile_rows, D, 0), bytes, arrived + stage);
    };
    if (lane() == 0) {
        for (unsigned stage = 0; stage < Stages; ++stage) {
            barrier_initialise(arrived + stage, 1);
        }
    }
    barrier();
    if (lane() == 0) {
        for (unsigned stage = 0; stage < Stages - 1 && first_tile + stage * stride < tiles; ++stage) {
            fetch(first_tile + stage * stride, stage);
        }
    }

    const bool turned = alternates<P> && P::group() % 2 == 1;
    const unsigned lo = P::place(0) + (turned ? D / 2 : 0);
    const unsigned hi = P::place(0) + (turned ? 0 : D / 2);
    typename P::Gamma gamma = {};
    if (first_tile < tiles) {  // else nothing is to be done, and the compiler leaves the loads out
        gamma = P::template load_gamma<Cache::read_only>(a, 0);
    }
    for (int i = 0; i < P::elements && turned; ++i) {
        std::swap(gamma.lo[i], gamma.hi[i]);
    }

    unsigned round = 0;
    for (unsigned tile = first_tile; tile < tiles; tile += stride, ++round) {
        const unsigned stage = round % Stages;
        T* buffer = reinterpret_cast<T*>(ring + stage * tile_bytes);
        const unsigned rows = rows_of(tile);
        barrier_wait(arrived + stage, round / Stages % 2);
        for (unsigned pass = 0; pass < rows; pass += P::rows_at_once) {
            const unsigned row = pass + P::group();  // within the tile
            const bool active = P::holds() && row < rows;
            Words* lower = reinterpret_cast<Words*>(buffer + row * D + lo);
            Words* upper = reinterpret_cast<Words*>(buffer + row * D + hi);
            typename P::Head head = {};
            typename P::Angles angles = {};
            if (active) {
                angles = P::template load_angles<Cache::read_only>(a, tile * tile_rows + row);
                head.lo[0] = shared_load(lower);
                head.hi[0] = shared_load(upper);
            }
            for (float& sine : angles.sine) {
                sine = turned ? -sine : sine;
            }
            head = P::norm_and_rotate(a, head, gamma, angles);
            if (active) {
                shared_store(lower, head.lo[0]);
                shared_store(upper, head.hi[0]);
            }
        }
        async_fence();
        warp_barrier();
        if (lane() == 0) {
            bulk_store(out_at<T>(a, tile * tile_rows, D, 0), buffer, rows * D * static_cast<unsigned>(sizeof(T)));
            bulk_commit();
            const unsigned next = tile + (Stages - 1) * stride;
            if (next < tiles) {
                bulk_wait<1>();  // the store of the round before has read the buffer that is filled next
                fetch(next, (round + Stages - 1) % Stages);
            }
        }
    }
    if (lane() == 0) {
        bulk_wait<0>();  // shared memory must outlive the stores that read it
    }
}

// How a request is laid out; the head dim must be a compiled one.
struct Plan {
    std::int64_t tile_rows = 0;
    std::int64_t blocks = 0;
    std::int64_t shared_bytes = 0;
    PairedLayout layout = {};
};

Plan plan_of(const Request& request) {
    const Problem& p = request.problem;
    Plan plan;
    for_compiled(p, [&](auto compiled) {
        plan.layout = OneVector<typename decltype(compiled)::type, decltype(compiled)::head_dim>::layout;
        const std::int64_t at_once = plan.layout.rows_at_once();
        const std::int64_t row_bytes = p.head_dim * p.element_bytes();
        const std::int64_t warps = request.parameter("threads") / 32;
        const std::int64_t buffers = warps * request.parameter("stages");
        plan.tile_rows = request.parameter("tile") / (row_bytes * at_once) * at_once;
        plan.blocks = std::min(divide_up(divide_up(p.rows(), plan.tile_rows), warps),
                               std::int64_t{request.limits.multiprocessors} * request.parameter("blocks"));
        plan.shared_bytes = barrier_bytes(static_cast<unsigned>(buffers)) + buffers * plan.tile_rows * row_bytes;
    });
    return plan;
}

const Registration registration(
    this_backend,
    {.name = "fused_tile_bulk",
     .family = Family::shared_memory,
     .hypothesis = "bulk copies let a few resident warps keep the memory as busy as thousands of threads do",
     .parameters = {{"threads", "threads a block", 256, {64, 128, 256}},
                    {"stages", "buffers of a warp's ring", 3, {2, 3, 4}},
                    {"tile", "bytes of a buffer, at most", 4096, {2048, 4096, 8192}},
                    {"blocks", "blocks a multiprocessor", 8, {1, 2, 3, 4, 6, 8}}},
     .features = {Feature::in_place},
     .refuses =
         [](const Request& request) {
             const std::string reason =
                 first_reason({refuse_head_dim(request.problem), refuse_alignment(request.problem, 32)});
             return reason.empty() ? refuse_shared_bytes(request, plan_of(request).shared_bytes) : reason;
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const Plan plan = plan_of(request);
             const std::int64_t tiles = divide_up(p.rows(), plan.tile_rows);
             const std::int64_t warps = std::min(tiles, plan.blocks * (request.parameter("threads") / 32));
             // Every warp that has a tile asks for gamma once, and for the tables of the rows that it handles at once.
             const std::int64_t constants = warps * paired_gamma_bytes(p, plan.layout) +
                                            paired_table_bytes(p, plan.layout, plan.layout.rows_at_once());
             return Declaration{.launches = p.rows() > 0 ? 1 : 0,
                                .load_bytes = p.tensor_bytes() + constants,
                                .store_bytes = p.tensor_bytes(),
                                .shared_bytes = p.rows() > 0 ? plan.shared_bytes : 0,
                                .bulk_copies = true};
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const Request& request = call.request;
             const Plan plan = plan_of(request);
             const LaunchConfig config = {.kernel = "fused_tile_bulk",
                                          .blocks = plan.blocks,
                                          .threads = request.parameter("threads"),
                                          .shared_bytes = plan.shared_bytes};
             for_compiled(request.problem, [&](auto compiled) {
                 using C = decltype(compiled);
                 for_value<2, 3, 4>(request.parameter("stages"), [&](auto stages) {
                     launch(call.stream, config, fused_tile_bulk_kernel<typename C::type, C::head_dim, stages()>,
                            arguments_of(call), plan.tile_rows);
                 });
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
