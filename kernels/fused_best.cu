// fused_best: a stand-in. Its parameters are there to be chosen by the tuning table; what it runs does not follow them
// yet.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class P>
QK_KERNEL void best_kernel(Arguments a) {
    one_head_a_group<P, Cache::normal, Cache::read_only>(a);
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const PairedLayout layout = widest_layout(p);
    const std::int64_t gamma = paired_gamma_bytes(p, layout);
    TableRequests tables(p, PairedRequests(p, layout).table());
    std::int64_t constants = 0;
    for_each_access(p, layout.rows_at_once(), [&](const Access& warp) {
        constants += warp.times * (gammas_of(p, warp) * gamma + tables.bytes({warp.first, warp.rows, 1}));
    });
    const std::int64_t tensor = paired_tensor_bytes(p, layout);
    return {
        .launches = p.rows() > 0 ? 1 : 0, .load_bytes = tensor + constants, .store_bytes = tensor, .shared_bytes = 0};
}

const Registration registration(
    this_backend,
    {.name = "fused_best",
     .family = Family::register_only,
     .hypothesis = "one launch, with the parameters that were measured to be the fastest for each problem",
     .parameters = {{"heads", "head vectors that a lane group takes one after the other", as_tuned, {1, 2, 4, 8}},
                    {"lanes", "lanes a head vector", as_tuned, {4, 8, 16, 32}},
                    {"threads", "threads a block", as_tuned, {64, 128, 256, 512}},
                    {"streaming", "1: loads and stores are hinted to be used once", as_tuned, {0, 1}},
                    {"programmatic", "1: launched before the kernel ahead of it has ended", as_tuned, {0, 1}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses =
         [](const Request& request) {
             return first_reason({refuse_head_dim(request.problem), refuse_paired(request.problem)});
         },
     .declare = declare,
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             for_widest(call.request.problem, [&](auto paired) {
                 using P = decltype(paired);
                 const int threads = call.request.parameter("threads");
                 const LaunchConfig config = {
                     .kernel = "fused_best",
                     .blocks =
                         divide_up(call.request.problem.rows(), std::int64_t{threads} / 32 * P::layout.rows_at_once()),
                     .threads = threads};
                 launch(call.stream, config, best_kernel<P>, arguments_of(call));
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
