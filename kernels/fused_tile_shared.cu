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

template <class P, int Stages>
QK_KERNEL void fused_tile_shared_kernel(Arguments a, unsigned tiles) {
    using T = typename P::type;
    using Words = typename P::Words;
    const unsigned rows_at_once = threads() / P::lanes;
    const unsigned lower = P::lower(a, 0);
    const unsigned upper = P::upper(a, 0);
    const unsigned first = block() * rows_at_once * tiles;
    const unsigned end = std::min(first + rows_at_once * tiles, a.rows);
    const unsigned begin = first + thread() / P::lanes;

    Words* stages = reinterpret_cast<Words*>(shared_memory()) + thread();
    const auto fetch = [&](unsigned tile) {
        const unsigned row = begin + tile * rows_at_once;
        if (P::holds() && row < end) {
            Words* stage = stages + tile % Stages * 2 * threads();
            async_copy(stage, q_at<T, P::form>(a, row, P::head_dim, lower));
            async_copy(stage + threads(), q_at<T, P::form>(a, row, P::head_dim, upper));
        }
        async_commit();  // empty past the end, so that the number of groups to wait for stays the same
    };
    for (unsigned tile = 0; tile < Stages - 1; ++tile) {
        fetch(tile);
    }
    typename P::Gamma gamma = {};
    if constexpr (P::form == Form::plain) {
        gamma = P::template load_gamma<Cache::read_only>(a, 0);
    }
    for (unsigned tile = 0; first + tile * rows_at_once < end; ++tile) {
        const unsigned row = begin + tile * rows_at_once;
        typename P::Angles angles = {};
        if (row < end) {
            angles = P::template load_angles<Cache::read_only>(a, row);
            if constexpr (P::form != Form::plain) {
                gamma = P::template load_gamma<Cache::read_only>(a, row);
            }
        }
        async_wait<Stages - 2>();
        typename P::Head head = {};
        if (P::holds() && row < end) {
            const Words* stage = stages + tile % Stages * 2 * threads();
            head.lo[0] = shared_load(stage);
            head.hi[0] = shared_load(stage + threads());
        }
        fetch(tile + Stages - 1);  // into the stage that was read a tile ago
        P::template store_head<Cache::normal>(a, row, P::norm_and_rotate(a, head, gamma, angles));
    }
}

std::int64_t shared_bytes(const Request& request) {
    return std::int64_t{32} * request.parameter("stages") * request.parameter("threads");
}

// Calls f(OneVector<...>{}) for the problem's type, head dim and form.
template <class F>
void for_one_vector(const Problem& problem, F f) {
    for_compiled(problem, [&]<class T, int D>(Compiled<T, D>) {
        for_form(problem, [&](auto form) { f(OneVector<T, D, 16 / sizeof(T), form()>{}); });
    });
}

PairedLayout layout_of(const Problem& problem) {
    PairedLayout layout = {};
    for_one_vector(problem, [&](auto paired) { layout = decltype(paired)::layout; });
    return layout;
}

std::int64_t blocks_of(const Request& request) {
    const std::int64_t rows = std::int64_t{request.parameter("threads")} / layout_of(request.problem).lanes;
    return divide_up(request.problem.rows(), rows * request.parameter("tiles"));
}

std::string refuse_cut_vectors(const Problem& p) {
    if (whole_vectors_rotate(p, 16 / bytes_of(p.dtype))) {
        return {};
    }
    return "a rotary dim of " + std::to_string(p.rotary()) +
           " rotates parts of the 16 bytes that one asynchronous copy moves";
}

// The copies of each quarter-warp, of up to 128 bytes, ask for their sectors whatever the other quarters ask for.
std::vector<Instruction> by_quarter_warp(const std::vector<Instruction>& instructions) {
    constexpr std::ptrdiff_t quarter = 8;  // lanes
    std::vector<Instruction> quarters;
    for (const Instruction& whole : instructions) {
        for (auto first = whole.begin(); first != whole.end();) {
            const auto last = first + std::min(quarter, whole.end() - first);
            quarters.emplace_back(first, last);
            first = last;
        }
    }
    return quarters;
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const PairedLayout layout = layout_of(p);
    const PairedRequests requests(p, layout);
    const std::int64_t rows_at_once = layout.rows_at_once();
    const std::int64_t warps = blocks_of(request) * (request.parameter("threads") / 32);
    // In the plain form every warp asks for gamma once; otherwise, as for the tables, in each tile.
    const std::int64_t gamma =
        p.is_plain() ? warps * paired_gamma_bytes(p, layout) : paired_gamma_bytes(p, layout, rows_at_once);
    return {.launches = p.rows() > 0 ? 1 : 0,
            .load_bytes = tensor_bytes_requested(p, by_quarter_warp(requests.head())) + gamma +
                          paired_table_bytes(p, layout, rows_at_once),
            .store_bytes = paired_tensor_bytes(p, layout),
            .shared_bytes = p.rows() > 0 ? shared_bytes(request) : 0};
}

const Registration registration(
    this_backend, {.name = "fused_tile_shared",
                   .family = Family::shared_memory,
                   .hypothesis = "asynchronous copies several stages ahead hide more latency than many short blocks",
                   .parameters = {{"threads", "threads a block", 64, {64, 128, 256, 512}},
                                  {"stages", "tiles in flight and in use", 3, {2, 3, 4}},
                                  {"tiles", "tiles a block walks over", 2, {2, 4, 8, 16, 32}}},
                   .features = {std::begin(all_features), std::end(all_features)},
                   .refuses =
                       [](const Request& request) {
                           const Problem& p = request.problem;
                           return first_reason({refuse_head_dim(p), refuse_alignment(p, 16), refuse_cut_vectors(p),
                                                refuse_shared_bytes(request, shared_bytes(request))});
                       },
                   .declare = declare,
                   .scratch_bytes = {},
                   .persisting_bytes = {},
                   .run =
                       [](const Call& call) {
                           const Request& request = call.request;
                           const LaunchConfig config = {.kernel = "fused_tile_shared",
                                                        .blocks = blocks_of(request),
                                                        .threads = request.parameter("threads"),
                                                        .shared_bytes = shared_bytes(request)};
                           for_one_vector(request.problem, [&](auto paired) {
                               for_value<2, 3, 4>(request.parameter("stages"), [&](auto stages) {
                                   launch(call.stream, config, fused_tile_shared_kernel<decltype(paired), stages()>,
                                          arguments_of(call), request.parameter("tiles"));
                               });
                           });
                       }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
