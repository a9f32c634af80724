// fused_tile_shared: head vectors are staged in shared memory by cp.async, several stages ahead of their use.
//
// Hypothesis: asynchronous copies keep more bytes in flight than loads that hold registers, so a block that walks over
// several tiles hides the memory's latency better than many short blocks do.
//
// A block handles `tiles` consecutive tiles, a tile being one head vector a lane group (see paired.h).
// Each lane copies just the two 16-byte chunks that it will use itself, so that waiting for its own copies is enough:
// there is no barrier in the loop. The chunks of a stage lie side by side in the order of threads: no bank conflicts.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class T, int D, int Stages>
QK_KERNEL void fused_tile_shared_kernel(Arguments a, unsigned tiles) {
    using P = OneVector<T, D>;
    using Words = typename P::Words;
    const unsigned rows_at_once = threads() / P::lanes;
    const unsigned column = P::column(0);
    const unsigned first = block() * rows_at_once * tiles;
    const unsigned end = std::min(first + rows_at_once * tiles, a.rows);
    const unsigned begin = first + thread() / P::lanes;

    Words* stages = reinterpret_cast<Words*>(shared_memory()) + thread();
    const auto fetch = [&](unsigned tile) {
        const unsigned row = begin + tile * rows_at_once;
        if (P::holds() && row < end) {
            Words* stage = stages + tile % Stages * 2 * threads();
            async_copy(stage, q_at<T>(a, row, D, column));
            async_copy(stage + threads(), q_at<T>(a, row, D, D / 2 + column));
        }
        async_commit();  // empty past the end, so that the number of groups to wait for stays the same
    };
    for (unsigned tile = 0; tile < Stages - 1; ++tile) {
        fetch(tile);
    }
    const auto gamma = P::template load_gamma<Cache::read_only>(a);
    for (unsigned tile = 0; first + tile * rows_at_once < end; ++tile) {
        const unsigned row = begin + tile * rows_at_once;
        typename P::Angles angles = {};
        if (row < end) {
            angles = P::template load_angles<Cache::read_only>(a, position_of(a, row));
        }
        async_wait<Stages - 2>();
        typename P::Head head = {};
        if (P::holds() && row < end) {
            const Words* stage = stages + tile % Stages * 2 * threads();
            head.lo[0] = shared_load(stage);
            head.hi[0] = shared_load(stage + threads());
        }
        fetch(tile + Stages - 1);  // into the stage that was read a tile ago
        P::template store_head<Cache::normal>(a, row, P::norm_and_rotate(head, gamma, angles, a.eps));
    }
}

std::int64_t shared_bytes(const Request& request) {
    return std::int64_t{32} * request.parameter("stages") * request.parameter("threads");
}

// Calls f(layout, blocks) for the problem's type and head dim.
template <class F>
void for_layout(const Request& request, F f) {
    for_compiled(request.problem, [&](auto compiled) {
        using P = OneVector<typename decltype(compiled)::type, decltype(compiled)::head_dim>;
        const std::int64_t rows =
            std::int64_t{request.parameter("threads")} / P::layout.lanes * request.parameter("tiles");
        f(P::layout, divide_up(request.problem.rows(), rows));
    });
}

const Registration registration(
    this_backend,
    {.name = "fused_tile_shared",
     .family = Family::shared_memory,
     .hypothesis = "asynchronous copies several stages ahead hide more latency than many short blocks",
     .parameters = {{"threads", "threads a block", 64, {64, 128, 256, 512}},
                    {"stages", "tiles in flight and in use", 3, {2, 3, 4}},
                    {"tiles", "tiles a block walks over", 2, {2, 4, 8, 16, 32}}},
     .refuses =
         [](const Request& request) {
             return first_reason({refuse_head_dim(request.problem), refuse_alignment(request.problem, 16),
                                  refuse_shared_bytes(request, shared_bytes(request))});
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             Declaration declared{.launches = p.rows() > 0 ? 1 : 0,
                                  .load_bytes = 0,
                                  .store_bytes = piecewise_bytes(p, 2 * p.rows()),
                                  .shared_bytes = p.rows() > 0 ? shared_bytes(request) : 0};
             for_layout(request, [&](const PairedLayout& layout, std::int64_t blocks) {
                 // Every warp asks for gamma once, and in each tile for the tables of its rows. The copies of each
                 // quarter-warp, of up to 128 bytes, ask for their sectors whatever the other quarters ask for.
                 const std::int64_t copies = 2 * p.rows() * divide_up(p.head_dim / 2 * p.element_bytes(), 128);
                 const std::int64_t warps = blocks * (request.parameter("threads") / 32);
                 declared.load_bytes =
                     piecewise_bytes(p, copies) +
                     (warps + positions_touched(p, layout.rows_at_once())) * paired_constant_bytes(p, layout);
             });
             return declared;
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const Request& request = call.request;
             LaunchConfig config = {.kernel = "fused_tile_shared",
                                    .blocks = 0,
                                    .threads = request.parameter("threads"),
                                    .shared_bytes = shared_bytes(request)};
             for_layout(request, [&](const PairedLayout&, std::int64_t blocks) { config.blocks = blocks; });
             for_compiled(request.problem, [&](auto compiled) {
                 using C = decltype(compiled);
                 for_value<2, 3, 4>(request.parameter("stages"), [&](auto stages) {
                     launch(call.stream, config, fused_tile_shared_kernel<typename C::type, C::head_dim, stages()>,
                            arguments_of(call), request.parameter("tiles"));
                 });
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
