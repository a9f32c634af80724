// naive_three_kernel: mean square; normalise; rotate: a kernel for each of the three steps that the formula has.
//
// Hypothesis: each kernel is as fast as memory lets it be, and together they move q five times (three reads, two
// writes, against one of each): written down step by step, the operation takes two and a half times as long as it must.
//
// A warp takes a row, a lane one element at a time: any even head dim, any alignment. Between the kernels lie the mean
// square, one f32 a row, and the normalised rows in the storage type.

#include "scalar_rows.h"

namespace qkprof::inline QK_BUILD {
namespace {

template <class T, Form F>
QK_KERNEL void mean_square_kernel(Arguments a, float* mean_squares) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const T* x = q_at<T, F>(a, row, a.head_dim, 0);
    float sum = 0.0F;
    for_each_column(a.head_dim, [&](unsigned column) {
        const float value = to_float(load<Cache::read_only>(x + column));
        sum += value * value;
    });
    sum = sum_lanes<32>(sum);
    if (lane() == 0) {
        store(mean_squares + row, sum / static_cast<float>(a.head_dim));
    }
}

// One number of a gamma or a table, in the row that begins with number `first`.
template <class T, Form F>
QK_DEVICE float number(const void* numbers, bool narrow, std::size_t first, unsigned column QK_CALLER) {
    if constexpr (F != Form::plain && sizeof(T) < sizeof(float)) {
        if (narrow) {
            return to_float(load<Cache::read_only>(static_cast<const T*>(numbers) + first + column QK_FROM_CALLER));
        }
    }
    return load<Cache::read_only>(static_cast<const float*>(numbers) + first + column QK_FROM_CALLER);
}

template <class T, Form F>
QK_DEVICE float weight(const Arguments& a, unsigned row, unsigned column) {
    const float gamma = number<T, F>(gamma_of<F>(a, row), a.narrow_gamma, 0, column);
    return F == Form::plain ? gamma : a.gamma_offset + gamma;
}

template <class T, Form F>
QK_KERNEL void normalise_kernel(Arguments a, const float* mean_squares, T* normalised) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const T* x = q_at<T, F>(a, row, a.head_dim, 0);
    T* y = normalised + static_cast<std::size_t>(row) * a.head_dim;
    const float scale = reciprocal_square_root(load<Cache::read_only>(mean_squares + row) + a.eps);
    for_each_column(a.head_dim, [&](unsigned column) {
        const float value = to_float(load<Cache::read_only>(x + column));
        store(y + column, from_float<T>(value * scale * weight<T, F>(a, row, column)));
    });
}

template <class T, Form F>
QK_KERNEL void rotate_kernel(Arguments a, const T* normalised) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const unsigned half = (F == Form::plain ? a.head_dim : a.rotary_dim) / 2;  // of what rotates
    const T* y = normalised + static_cast<std::size_t>(row) * a.head_dim;
    T* out = out_at<T, F>(a, row, a.head_dim, 0);
    const std::size_t entry = static_cast<std::size_t>(position_of<F>(a, row)) * half;
    const unsigned apart = F == Form::interleaved ? 1 : half;  // partners
    for_each_column(half, [&](unsigned pair) {
        const unsigned lower = F == Form::interleaved ? 2 * pair : pair;
        float lo = to_float(load<Cache::read_only>(y + lower));
        float hi = to_float(load<Cache::read_only>(y + lower + apart));
        rotate(lo, hi, number<T, F>(a.cos, a.narrow_tables, entry, pair),
               number<T, F>(a.sin, a.narrow_tables, entry, pair));
        store(out + lower, from_float<T>(lo));
        store(out + lower + apart, from_float<T>(hi));
    });
    if constexpr (F != Form::plain) {
        for_each_column(a.head_dim - a.rotary_dim, [&](unsigned i) {
            const unsigned column = a.rotary_dim + i;
            store(out + column, load<Cache::read_only>(y + column));
        });
    }
}

// The two intermediates in the scratch memory: the mean squares begin at a 256-byte boundary behind the rows.
std::int64_t mean_squares_offset(const Problem& p) { return divide_up(p.tensor_bytes(), 256) * 256; }

std::int64_t scratch_bytes(const Request& request) {
    const Problem& p = request.problem;
    return mean_squares_offset(p) + p.rows() * 4;
}

// What the rotation reads of a row and writes.
std::vector<Instruction> rotation_of(const Problem& p) {
    const bool interleaved = p.pairing == Pairing::interleaved;
    const std::int64_t half = p.rotary() / 2;
    const std::int64_t step = interleaved ? 2 : 1;
    std::vector<Instruction> instructions = scalar_pass(0, half, step);
    for (const auto& pass :
         {scalar_pass(interleaved ? 1 : half, half, step), scalar_pass(p.rotary(), p.head_dim - p.rotary())}) {
        instructions.insert(instructions.end(), pass.begin(), pass.end());
    }
    return instructions;
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const auto whole = scalar_pass(0, p.head_dim);
    const auto rotation = rotation_of(p);
    const std::int64_t mean_squares = p.rows() * bytes_of_sector;  // a warp's
    return {.launches = p.rows() > 0 ? 3 : 0,
            .load_bytes = 2 * tensor_bytes_requested(p, whole) + mean_squares + scalar_gamma_bytes(p) +
                          dense_bytes_requested(p, rotation) + scalar_table_bytes(p),
            .store_bytes = mean_squares + dense_bytes_requested(p, whole) + tensor_bytes_requested(p, rotation),
            .shared_bytes = 0};
}

const Registration registration(
    this_backend,
    {.name = "naive_three_kernel",
     .family = Family::naive,
     .hypothesis = "mean square, normalise, rotate: q moves five times instead of two, and takes as much longer",
     .parameters = {{"threads", "threads a block", 256, {64, 128, 256, 512}}},
     .features = {std::begin(all_features), std::end(all_features)},
     .refuses = [](const Request& request) { return refuse_odd_rotary(request.problem); },
     .declare = declare,
     .scratch_bytes = scratch_bytes,
     .persisting_bytes = {},
     .run =
         [](const Call& call) {
             const Problem& p = call.request.problem;
             const int threads = call.request.parameter("threads");
             const std::int64_t blocks = divide_up(p.rows(), threads / 32);
             const Arguments a = arguments_of(call);
             auto* scratch = static_cast<std::byte*>(call.buffers.scratch);
             auto* mean_squares = reinterpret_cast<float*>(scratch + mean_squares_offset(p));
             const auto config = [&](const char* kernel) {
                 return LaunchConfig{.kernel = kernel, .blocks = blocks, .threads = threads};
             };
             for_type(p.dtype, [&]<class T>(T) {
                 auto* normalised = reinterpret_cast<T*>(scratch);
                 for_form(p, [&](auto form) {
                     launch(call.stream, config("naive_three_kernel, mean square"), mean_square_kernel<T, form()>, a,
                            mean_squares);
                     launch(call.stream, config("naive_three_kernel, normalise"), normalise_kernel<T, form()>, a,
                            mean_squares, normalised);
                     launch(call.stream, config("naive_three_kernel, rotate"), rotate_kernel<T, form()>, a, normalised);
                 });
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
