// fused_register_paired: one kernel, both partners of a rotation in one lane.
//
// Hypothesis: without the shuffles of the rotation, and with several head vectors to one load of gamma and of the
// tables, less stands between a load and its store: as fast as a copy when streaming, and faster than a warp per head
// vector when the data is resident in the L2, where the constants are two thirds of what the L1 delivers.
//
// A lane group takes `heads` head vectors, one after the other, the loads of the next one in flight while one is
// computed. At each turn a warp's groups take neighbouring rows. Gamma stays in registers where all rows of the warp
// have the same one, and so do the table rows where all are of one token; otherwise they are loaded at each turn. The
// lane groups compiled are those that give each lane 16 bytes of each half (as near as the head dim allows) and, for
// the first form, those half as wide, not below 4 lanes: with 2 the constants alone would take most of the registers.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class P>
QK_KERNEL void one_head_kernel(Arguments a) {
    one_head_a_group<P, Cache::normal, Cache::read_only>(a);
}

template <class P>
QK_KERNEL_UP_TO(512, 0)
void several_heads_kernel(Arguments a, unsigned heads) {
    const unsigned first = (block() * (threads() / 32) + warp()) * heads * P::rows_at_once;
    if (first >= a.rows) {
        return;  // the whole warp
    }
    const unsigned end = a.rows - first < heads * P::rows_at_once ? a.rows : first + heads * P::rows_at_once;
    const bool one_token = first / a.heads == (end - 1) / a.heads;
    const bool one_gamma =
        P::form == Form::plain || a.query_heads == a.heads || (one_token && is_key(a, first) == is_key(a, end - 1));
    unsigned row = first + P::group();
    const unsigned existing_row = row < a.rows ? row : a.rows - 1;
    auto head = P::template load_head<Cache::normal>(a, row);
    auto angles = P::template load_angles<Cache::read_only>(a, existing_row);
    auto gamma = P::template load_gamma<Cache::read_only>(a, existing_row);
    for (unsigned turn = first; turn < end; turn += P::rows_at_once) {  // the same for all lanes of the warp
        const unsigned next_row = row + P::rows_at_once;
        const bool another = turn + P::rows_at_once < end;
        typename P::Head next = {};
        if (another) {
            next = P::template load_head<Cache::normal>(a, next_row);
        }
        P::template store_head<Cache::normal>(a, row, P::norm_and_rotate(a, head, gamma, angles));
        const unsigned existing_next = next_row < a.rows ? next_row : a.rows - 1;
        if (another && !one_token) {
            angles = P::template load_angles<Cache::read_only>(a, existing_next);
        }
        if (another && !one_gamma) {
            gamma = P::template load_gamma<Cache::read_only>(a, existing_next);
        }
        head = next;
        row = next_row;
    }
}

PairedLayout layout_of(const Request& request) {
    const Problem& p = request.problem;
    const PairedLayout widest = widest_layout(p);
    const int lanes = request.parameter("lanes");
    return lanes == 0 || lanes == widest.lanes ? widest
                                               : paired_layout(static_cast<int>(p.head_dim), bytes_of(p.dtype), lanes);
}

// The narrower of the two lane groups that are compiled; the same as the wider where that has 4 lanes.
constexpr int narrow_lanes(int widest) { return std::max(widest / 2, 4); }

std::string refuse_lanes(const Request& request) {
    const Problem& p = request.problem;
    const int lanes = request.parameter("lanes");
    const int widest = widest_layout(p).lanes;
    const int narrow = p.is_plain() ? narrow_lanes(widest) : widest;
    if (lanes == 0 || lanes == widest || lanes == narrow) {
        return {};
    }
    const std::string or_narrow = narrow == widest ? "" : " lanes or " + std::to_string(narrow);
    return "for head_dim " + std::to_string(p.head_dim) + " in " + name_of(p.dtype) + " it is compiled for " +
           std::to_string(widest) + or_narrow + ", not " + std::to_string(lanes);
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const PairedLayout layout = layout_of(request);
    const std::int64_t rows_at_once = layout.rows_at_once();
    const std::int64_t gamma = paired_gamma_bytes(p, layout);
    TableRequests tables(p, PairedRequests(p, layout).table());
    std::int64_t constants = 0;
    for_each_access(p, rows_at_once * request.parameter("heads"), [&](const Access& warp) {
        const bool one_token = of_one_token(p, warp);
        const bool one_gamma = p.key_heads == 0 || (one_token && gammas_of(p, warp) == 1);
        for (std::int64_t row = 0; row < warp.rows; row += rows_at_once) {
            const Access turn = {warp.first + row, std::min(rows_at_once, warp.rows - row), 1};
            constants += warp.times * (row == 0 || !one_gamma ? gammas_of(p, turn) * gamma : 0);
            constants += warp.times * (row == 0 || !one_token ? tables.bytes(turn) : 0);
        }
    });
    const std::int64_t tensor = paired_tensor_bytes(p, layout);
    return {
        .launches = p.rows() > 0 ? 1 : 0, .load_bytes = tensor + constants, .store_bytes = tensor, .shared_bytes = 0};
}

template <class P>
void launch_for(const Call& call) {
    const int threads = call.request.parameter("threads");
    const int heads = call.request.parameter("heads");
    const std::int64_t rows_per_block = std::int64_t{threads} / 32 * P::layout.rows_at_once() * heads;
    const LaunchConfig config = {.kernel = "fused_register_paired",
                                 .blocks = divide_up(call.request.problem.rows(), rows_per_block),
                                 .threads = threads};
    if (heads == 1) {
        launch(call.stream, config, one_head_kernel<P>, arguments_of(call));
    } else {
        launch(call.stream, config, several_heads_kernel<P>, arguments_of(call), static_cast<unsigned>(heads));
    }
}

const Registration registration(
    this_backend,
    {.name = "fused_register_paired",
     .family = Family::register_only,
     .hypothesis = "one launch, both partners in one lane: no shuffle to rotate, constants shared by several heads",
     .parameters =
         {{"threads", "threads a block", 64, {64, 128, 256, 512}},
          {"lanes", "lanes a head vector; 0: as many as leave each 16 bytes of each half", 0, {0, 4, 8, 16, 32}},
          {"heads", "head vectors that a lane group takes one after the other", 1, {1, 2, 4, 8, 16}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses =
         [](const Request& request) {
             const std::string reason = first_reason({refuse_head_dim(request.problem)});
             return reason.empty() ? first_reason({refuse_lanes(request), refuse_paired(request.problem)}) : reason;
         },
     .declare = declare,
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             for_widest(call.request.problem, [&](auto paired) {
                 using P = decltype(paired);
                 if constexpr (P::form == Form::plain) {
                     if (layout_of(call.request).lanes != P::layout.lanes) {
                         return launch_for<Paired<typename P::type, P::head_dim, narrow_lanes(P::layout.lanes)>>(call);
                     }
                 }
                 launch_for<P>(call);
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
