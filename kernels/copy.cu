// copy: moves the head vectors of q and k and computes nothing.
//
// The ceiling: no variant can be faster than moving the same bytes. One vector a thread and many blocks was the fastest
// of the copies tried on an H200 (one 16-byte vector a thread 4275 GB/s, two 4141, a grid-stride loop 3824, at 1 GiB).
//
// A tensor is runs of memory with gaps between them, a token's head vectors each: in packed rows those of q and k are
// one run. Which run a vector is of is a division; it is done by multiplying with a reciprocal that the host has found.

#include "head_vector.h"

#include <numeric>

namespace qkprof::inline QK_BUILD {
namespace {

template <class V>
QK_KERNEL void copy_kernel(const V* from, V* to, std::int64_t count) {
    const std::int64_t i = static_cast<std::int64_t>(block()) * threads() + thread();
    if (i < count) {
        store(to + i, load(from + i));
    }
}

// `vectors` vectors of a tensor, in runs with `gap` vectors between them.
template <class V, class Index>
struct Part {
    const V* from;
    V* to;
    Index vectors;
    Index gap;
    Reciprocal<Index> run;
};

template <class V, class Index>
QK_DEVICE void copy_vector(const Part<V, Index>& part, Index i) {
    if (i < part.vectors) {
        const Index at = i + part.run.quotient(i) * part.gap;
        store(part.to + at, load(part.from + at));
    }
}

// The first blocks move q, or what is packed, the others k.
template <class V, class Index>
QK_KERNEL void copy_runs_kernel(Part<V, Index> q, Part<V, Index> k, unsigned q_blocks) {
    if (block() < q_blocks) {
        copy_vector(q, static_cast<Index>(block()) * threads() + thread());
    } else {
        copy_vector(k, static_cast<Index>(block() - q_blocks) * threads() + thread());
    }
}

// `count` runs of so many bytes; the next one begins `stride` bytes behind a run's beginning.
struct Runs {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::int64_t stride = 0;
};

// The runs to copy: of q, which with packed rows are those of k too, and of k. A tensor without gaps is one run.
struct Tensors {
    Runs q;
    Runs k;

    explicit Tensors(const Problem& p) {
        const auto runs = [&](std::int64_t heads, std::int64_t stride) {
            const std::int64_t bytes = heads * p.head_dim * p.element_bytes();
            const bool gaps = heads * p.head_dim != stride && p.tokens() > 1;
            return bytes == 0 ? Runs{}
                   : gaps     ? Runs{p.tokens(), bytes, stride * p.element_bytes()}
                              : Runs{1, p.tokens() * bytes, 0};
        };
        const bool packed = p.layout == Layout::packed;
        q = runs(packed ? p.all_heads() : p.heads, p.q_stride());
        k = packed ? Runs{} : runs(p.key_heads, p.k_stride());
    }
};

// The widest access, at most 16 bytes, that divides the addresses and lengths of all runs.
std::int64_t access_bytes(const Problem& p) {
    const Tensors tensors(p);
    std::int64_t bytes = std::gcd(std::int64_t{16}, p.alignment());
    for (const Runs& runs : {tensors.q, tensors.k}) {
        bytes = std::gcd(std::gcd(bytes, runs.bytes), runs.stride);
    }
    return bytes;
}

// Bytes of the sectors that the warps touch in a tensor: a warp takes 32 vectors, and where a run ends goes on with the
// next. After `period` runs all is as at the beginning.
std::int64_t requested_bytes(const Problem& p, const Runs& runs) {
    const std::int64_t warp_bytes = 32 * access_bytes(p);
    const std::int64_t begin = p.offset * p.element_bytes() % bytes_of_sector;
    if (runs.count <= 1) {
        const std::int64_t rest = runs.bytes % warp_bytes;
        return runs.bytes / warp_bytes * sector_bytes(begin, warp_bytes) + (rest > 0 ? sector_bytes(begin, rest) : 0);
    }
    const auto of_first = [&](std::int64_t count) {
        std::vector<Instruction> warps;
        const std::int64_t bytes = count * runs.bytes;
        for (std::int64_t first = 0; first < bytes; first += warp_bytes) {
            const std::int64_t end = std::min(first + warp_bytes, bytes);
            Instruction pieces;
            for (std::int64_t at = first; at < end;) {
                const std::int64_t within = at % runs.bytes;
                const std::int64_t piece = std::min(runs.bytes - within, end - at);
                pieces.push_back({at / runs.bytes * runs.stride + within, piece});
                at += piece;
            }
            warps.push_back(std::move(pieces));
        }
        return qkprof::requested_bytes(warps, begin, 1);
    };
    const std::int64_t period = std::max(warp_bytes / std::gcd(warp_bytes, runs.bytes),
                                         bytes_of_sector / std::gcd(bytes_of_sector, runs.stride));
    return runs.count / period * of_first(period) + of_first(runs.count % period);
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const Tensors tensors(p);
    const std::int64_t bytes = p.elements() == 0 ? 0 : requested_bytes(p, tensors.q) + requested_bytes(p, tensors.k);
    return {.launches = p.elements() > 0 ? 1 : 0, .load_bytes = bytes, .store_bytes = bytes, .shared_bytes = 0};
}

template <class V, class Index>
Part<V, Index> part_of(const void* from, void* to, const Runs& runs) {
    const auto vectors = [](std::int64_t bytes) { return bytes / static_cast<std::int64_t>(sizeof(V)); };
    const bool one = runs.count <= 1;
    return {.from = static_cast<const V*>(from),
            .to = static_cast<V*>(to),
            .vectors = static_cast<Index>(vectors(runs.count * runs.bytes)),
            .gap = static_cast<Index>(one ? 0 : vectors(runs.stride - runs.bytes)),
            .run = Reciprocal<Index>(one ? 1 : vectors(runs.bytes))};
}

template <class V, class Index>
void launch_runs(const Call& call) {
    const Tensors tensors(call.request.problem);
    const Buffers& buffers = call.buffers;
    const auto q = part_of<V, Index>(buffers.q, buffers.q_out, tensors.q);
    const auto k = part_of<V, Index>(buffers.k, buffers.k_out, tensors.k);
    const int threads = call.request.parameter("threads");
    const auto blocks = [&](Index vectors) { return divide_up(static_cast<std::int64_t>(vectors), threads); };
    const LaunchConfig config = {.kernel = "copy", .blocks = blocks(q.vectors) + blocks(k.vectors), .threads = threads};
    launch(call.stream, config, copy_runs_kernel<V, Index>, q, k, static_cast<unsigned>(blocks(q.vectors)));
}

template <class V>
void launch_copy(const Call& call) {
    const Problem& p = call.request.problem;
    const Tensors tensors(p);
    const auto vectors = [](std::int64_t bytes) { return bytes / static_cast<std::int64_t>(sizeof(V)); };
    if (tensors.q.count == 1 && tensors.k.count == 0) {
        const int threads = call.request.parameter("threads");
        const std::int64_t count = vectors(tensors.q.bytes);
        launch(call.stream, {.kernel = "copy", .blocks = divide_up(count, threads), .threads = threads}, copy_kernel<V>,
               static_cast<const V*>(call.buffers.q), static_cast<V*>(call.buffers.q_out), count);
    } else if (vectors(std::max(p.q_extent(), p.k_extent()) * p.element_bytes()) <= std::int64_t{1} << 31) {
        launch_runs<V, std::uint32_t>(call);
    } else {
        launch_runs<V, std::uint64_t>(call);
    }
}

const Registration registration(this_backend,
                                {.name = "copy",
                                 .family = Family::ceiling,
                                 .hypothesis = "moves the same bytes and computes nothing: no variant is faster",
                                 .parameters = {{"threads", "threads a block", 256, {128, 256, 512, 1024}}},
                                 .features = {std::begin(all_features), std::end(all_features)},
                                 .refuses = [](const Request&) { return std::string(); },
                                 .declare = declare,
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
