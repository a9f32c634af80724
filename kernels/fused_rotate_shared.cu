// fused_rotate_shared: as fused_register, but the rotation's partner comes through shared memory.
//
// Hypothesis: exchanging the halves through shared memory costs no more than a shuffle an element; each lane writes its
// normalised chunk, the warp meets, and each lane reads its partner's chunk. No block barrier: a warp exchanges only
// with itself.
//
// Half of a warp's active lanes hold the lower half of the head vector, the other half the upper. In shared memory the
// 16-byte parts of a warp's lanes lie side by side, part by part, so that neither write nor read meets a bank conflict.

#include "head_vector.h"

namespace qkprof::inline QK_BUILD {
namespace {

// `count` chunks of `size` elements a lane, in `half` lanes for each half of the head vector.
template <class T, int D>
struct Halves {
    static constexpr int widest = 16 / static_cast<int>(sizeof(T));
    static constexpr int size = D == 64 ? 2 : D == 256 ? widest : 4;
    static constexpr int half = D / 2 / size < 16 ? D / 2 / size : 16;
    static constexpr int count = D / (2 * half * size);
    static constexpr int part = size < 4 ? size : 4;  // floats a shared access
    static_assert(count * 2 * half * size == D);
};

template <class T, int D>
QK_KERNEL void fused_rotate_shared_kernel(Arguments a) {
    using C = Halves<T, D>;
    using V = Vector<T, C::size>;
    using Part = Vector<float, C::part>;
    constexpr int values = C::count * C::size;  // elements a lane
    const unsigned row = block() * (threads() / 32) + warp();
    const bool active = row < a.rows && lane() < 2 * C::half;
    const bool upper = lane() >= C::half;
    const unsigned partner = upper ? lane() - C::half : lane() + C::half;
    const unsigned entry = lane() % C::half * C::size;  // of the lane's first chunk, in its half
    const unsigned column = (upper ? D / 2 : 0) + entry;
    constexpr unsigned next_chunk = C::half * C::size;

    float y[values] = {};
    float sum = 0.0F;
    if (active) {
        for (int c = 0; c < C::count; ++c) {
            unpack(load(reinterpret_cast<const V*>(q_at<T>(a, row, D, column + c * next_chunk))), y + c * C::size);
        }
        for (int i = 0; i < values; ++i) {
            sum += y[i] * y[i];
        }
    }
    const float scale = inverse_rms(sum_lanes<32>(sum), D, a.eps);

    Part* exchange = reinterpret_cast<Part*>(shared_memory()) + warp() * (D / C::part);
    if (active) {
        for (int i = 0; i < values; i += C::part) {
            const unsigned within = i / C::size * next_chunk + i % C::size;
            const auto gamma = load<Cache::read_only>(
                reinterpret_cast<const Part*>(static_cast<const float*>(a.gamma_q) + column + within));
            for (int j = 0; j < C::part; ++j) {
                y[i + j] *= scale * gamma.values[j];
            }
            shared_store(exchange + (i / C::part * 2 * C::half + lane()), pack<float, C::part>(y + i));
        }
    }
    warp_barrier();
    if (active) {
        const std::size_t table = static_cast<std::size_t>(position_of(a, row)) * (D / 2) + entry;
        for (int i = 0; i < values; i += C::part) {
            const unsigned within = i / C::size * next_chunk + i % C::size;
            const auto cosine = load<Cache::read_only>(
                reinterpret_cast<const Part*>(static_cast<const float*>(a.cos) + table + within));
            const auto sine = load<Cache::read_only>(
                reinterpret_cast<const Part*>(static_cast<const float*>(a.sin) + table + within));
            const Part other = shared_load(exchange + (i / C::part * 2 * C::half + partner));
            for (int j = 0; j < C::part; ++j) {
                y[i + j] = y[i + j] * cosine.values[j] + (upper ? other.values[j] : -other.values[j]) * sine.values[j];
            }
        }
        for (int c = 0; c < C::count; ++c) {
            store(reinterpret_cast<V*>(out_at<T>(a, row, D, column + c * next_chunk)),
                  pack<T, C::size>(y + c * C::size));
        }
    }
}

std::int64_t shared_bytes(const Request& request) {
    return request.parameter("threads") / 32 * request.problem.gamma_bytes();
}

// The accesses that take a warp through a row: pieces of `size` elements, one of each half a lane pair, as far apart as
// chunks are.
template <class C, int D>
std::vector<Instruction> pieces_of(int size) {
    std::vector<Instruction> instructions;
    for (int i = 0; i < C::count * C::size; i += size) {
        Instruction pieces;
        for (int lane = 0; lane < 2 * C::half; ++lane) {
            const int chunk = (i / C::size * C::half + lane % C::half) * C::size;
            pieces.push_back({lane / C::half * (D / 2) + chunk + i % C::size, size});
        }
        instructions.push_back(std::move(pieces));
    }
    return instructions;
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    Declaration declared{.launches = p.rows() > 0 ? 1 : 0,
                         .load_bytes = 0,
                         .store_bytes = 0,
                         .shared_bytes = p.rows() > 0 ? shared_bytes(request) : 0};
    for_compiled(p, [&]<class T, int D>(Compiled<T, D>) {
        using C = Halves<T, D>;
        const std::int64_t tensor = tensor_bytes_requested(p, pieces_of<C, D>(C::size));
        // A warp asks for gamma, and for one row of both tables, as many bytes again: either half by the same entries.
        const auto parts = pieces_of<C, D>(C::part);
        declared.load_bytes = tensor + 2 * p.rows() * requested_bytes(parts, 0, bytes_of(p.gamma_dtype));
        declared.store_bytes = tensor;
    });
    return declared;
}

const Registration registration(
    this_backend, {.name = "fused_rotate_shared",
                   .family = Family::shared_memory,
                   .hypothesis = "the partner through shared memory costs no more than by shuffle",
                   .parameters = {{"threads", "threads a block", 128, {64, 128, 256, 512}}},
                   .features = {Feature::in_place},
                   .refuses =
                       [](const Request& request) {
                           return first_reason({refuse_head_dim(request.problem), refuse_alignment(request.problem, 16),
                                                refuse_shared_bytes(request, shared_bytes(request))});
                       },
                   .declare = declare,
                   .scratch_bytes = {},
                   .persisting_bytes = {},
                   .run =
                       [](const Call& call) {
                           const int threads = call.request.parameter("threads");
                           const LaunchConfig config = {.kernel = "fused_rotate_shared",
                                                        .blocks = divide_up(call.request.problem.rows(), threads / 32),
                                                        .threads = threads,
                                                        .shared_bytes = shared_bytes(call.request)};
                           for_compiled(call.request.problem, [&](auto compiled) {
                               using C = decltype(compiled);
                               launch(call.stream, config, fused_rotate_shared_kernel<typename C::type, C::head_dim>,
                                      arguments_of(call));
                           });
                       }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
