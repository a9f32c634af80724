// copy: moves q to out and computes nothing.
//
// The ceiling: no variant can be faster than moving the same bytes. One vector a thread and many blocks was the fastest
// of the copies tried on an H200 (one 16-byte vector a thread 4275 GB/s, two 4141, a grid-stride loop 3824, at 1 GiB).

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class V>
QK_KERNEL void copy_kernel(const V* from, V* to, std::int64_t count) {
    const std::int64_t i = static_cast<std::int64_t>(block()) * threads() + thread();
    if (i < count) {
        store(to + i, load(from + i));
    }
}

// The widest access, at most 16 bytes, that divides the tensors' address and length.
std::int64_t access_bytes(const Problem& problem) {
    std::int64_t bytes = std::min<std::int64_t>(16, problem.alignment());
    while (problem.tensor_bytes() % bytes != 0) {
        bytes /= 2;
    }
    return bytes;
}

// Bytes of the sectors that the warps touch in q, and in out: whole warps, then the last one.
std::int64_t requested_bytes(const Problem& problem) {
    const std::int64_t warp_bytes = 32 * access_bytes(problem);
    const std::int64_t rest = problem.tensor_bytes() % warp_bytes;
    const std::int64_t begin = begin_in_sector(problem);
    return problem.tensor_bytes() / warp_bytes * sector_bytes(begin, warp_bytes) +
           (rest > 0 ? sector_bytes(begin, rest) : 0);
}

template <class V>
void launch_copy(const Call& call) {
    const int threads = call.request.parameter("threads");
    const std::int64_t count = call.request.problem.tensor_bytes() / static_cast<std::int64_t>(sizeof(V));
    launch(call.stream, {.kernel = "copy", .blocks = divide_up(count, threads), .threads = threads}, copy_kernel<V>,
           static_cast<const V*>(call.buffers.q), static_cast<V*>(call.buffers.q_out), count);
}

const Registration registration(this_backend,
                                {.name = "copy",
                                 .family = Family::ceiling,
                                 .hypothesis = "moves the same bytes and computes nothing: no variant is faster",
                                 .parameters = {{"threads", "threads a block", 256, {128, 256, 512, 1024}}},
                                 .refuses = [](const Request&) { return std::string(); },
                                 .declare =
                                     [](const Request& request) {
                                         const Problem& p = request.problem;
                                         return Declaration{.launches = p.elements() > 0 ? 1 : 0,
                                                            .load_bytes = requested_bytes(p),
                                                            .store_bytes = requested_bytes(p),
                                                            .shared_bytes = 0};
                                     },
                                 .scratch_bytes = {},
                                 .persisting_bytes = {},
                                 .run =
                                     [](const Call& call) {
                                         switch (access_bytes(call.request.problem)) {
                                             case 16:
                                                 return launch_copy<Vector<float, 4>>(call);
                                             case 8:
                                                 return launch_copy<Vector<float, 2>>(call);
                                             case 4:
                                                 return launch_copy<float>(call);
                                             default:
                                                 return launch_copy<bf16>(call);
                                         }
                                     }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
