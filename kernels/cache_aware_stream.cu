// cache_aware_stream: fused_register_paired with a cache hint on every access.
//
// Hypothesis: q and out are used once and only push gamma and the tables out of the caches, so marking them to be
// evicted first, and the constants last, saves traffic where the data streams, and costs nothing elsewhere.
//
// The layout is that of fused_register_paired with one head vector a lane group; the hints are the only difference.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class P>
QK_KERNEL void cache_aware_stream_kernel(Arguments a) {
    one_head_a_group<P, Cache::streaming, Cache::keep>(a);
}

const Registration registration(
    this_backend, {.name = "cache_aware_stream",
                   .family = Family::cache_aware,
                   .hypothesis = "q and out marked as used once, gamma and the tables as kept: less traffic, no cost",
                   .parameters = {{"threads", "threads a block", 64, {64, 128, 256, 512}}},
                   .features = {std::begin(all_features), std::end(all_features)},
                   .refuses = [](const Request& request) { return refuse_paired(request.problem); },
                   .declare = [](const Request& request) { return declare_one_head_a_group(request.problem); },
                   .scratch_bytes = {},
                   .persisting_bytes = {},
                   .run =
                       [](const Call& call) {
                           const int threads = call.request.parameter("threads");
                           const LaunchConfig config = {.kernel = "cache_aware_stream",
                                                        .blocks = one_head_blocks(call.request.problem, threads),
                                                        .threads = threads};
                           for_widest(call.request.problem, [&](auto paired) {
                               launch(call.stream, config, cache_aware_stream_kernel<decltype(paired)>,
                                      arguments_of(call));
                           });
                       }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
