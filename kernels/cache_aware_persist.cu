// cache_aware_persist: fused_register_paired with an L2 access policy window on the tables.
//
// Hypothesis: the tables are read again for every sequence of the batch, while q and out stream through the L2; setting
// a part of the L2 aside for the tables saves reading them from DRAM again and again.
//
// The layout is that of fused_register_paired with one head vector a lane group; the window is the only difference. One
// window covers both tables, which lie one after the other.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class P>
QK_KERNEL void cache_aware_persist_kernel(Arguments a) {
    one_head_a_group<P, Cache::normal, Cache::read_only>(a);
}

std::int64_t window_bytes(const Request& request) { return 2 * request.problem.table_bytes(); }

std::string refuse_window(const Request& request) {
    if (window_bytes(request) <= request.limits.persisting_l2_bytes) {
        return {};
    }
    if (request.limits.persisting_l2_bytes == 0) {
        return "the device cannot set L2 aside";
    }
    return "the tables are " + std::to_string(window_bytes(request)) + " bytes and the device sets at most " +
           std::to_string(request.limits.persisting_l2_bytes) + " bytes of L2 aside";
}

const Registration registration(
    this_backend,
    {.name = "cache_aware_persist",
     .family = Family::cache_aware,
     .hypothesis = "an L2 set-aside for the tables: they are read from DRAM once, whatever streams past",
     .parameters = {{"threads", "threads a block", 64, {64, 128, 256, 512}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses =
         [](const Request& request) {
             return first_reason({refuse_paired(request.problem), refuse_window(request)});
         },
     .declare = [](const Request& request) { return declare_one_head_a_group(request.problem); },
     .scratch_bytes = {},
     .persisting_bytes = window_bytes,
     .run =
         [](const Call& call) {
             const Problem& p = call.request.problem;
             if (call.buffers.sin != static_cast<const std::byte*>(call.buffers.cos) + p.table_bytes()) {
                 throw LaunchError(
                     "cache_aware_persist needs the table of sines right behind that of cosines: allocate "
                     "them as one.");
             }
             const int threads = call.request.parameter("threads");
             const LaunchConfig config = {.kernel = "cache_aware_persist",
                                          .blocks = one_head_blocks(p, threads),
                                          .threads = threads,
                                          .persisting = call.buffers.cos,
                                          .persisting_bytes = window_bytes(call.request)};
             for_widest(p, [&](auto paired) {
                 launch(call.stream, config, cache_aware_persist_kernel<decltype(paired)>, arguments_of(call));
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
