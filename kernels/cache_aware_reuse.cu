// cache_aware_reuse: position-major, the constants held in registers across heads and batch.
//
// Hypothesis: all head vectors of a position, over heads and batch, rotate by the same angles; a warp that takes only
// these loads gamma and the tables once, and what the caches deliver shrinks to nearly q alone.
//
// The layout within a warp is that of paired.h. A position's items (batch x heads) are split into equal parts, one a
// warp: as many items as `reuse` says, fewer where there would not be enough warps to fill the device. Neighbouring
// warps take neighbouring positions, so that the blocks that run together read neighbouring memory.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

// `turns` head vectors a lane group, `parts` warps a position.
struct Split {
    unsigned turns;
    std::int64_t parts;
};

Split split_of(const Request& request) {
    const Problem& p = request.problem;
    if (p.rows() == 0) {
        return {0, 0};
    }
    constexpr std::int64_t enough_warps = 8;  // a multiprocessor; each has the loads of two turns in flight
    const std::int64_t at_once = widest_layout(p).rows_at_once();
    const std::int64_t filling = p.rows() / (at_once * enough_warps * request.limits.multiprocessors);
    const std::int64_t most = std::clamp<std::int64_t>(filling, 1, request.parameter("reuse"));
    const std::int64_t items = p.batch * p.heads;
    const std::int64_t turns = divide_up(items, at_once * divide_up(items, at_once * most));
    return {static_cast<unsigned>(turns), divide_up(items, at_once * turns)};
}

// The row of item i of a position, in row-major (batch, head); past the last row for an item past the last.
QK_DEVICE unsigned row_of_item(const Arguments& a, unsigned position, unsigned item, unsigned items) {
    return item < items ? (item / a.heads * a.sequence + position) * a.heads + item % a.heads : a.rows;
}

template <class P>
QK_KERNEL void cache_aware_reuse_kernel(Arguments a, unsigned turns, unsigned parts) {
    const unsigned index = block() * (threads() / 32) + warp();
    const unsigned part = index / a.sequence;
    if (part >= parts) {
        return;  // the whole warp
    }
    const unsigned position = index % a.sequence;
    const unsigned items = a.rows / a.sequence;
    const unsigned first = part * turns * P::rows_at_once;
    unsigned item = first + P::group();
    unsigned row = row_of_item(a, position, item, items);
    auto head = P::template load_head<Cache::normal>(a, row);
    const auto angles = P::template load_angles_at<Cache::read_only>(a, position);
    const auto gamma = P::template load_gamma<Cache::read_only>(a, 0);
    for (unsigned turn = 0; turn < turns; ++turn) {
        item += P::rows_at_once;
        const unsigned next_row = turn + 1 < turns ? row_of_item(a, position, item, items) : a.rows;
        const auto next = P::template load_head<Cache::normal>(a, next_row);
        P::template store_head<Cache::normal>(a, row, P::norm_and_rotate(a, head, gamma, angles));
        head = next;
        row = next_row;
    }
}

const Registration registration(
    this_backend,
    {.name = "cache_aware_reuse",
     .family = Family::cache_aware,
     .hypothesis = "position-major: angles and gamma in registers across heads and batch, loaded once a warp",
     .parameters =
         {{"threads", "threads a block", 64, {64, 128, 256, 512}},
          {"reuse", "head vectors that a lane group takes at most, all of one position", 4, {1, 2, 4, 8, 16, 32}}},
     .features = {Feature::in_place},
     .refuses = [](const Request& request) { return refuse_paired(request.problem); },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const PairedLayout layout = widest_layout(p);
             const std::int64_t warps = p.sequence * split_of(request).parts;
             const std::int64_t constants =
                 paired_gamma_bytes(p, layout) +
                 TableRequests(p, PairedRequests(p, layout).table()).position_bytes(0);  // as of every other
             return Declaration{.launches = p.rows() > 0 ? 1 : 0,
                                .load_bytes = paired_tensor_bytes(p, layout) + warps * constants,
                                .store_bytes = paired_tensor_bytes(p, layout),
                                .shared_bytes = 0};
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const int threads = call.request.parameter("threads");
             const Split split = split_of(call.request);
             const std::int64_t warps = call.request.problem.sequence * split.parts;
             const LaunchConfig config = {
                 .kernel = "cache_aware_reuse", .blocks = divide_up(warps, threads / 32), .threads = threads};
             for_plain(call.request.problem, [&](auto paired) {
                 launch(call.stream, config, cache_aware_reuse_kernel<decltype(paired)>, arguments_of(call),
                        split.turns, static_cast<unsigned>(split.parts));
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
