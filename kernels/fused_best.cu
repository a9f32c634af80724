// fused_best: one kernel, tuned: the geometry of each problem comes from a measured table (qkprof tune).
//
// A lane group takes a run of `heads` neighbouring head vectors of one token, all of the query or all of the key, and
// has all that they need in flight at once: gamma and the token's table rows once for the run, then every head vector
// of it. Both partners of a rotation are in one lane (paired.h). Per pair of elements gamma and angle are multiplied
// into four coefficients before the head vectors arrive, so that behind the sum of squares six operations a pair
// remain.
//
// Launched programmatically, the kernel begins while the one before it still runs. It lets its own successor begin at
// once, fetches gamma, angles and ids, which nothing before it writes, and only then waits: what is left behind the
// wait is one trip to the head vectors, a butterfly and the store. It launches as many kernels as before.
//
// What was tried, on an NVIDIA H200 (graph replays, warm, 16 heads of 128; microseconds, of the kernel or of a
// prototype of it; a plain copy beside them):
//   - ptxas moves the loads of gamma and angles behind the butterfly, where they fill no registers yet: two
//     trips in series, 1.21 at 16 KiB in f32 (copy 0.90). No order of `asm volatile` loads keeps it from that,
//     and a load before griddepcontrol.wait it moves behind the wait. A predicate that needs the values does
//     (until_loaded).
//   - Programmatic launch, successor let in at the start, without until_loaded: 1.11 at 1 MiB, 1.57 at 4 MiB, a
//     loss at 16 MiB; with it 0.86, 1.29 and 2.95 (copy 1.08, 1.48 and 3.05). Letting the successor in when the
//     head vectors have arrived: the same from 4 MiB on, less below. An `if` with a nanosleep in the place of
//     the predicate costs 0.1: ptxas sees lanes diverge and guards each shuffle.
//   - Launched programmatically, a block begins every 1.2 ns: 16384 blocks of 64 threads take 20.2 and 8192 take 10.3,
//     where those take 6.3 without it (f32, 32 MiB). Fewer blocks, longer or larger ones, do not show it.
//   - Two pairs a lane instead of four (half the instructions of a thread): 1.06 instead of 1.21 at 16 KiB,
//     1.29 instead of 1.42 at 1 MiB, without programmatic launch. Eight pairs were never better; nor, in 16
//     bits, sixteen.
//   - Head vectors a lane group: one below 8 MiB, then two, and four from 16 MiB on in 16 bits: without
//     programmatic launch 3.42 instead of 3.82 (bf16, 16 MiB, copy 3.07). Eight at 32 MiB in 16 bits: 5.19 instead
//     of 5.47 with four (copy 5.32); tuning takes them for 65536 packed tokens with scattered ids too (bf16: 352;
//     with four, in other runs, 353 to 376). At 16 MiB eight cost 13 %, and in f32 2 to 27 %, where they are not
//     compiled.
//   - Coefficients instead of gamma and angles: 3.42 instead of 3.50 with four head vectors, nothing lost with
//     one.
//   - 69 registers instead of 48 (launch bounds of one block a multiprocessor): 3.39 instead of 2.98 (bf16, 16
//     MiB); the successor's blocks find no room.
//   - Streaming hints (evict first) for q and the results: 0.4 % where nothing else ran (253.5 instead of
//     254.4, bf16, 1 GiB moved), and a loss of 2 % where another kernel, or the data of a cold call, had filled
//     the L2: lines of the hint never displace those without it. Among other kernels that was every fourth warm
//     sample (which now all begin with the L2 full of other data), and each cold one (260.7, copy 252.0). At
//     32 MiB it cost 15 % (f32): refused there. As the policy operand of an access the hint costs nothing and is
//     chosen at run time; a policy that the kernel makes itself costs ten instructions.
//   - The operand where there is no hint: evict_unchanged. evict_normal is another policy than that of an access
//     without the operand: at 32 MiB, which the L2 barely holds, 5.51 instead of 5.14 (f32) and 6.16 instead of 5.47
//     (bf16), up to 8 MiB 0.5 % less. A predicate that chooses between accesses with and without it: 6 to 26 % more up
//     to 4 MiB.
//   - evict_first for the results alone: 5.27 instead of 5.47 at 32 MiB (bf16, four head vectors), nothing in f32; less
//     than eight head vectors give. evict_last for either or both: nothing.
//   - Arguments in the order in which they are needed, addresses before the wait, no 64-bit address of its own
//     for an upper vector: 41 of 145 instructions less (f32, two pairs), 0.70 instead of 0.75 at 16 KiB.
//   - Division for the token and its position: 0.1 at small sizes; multiply-shift instead.
//   - The hint not to keep q in the L1, and dynamic shared memory that nobody uses, to spread blocks evenly:
//     nothing, and 1 % at 1 and 4 MiB; left out.
//   - Head vectors asked for before ids and table rows where the launch is not programmatic: 0.4 less in cold
//     decoding with ids (64 tokens, 40 heads: 4.9), but 1 % more when streaming, 14 % more at 16 MiB without
//     ids (bf16: 2.76 instead of 2.43), and nothing where it was meant to help: 65536 tokens with ids of their
//     own, whose table does not stay in the L2, take 1.15 times as long as a copy, two trips to memory in
//     series.

#include "paired.h"

namespace qkprof::inline QK_BUILD {
namespace {

// What the kernel is passed beside Arguments: runs of head vectors, numbered token by token.
struct Runs {
    unsigned count;
    unsigned of_a_token;
    Reciprocal<unsigned> by_token;
    Policy policy;
    bool programmatic;
};

// The pairs of a vector of each half, P::size of them: where the two elements of pair w lie. Rotated in halves, in
// either vector at the same place; interleaved, next to each other, the pairs of the lower vector first.
template <class P, class Vectors>
QK_DEVICE auto& first_of(Vectors& v, int c, int w) {
    constexpr int half = P::size / 2;
    if constexpr (P::form == Form::interleaved) {
        return w < half ? v.lo[c * P::size + 2 * w] : v.hi[c * P::size + 2 * (w - half)];
    } else {
        return v.lo[c * P::size + w];
    }
}
template <class P, class Vectors>
QK_DEVICE auto& second_of(Vectors& v, int c, int w) {
    constexpr int half = P::size / 2;
    if constexpr (P::form == Form::interleaved) {
        return w < half ? v.lo[c * P::size + 2 * w + 1] : v.hi[c * P::size + 2 * (w - half) + 1];
    } else {
        return v.hi[c * P::size + w];
    }
}
template <class P>
QK_DEVICE bool turns(const Arguments& a, int c, int w) {
    return P::form == Form::interleaved && w >= P::size / 2 ? P::upper_turns(a, c) : P::lower_turns(a, c);
}

// The pairs of a lane become first * a - second * b and second * c + first * d; those that do not turn, first * a and
// second * c.
template <class P>
struct Coefficients {
    float a[P::elements];
    float b[P::elements];
    float c[P::elements];
    float d[P::elements];
};

template <class P>
QK_DEVICE Coefficients<P> coefficients_of(const Arguments& a, const typename P::Gamma& gamma,
                                          const typename P::Angles& angles) {
    Coefficients<P> k;
    for (int c = 0; c < P::count; ++c) {
        for (int w = 0; w < P::size; ++w) {
            const int i = c * P::size + w;
            const float first = first_of<P>(gamma, c, w);
            const float second = second_of<P>(gamma, c, w);
            const bool turned = turns<P>(a, c, w);
            k.a[i] = turned ? first * angles.cosine[i] : first;
            k.b[i] = second * angles.sine[i];
            k.c[i] = turned ? second * angles.cosine[i] : second;
            k.d[i] = first * angles.sine[i];
        }
    }
    return k;
}

// All bits that gamma and angles have in common, one number of each access: what until_loaded waits for.
template <class P>
QK_DEVICE unsigned common_bits(const typename P::Gamma& gamma, const typename P::Angles& angles) {
    constexpr int widest = 4;  // numbers of an access; interleaved, each vector has half as many angles of its own
    constexpr int step = std::min(widest, P::form == Form::interleaved ? P::size / 2 : P::size);
    unsigned bits = 0xffffffffU;
    for (int i = 0; i < P::elements; i += step) {
        bits &= std::bit_cast<unsigned>(gamma.lo[i]) & std::bit_cast<unsigned>(gamma.hi[i]) &
                std::bit_cast<unsigned>(angles.cosine[i]) & std::bit_cast<unsigned>(angles.sine[i]);
    }
    return bits;
}

// Over the whole head vector, in every lane of the group: lower and upper half in a chain of their own.
template <class P>
QK_DEVICE float sum_of_squares(const typename P::Head& head) {
    float lower = 0.0F;
    float upper = 0.0F;
    for (int c = 0; c < P::count; ++c) {
        float lo[P::size];
        float hi[P::size];
        unpack(std::bit_cast<typename P::V>(head.lo[c]), lo);
        unpack(std::bit_cast<typename P::V>(head.hi[c]), hi);
        for (int i = 0; i < P::size; ++i) {
            lower = c + i == 0 ? lo[i] * lo[i] : lower + lo[i] * lo[i];
            upper = c + i == 0 ? hi[i] * hi[i] : upper + hi[i] * hi[i];
        }
    }
    return sum_lanes<static_cast<int>(P::lanes)>(lower + upper);
}

template <class P>
QK_DEVICE typename P::Head finished(const Arguments& a, const typename P::Head& head, const Coefficients<P>& k) {
    const float scale =
        reciprocal_square_root(sum_of_squares<P>(head) * (1.0F / static_cast<float>(P::head_dim)) + a.eps);
    typename P::Head result;
    for (int c = 0; c < P::count; ++c) {
        struct {
            float lo[P::size];
            float hi[P::size];
        } x;
        unpack(std::bit_cast<typename P::V>(head.lo[c]), x.lo);
        unpack(std::bit_cast<typename P::V>(head.hi[c]), x.hi);
        for (int w = 0; w < P::size; ++w) {
            const int i = c * P::size + w;
            float& first = first_of<P>(x, 0, w);
            float& second = second_of<P>(x, 0, w);
            const float u = first * scale;
            const float v = second * scale;
            const bool turned = turns<P>(a, c, w);
            first = turned ? u * k.a[i] - v * k.b[i] : u * k.a[i];
            second = turned ? v * k.c[i] + u * k.d[i] : v * k.c[i];
        }
        result.lo[c] = std::bit_cast<typename P::Words>(pack<typename P::type, P::size>(x.lo));
        result.hi[c] = std::bit_cast<typename P::Words>(pack<typename P::type, P::size>(x.hi));
    }
    return result;
}

// How far behind the lower vector of a pair the upper one lies: where the compiler knows that, no address of its own.
template <class P>
QK_DEVICE unsigned upper_behind_lower(const Arguments& a, int c) {
    return P::upper(a, c) - P::lower(a, c);
}

template <class P, int Heads>
QK_KERNEL_UP_TO(512, P::form != Form::plain || P::head_dim == 256)
void best_kernel(Runs runs, Arguments a) {
    using T = typename P::type;
    using Words = typename P::Words;
    if (runs.programmatic) {
        launch_dependents();
    }
    const unsigned first = (block() * (threads() / 32) + warp()) * P::rows_at_once;
    if (first >= runs.count) {
        return;  // the whole warp
    }
    // A lane group past the last run loads that once more, the same sectors in the same access, and stores nothing.
    const unsigned run = first + P::group();
    const unsigned existing = run < runs.count ? run : runs.count - 1;
    const unsigned token = runs.by_token.quotient(existing);
    const unsigned head = (existing - token * runs.of_a_token) * Heads;
    const bool key = P::form != Form::plain && head >= a.query_heads;

    const unsigned position = position_of_token<P::form>(a, token);
    const auto gamma = P::template load_gamma_from<Cache::read_only>(a, key ? a.gamma_k : a.gamma_q);
    const auto angles = P::template load_angles_at<Cache::read_only>(a, position);
    const unsigned within = (key ? head - a.query_heads : head) * static_cast<unsigned>(P::head_dim);
    const std::size_t offset =
        P::form == Form::plain
            ? static_cast<std::size_t>(existing) * (Heads * P::head_dim)
            : static_cast<std::size_t>(token) * static_cast<std::size_t>(key ? a.k_stride : a.q_stride) + within;
    const T* from = static_cast<const T*>(key ? a.k : a.q) + offset;
    T* to = static_cast<T*>(key ? a.k_out : a.q_out) + offset;
    if (runs.programmatic) {
        until_loaded(common_bits<P>(gamma, angles), from, to);
        wait_for_dependency();
    }
    typename P::Head heads[Heads];
    for (int n = 0; n < Heads; ++n) {
        for (int c = 0; c < P::count; ++c) {
            const T* lower = from + P::lower(a, c) + n * P::head_dim;
            heads[n].lo[c] = load(reinterpret_cast<const Words*>(lower), runs.policy);
            heads[n].hi[c] = load(reinterpret_cast<const Words*>(lower + upper_behind_lower<P>(a, c)), runs.policy);
        }
    }
    const auto k = coefficients_of<P>(a, gamma, angles);
    for (int n = 0; n < Heads; ++n) {
        const auto result = finished<P>(a, heads[n], k);
        if (run < runs.count) {
            for (int c = 0; c < P::count; ++c) {
                T* lower = to + P::lower(a, c) + n * P::head_dim;
                store(reinterpret_cast<Words*>(lower), result.lo[c], runs.policy);
                store(reinterpret_cast<Words*>(lower + upper_behind_lower<P>(a, c)), result.hi[c], runs.policy);
            }
        }
    }
}

// The lanes of a head vector: as many, at most 32, as leave each two pairs; and, for `pairs` of 4, half as many where
// that leaves each four. A head dim of 96 has 6 pairs a lane, one of 256 has 4.
constexpr int lanes_of(int head_dim, int pairs) {
    int lanes = 32;
    while (head_dim / 2 % (2 * lanes) != 0) {
        lanes /= 2;
    }
    return head_dim / 2 / lanes == 2 && pairs == 4 ? lanes / 2 : lanes;
}

PairedLayout layout_of(const Request& request) {
    const int head_dim = static_cast<int>(request.problem.head_dim);
    return paired_layout(head_dim, bytes_of(request.problem.dtype), lanes_of(head_dim, request.parameter("pairs")));
}

bool all_rotates(const Problem& p) { return p.rotary() == p.head_dim; }

// Where eight head vectors in flight were the fastest for any problem: in 16 bits with four pairs a lane.
constexpr bool compiled_for_eight(int bytes, int pairs) { return bytes == 2 && pairs == 4; }

std::string refuse_heads(const Request& request) {
    const Problem& p = request.problem;
    const int heads = request.parameter("heads");
    const int pairs = static_cast<int>(p.head_dim) / 2 / layout_of(request).lanes;
    if (heads == 8 && !compiled_for_eight(bytes_of(p.dtype), pairs)) {
        return "for 8 head vectors a lane group it is compiled in 16 bits with 4 pairs a lane, not in " +
               std::to_string(8 * bytes_of(p.dtype)) + " bits with " + std::to_string(pairs);
    }
    if (heads > 1 && !all_rotates(p)) {
        return "where only a part of the head vector rotates, it is compiled for one head vector a lane group, not " +
               std::to_string(heads);
    }
    if (p.heads % heads == 0 && p.key_heads % heads == 0) {
        return {};
    }
    return "runs of " + std::to_string(heads) + " head vectors do not divide the heads of a token";
}

// What is hinted to be given up first never takes the place of what another kernel left, which is not.
bool stays_in_l2(const Request& request) {
    constexpr double share = 0.6;  // of an H200's L2 that a copy has to itself before it goes to memory
    return static_cast<double>(request.problem.working_set_bytes()) <=
           share * static_cast<double>(request.limits.l2_bytes);
}

std::string refuse(const Request& request) {
    const Problem& p = request.problem;
    std::string head_dim = refuse_head_dim(p);
    if (!head_dim.empty()) {
        return head_dim;
    }
    std::string runs = refuse_heads(request);
    if (!runs.empty()) {
        return runs;
    }
    if (request.parameter("streaming") != 0 && stays_in_l2(request)) {
        return "the L2 can hold its data, and the hint would let whatever else is there keep them out";
    }
    const PairedLayout layout = layout_of(request);
    if (!all_rotates(p) && p.pairing == Pairing::half_split && p.row_alignment() < bytes_of_sector) {
        return "where only a part of the head vector rotates, heads must be aligned to " +
               std::to_string(bytes_of_sector) + " bytes, and they are to " + std::to_string(p.row_alignment());
    }
    if (!whole_vectors_rotate(p, layout.size)) {
        return "a rotary dim of " + std::to_string(p.rotary()) + " cuts through its vectors of " +
               std::to_string(layout.size) + " elements";
    }
    return refuse_alignment(p, layout.size * p.element_bytes());
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const PairedLayout layout = layout_of(request);
    const std::int64_t rows = std::int64_t{layout.rows_at_once()} * request.parameter("heads");
    const std::int64_t tensor = paired_tensor_bytes(p, layout);
    return {.launches = p.rows() > 0 ? 1 : 0,
            .load_bytes = tensor + paired_gamma_bytes(p, layout, rows) + paired_table_bytes(p, layout, rows),
            .store_bytes = tensor,
            .shared_bytes = 0};
}

template <class P, int Heads>
void launch_for(const Call& call) {
    const Problem& p = call.request.problem;
    const int threads = call.request.parameter("threads");
    const std::int64_t runs_of_a_token = p.all_heads() / Heads;
    const std::int64_t count = p.tokens() * runs_of_a_token;
    const bool programmatic = call.request.parameter("programmatic") != 0;
    const LaunchConfig config = {
        .kernel = "fused_best",
        .blocks = divide_up(count, std::int64_t{threads} / 32 * static_cast<std::int64_t>(P::rows_at_once)),
        .threads = threads,
        .programmatic = programmatic};
    launch(call.stream, config, best_kernel<P, Heads>,
           Runs{.count = static_cast<unsigned>(count),
                .of_a_token = static_cast<unsigned>(runs_of_a_token),
                .by_token = Reciprocal<unsigned>(std::max<std::int64_t>(1, runs_of_a_token)),
                .policy = policy_of(call.request.parameter("streaming") != 0),
                .programmatic = programmatic},
           arguments_of(call));
}

template <class T, int D, int Lanes>
void launch_with(const Call& call) {
    constexpr int size = paired_layout(D, sizeof(T), Lanes).size;
    for_form(call.request.problem, [&](auto form) {
        if constexpr (form() != Form::plain) {
            if (!all_rotates(call.request.problem)) {
                return launch_for<Paired<T, D, Lanes, size, form()>, 1>(call);
            }
        }
        const auto launch_heads = [&](auto heads) {
            launch_for<Paired<T, D, Lanes, size, form(), true>, heads()>(call);
        };
        const int heads = call.request.parameter("heads");
        if constexpr (compiled_for_eight(sizeof(T), D / 2 / Lanes)) {
            for_value<1, 2, 4, 8>(heads, launch_heads);
        } else {
            for_value<1, 2, 4>(heads, launch_heads);
        }
    });
}

const Registration registration(
    this_backend,
    {.name = "fused_best",
     .family = Family::register_only,
     .hypothesis =
         "one launch, tuned for each problem: constants once for a run of heads, and before the kernel before ends",
     .parameters = {{"pairs", "pairs of elements that a lane has, or as near as the head dim allows", as_tuned, {2, 4}},
                    {"heads", "head vectors that a lane group takes at once", as_tuned, {1, 2, 4, 8}},
                    {"threads", "threads a block", as_tuned, {64, 128, 256, 512}},
                    {"streaming", "1: q and the results are the first that the L2 gives up", as_tuned, {0, 1}},
                    {"programmatic", "1: programmatic dependent launch", as_tuned, {0, 1}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses = refuse,
     .declare = declare,
     .scratch_bytes = {},
     .persisting_bytes = {},
     .run = [](const Call& call) {
         for_compiled(call.request.problem, [&](auto compiled) {
             using C = decltype(compiled);
             for_value<2, 4>(call.request.parameter("pairs"), [&](auto pairs) {
                 launch_with<typename C::type, C::head_dim, lanes_of(C::head_dim, pairs())>(call);
             });
         });
     }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
