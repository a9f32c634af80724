// fused_tile_shared: head vectors are staged in shared memory by cp.async, several stages ahead of their use.
//
// Hypothesis: asynchronous copies keep more bytes in flight than loads that hold registers, so a block that walks over
// several tiles hides the memory's latency better than many short blocks do.
//
// A block handles `tiles` consecutive tiles, a tile being one head vector a lane group (pairs, see paired_lanes.h).
// Each lane copies just the two 16-byte chunks that it will use itself, so that waiting for its own copies is enough:
// there is no barrier in the loop. The chunks of a stage lie side by side in the order of threads: no bank conflicts.

#include "paired_lanes.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class T, int D, int Stages>
QK_KERNEL void fused_tile_shared_kernel(Arguments a, unsigned tiles) {
    using L = PairedLanes<T, D>;
    using V = Vector<T, L::size>;
    const unsigned rows_at_once = threads() / L::lanes;
    const unsigned entry = thread() % L::lanes * L::size;
    const bool holds = thread() % L::lanes < L::active;
    const unsigned first = block() * rows_at_once * tiles;
    const unsigned end = std::min(first + rows_at_once * tiles, a.rows);
    const unsigned begin = first + thread() / L::lanes;

    V* stages = reinterpret_cast<V*>(shared_memory()) + thread();
    const auto fetch = [&](unsigned tile) {
        const unsigned row = begin + tile * rows_at_once;
        if (holds && row < end) {
            V* stage = stages + tile % Stages * 2 * threads();
            async_copy(stage, q_at<T>(a, row, D, entry));
            async_copy(stage + threads(), q_at<T>(a, row, D, D / 2 + entry));
        }
        async_commit();  // empty past the end, so that the number of groups to wait for stays the same
    };
    for (unsigned tile = 0; tile < Stages - 1; ++tile) {
        fetch(tile);
    }
    float gamma[2][L::size] = {};
    if (holds) {
        load_constants(a.gamma + entry, gamma[0]);
        load_constants(a.gamma + D / 2 + entry, gamma[1]);
    }
    for (unsigned tile = 0; first + tile * rows_at_once < end; ++tile) {
        const unsigned row = begin + tile * rows_at_once;
        const bool active = holds && row < end;
        float cosine[L::size] = {};
        float sine[L::size] = {};
        if (active) {
            const std::size_t table = static_cast<std::size_t>(position_of(a, row)) * (D / 2) + entry;
            load_constants(a.cos + table, cosine);
            load_constants(a.sin + table, sine);
        }
        async_wait<Stages - 2>();
        float x[2][L::size] = {};
        if (active) {
            const V* stage = stages + tile % Stages * 2 * threads();
            unpack(shared_load(stage), x[0]);
            unpack(shared_load(stage + threads()), x[1]);
        }
        fetch(tile + Stages - 1);  // into the stage that was read a tile ago
        const float scale = inverse_rms(sum_lanes<L::lanes>(sum_of_squares(x[0], x[1])), D, a.eps);
        normalise_and_rotate(x[0], x[1], scale, gamma, cosine, sine);
        if (active) {
            store(reinterpret_cast<V*>(out_at<T>(a, row, D, entry)), pack<T, L::size>(x[0]));
            store(reinterpret_cast<V*>(out_at<T>(a, row, D, D / 2 + entry)), pack<T, L::size>(x[1]));
        }
    }
}

std::int64_t shared_bytes(const Request& request) {
    return std::int64_t{32} * request.parameter("stages") * request.parameter("threads");
}

// Calls f(layout, blocks) for the problem's type and head dim.
template <class F>
void for_layout(const Request& request, F f) {
    for_compiled(request.problem, [&](auto compiled) {
        using L = PairedLanes<typename decltype(compiled)::type, decltype(compiled)::head_dim>;
        const std::int64_t rows = std::int64_t{request.parameter("threads")} / L::lanes * request.parameter("tiles");
        f(L{}, divide_up(request.problem.rows(), rows));
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
             for_layout(request, [&](auto layout, std::int64_t blocks) {
                 using L = decltype(layout);
                 // Every warp asks for gamma once, and in each tile for the tables of its rows; a lane's
                 // floats of a table take `table_accesses`, each of which touches every sector.
                 const std::int64_t warps = blocks * (request.parameter("threads") / 32);
                 declared.load_bytes = piecewise_bytes(p, 2 * p.rows()) +
                                       (warps + positions_touched(p, L::rows)) * p.gamma_bytes() * L::table_accesses;
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
             for_layout(request, [&](auto, std::int64_t blocks) { config.blocks = blocks; });
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
