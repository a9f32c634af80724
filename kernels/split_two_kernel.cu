// split_two_kernel: a reduction kernel, then everything pointwise in a second one.
//
// Hypothesis: a compiler that does not fuse a reduction with what uses it (what torch.compile makes of this operation)
// reads q twice; both kernels run at the speed of memory, so it takes half again as long as one kernel where the data
// streams, and a launch more where it does not.
//
// Both kernels use the layout of paired.h. Between them lies one f32 a row, 1 / rms.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class P>
QK_KERNEL void reduce_kernel(Arguments a) {
    const unsigned first = (block() * (threads() / 32) + warp()) * P::rows_at_once;
    if (first >= a.rows) {
        return;  // the whole warp
    }
    const unsigned row = first + P::group();
    const float sum = P::sum_of_squares(P::template load_head<Cache::normal>(a, row));
    if (row < a.rows && lane() % P::lanes == 0) {
        store(static_cast<float*>(a.scratch) + row, inverse_rms(sum, P::head_dim, a.eps));
    }
}

template <class P>
QK_KERNEL void pointwise_kernel(Arguments a) {
    const unsigned first = (block() * (threads() / 32) + warp()) * P::rows_at_once;
    if (first >= a.rows) {
        return;  // the whole warp
    }
    const unsigned row = first + P::group();
    const unsigned existing_row = row < a.rows ? row : a.rows - 1;
    const auto head = P::template load_head<Cache::normal>(a, row);
    const float scale = load<Cache::read_only>(static_cast<const float*>(a.scratch) + existing_row);
    const auto angles = P::template load_angles<Cache::read_only>(a, existing_row);
    const auto gamma = P::template load_gamma<Cache::read_only>(a, existing_row);
    P::template store_head<Cache::normal>(a, row, P::apply(a, head, scale, gamma, angles));
}

const Registration registration(
    this_backend,
    {.name = "split_two_kernel",
     .family = Family::split,
     .hypothesis = "a reduction, then everything pointwise: q is read twice, so half again the time of one kernel",
     .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses = [](const Request& request) { return refuse_paired(request.problem); },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const PairedLayout layout = widest_layout(p);
             Declaration declaration = declare_one_head_a_group(p);
             // The scales of the rows that a warp holds at once, at most 8, lie in one sector.
             const std::int64_t scales = divide_up(p.rows(), layout.rows_at_once()) * bytes_of_sector;
             declaration.launches *= 2;
             declaration.load_bytes += paired_tensor_bytes(p, layout) + scales;
             declaration.store_bytes += scales;
             return declaration;
         },
     .scratch_bytes = [](const Request& request) { return request.problem.rows() * 4; },
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const int threads = call.request.parameter("threads");
             LaunchConfig config = {.kernel = "split_two_kernel, reduction",
                                    .blocks = one_head_blocks(call.request.problem, threads),
                                    .threads = threads};
             for_widest(call.request.problem, [&](auto paired) {
                 using P = decltype(paired);
                 launch(call.stream, config, reduce_kernel<P>, arguments_of(call));
                 config.kernel = "split_two_kernel, pointwise";
                 launch(call.stream, config, pointwise_kernel<P>, arguments_of(call));
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
