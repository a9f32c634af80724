// fused_register: one kernel, a warp per head vector, everything in registers.
//
// Hypothesis: the whole operation fits between one load and one store of each element, so a single launch runs at the
// speed of a copy; the rotation's partner is another lane's, and one shuffle an element is cheap enough to fetch it.
//
// A lane holds a chunk of 2 or 4 neighbouring elements. A head vector of 256 is two chunks a lane, head_dim/2 apart:
// the lane then has both partners itself and the shuffle vanishes.

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {
namespace {

constexpr int chunk_size(std::int64_t head_dim) { return head_dim == 64 ? 2 : 4; }

// How a warp holds a head vector: `count` chunks of `size` elements a lane, in `lanes` of its lanes.
template <int D>
struct Chunks {
    static constexpr int size = chunk_size(D);
    static constexpr int lanes = D / size < 32 ? D / size : 32;  // 96 = 24 lanes of 4
    static constexpr int count = D / (lanes * size);
    static_assert(count * lanes * size == D && count <= 2);
};

template <class T, int D>
QK_KERNEL void fused_register_kernel(Arguments a) {
    using C = Chunks<D>;
    using V = Vector<T, C::size>;
    using Table = Vector<float, C::size>;
    const unsigned row = block() * (threads() / 32) + warp();
    const bool active = row < a.rows && lane() < C::lanes;

    float x[C::count][C::size] = {};
    float sum_of_squares = 0.0F;
    if (active) {
        for (int c = 0; c < C::count; ++c) {
            unpack(load(reinterpret_cast<const V*>(q_at<T>(a, row, D, (c * C::lanes + lane()) * C::size))), x[c]);
            for (int i = 0; i < C::size; ++i) {
                sum_of_squares += x[c][i] * x[c][i];
            }
        }
    }
    const float scale = inverse_rms(sum_lanes<32>(sum_of_squares), D, a.eps);

    // The column of this lane's first table entry: a lane of the upper half rotates with those of its partner.
    const unsigned half = C::lanes / (C::count == 1 ? 2 : 1);
    const bool upper = C::count == 1 && lane() >= half;
    const unsigned partner = upper ? lane() - half : lane() + half;
    Table cosine = {};
    Table sine = {};
    if (active) {
        const std::size_t entry = static_cast<std::size_t>(position_of(a, row)) * (D / 2) + (lane() % half) * C::size;
        cosine = load<Cache::read_only>(reinterpret_cast<const Table*>(static_cast<const float*>(a.cos) + entry));
        sine = load<Cache::read_only>(reinterpret_cast<const Table*>(static_cast<const float*>(a.sin) + entry));
        for (int c = 0; c < C::count; ++c) {
            const auto gamma = load<Cache::read_only>(static_cast<const Table*>(a.gamma_q) + (c * C::lanes + lane()));
            for (int i = 0; i < C::size; ++i) {
                x[c][i] *= scale * gamma.values[i];
            }
        }
    }
    for (int i = 0; i < C::size; ++i) {
        if constexpr (C::count == 1) {
            const float other = shuffle(x[0][i], partner);
            x[0][i] = x[0][i] * cosine.values[i] + (upper ? other : -other) * sine.values[i];
        } else {
            rotate(x[0][i], x[1][i], cosine.values[i], sine.values[i]);
        }
    }
    if (active) {
        for (int c = 0; c < C::count; ++c) {
            store(reinterpret_cast<V*>(out_at<T>(a, row, D, (c * C::lanes + lane()) * C::size)),
                  pack<T, C::size>(x[c]));
        }
    }
}

const Registration registration(
    this_backend,
    {.name = "fused_register",
     .family = Family::register_only,
     .hypothesis = "one launch, a warp per head vector, rotation by shuffle: runs at the speed of a copy",
     .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}}},
     .refuses =
         [](const Request& request) {
             const Problem& p = request.problem;
             return first_reason({refuse_head_dim(p), refuse_alignment(p, chunk_size(p.head_dim) * p.element_bytes())});
         },
     .declare =
         [](const Request& request) {
             const Problem& p = request.problem;
             const std::int64_t rows = p.rows();
             const std::int64_t chunks = p.head_dim == 256 ? 2 : 1;
             const std::int64_t row_bytes =
                 chunks * sector_bytes(begin_in_sector(p), p.head_dim / chunks * p.element_bytes());
             // Each warp asks for gamma and for one row of both tables, as many bytes again.
             return Declaration{.launches = rows > 0 ? 1 : 0,
                                .load_bytes = rows * (row_bytes + 2 * p.gamma_bytes()),
                                .store_bytes = rows * row_bytes,
                                .shared_bytes = 0};
         },
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const int threads = call.request.parameter("threads");
             const LaunchConfig config = {.kernel = "fused_register",
                                          .blocks = divide_up(call.request.problem.rows(), threads / 32),
                                          .threads = threads};
             for_compiled(call.request.problem, [&](auto compiled) {
                 using C = decltype(compiled);
                 launch(call.stream, config, fused_register_kernel<typename C::type, C::head_dim>, arguments_of(call));
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
