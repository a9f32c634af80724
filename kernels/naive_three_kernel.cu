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

template <class T>
QK_KERNEL void mean_square_kernel(Arguments a, float* mean_squares) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const T* x = q_at<T>(a, row, a.head_dim, 0);
    float sum = 0.0F;
    for (unsigned column = lane(); column < a.head_dim; column += 32) {
        const float value = to_float(load<Cache::read_only>(x + column));
        sum += value * value;
    }
    sum = sum_lanes<32>(sum);
    if (lane() == 0) {
        store(mean_squares + row, sum / static_cast<float>(a.head_dim));
    }
}

template <class T>
QK_KERNEL void normalise_kernel(Arguments a, const float* mean_squares, T* normalised) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const T* x = q_at<T>(a, row, a.head_dim, 0);
    T* y = normalised + static_cast<std::size_t>(row) * a.head_dim;
    const float scale = reciprocal_square_root(load<Cache::read_only>(mean_squares + row) + a.eps);
    for (unsigned column = lane(); column < a.head_dim; column += 32) {
        const float value = to_float(load<Cache::read_only>(x + column));
        store(y + column,
              from_float<T>(value * scale * load<Cache::read_only>(static_cast<const float*>(a.gamma_q) + column)));
    }
}

template <class T>
QK_KERNEL void rotate_kernel(Arguments a, const T* normalised) {
    const unsigned row = row_of_warp();
    if (row >= a.rows) {
        return;
    }
    const unsigned half = a.head_dim / 2;
    const T* y = normalised + static_cast<std::size_t>(row) * a.head_dim;
    T* out = out_at<T>(a, row, a.head_dim, 0);
    const std::size_t entry = static_cast<std::size_t>(position_of(a, row)) * half;
    for (unsigned column = lane(); column < half; column += 32) {
        float lo = to_float(load<Cache::read_only>(y + column));
        float hi = to_float(load<Cache::read_only>(y + column + half));
        rotate(lo, hi, load<Cache::read_only>(static_cast<const float*>(a.cos) + entry + column),
               load<Cache::read_only>(static_cast<const float*>(a.sin) + entry + column));
        store(out + column, from_float<T>(lo));
        store(out + column + half, from_float<T>(hi));
    }
}

// The two intermediates in the scratch memory: the mean squares begin at a 256-byte boundary behind the rows.
std::int64_t mean_squares_offset(const Problem& p) { return divide_up(p.tensor_bytes(), 256) * 256; }

std::int64_t scratch_bytes(const Request& request) {
    const Problem& p = request.problem;
    return mean_squares_offset(p) + p.rows() * 4;
}

Declaration declare(const Request& request) {
    const Problem& p = request.problem;
    const std::int64_t half = p.head_dim / 2;
    const std::int64_t begin = begin_in_sector(p);
    const std::int64_t tensor = scalar_pass_bytes(whole_rows(p, begin));
    const std::int64_t normalised = scalar_pass_bytes(whole_rows(p, 0));
    const auto halves = [&](std::int64_t first) {
        return scalar_pass_bytes(half_rows(p, first)) +
               scalar_pass_bytes(half_rows(p, first + half * p.element_bytes()));
    };
    const std::int64_t sector = 32;  // a warp's mean square
    return {.launches = p.rows() > 0 ? 3 : 0,
            .load_bytes = 2 * tensor + p.rows() * sector + scalar_gamma_bytes(p) + halves(0) + scalar_table_bytes(p),
            .store_bytes = p.rows() * sector + normalised + halves(begin),
            .shared_bytes = 0};
}

const Registration registration(
    this_backend,
    {.name = "naive_three_kernel",
     .family = Family::naive,
     .hypothesis = "mean square, normalise, rotate: q moves five times instead of two, and takes as much longer",
     .parameters = {{"threads", "threads a block", 256, {64, 128, 256, 512}}},
     .refuses = [](const Request& request) { return refuse_odd_head_dim(request.problem); },
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
             for_type(p.dtype, [&](auto type) {
                 using T = decltype(type);
                 auto* normalised = reinterpret_cast<T*>(scratch);
                 launch(call.stream,
                        {.kernel = "naive_three_kernel, mean square", .blocks = blocks, .threads = threads},
                        mean_square_kernel<T>, a, mean_squares);
                 launch(call.stream, {.kernel = "naive_three_kernel, normalise", .blocks = blocks, .threads = threads},
                        normalise_kernel<T>, a, mean_squares, normalised);
                 launch(call.stream, {.kernel = "naive_three_kernel, rotate", .blocks = blocks, .threads = threads},
                        rotate_kernel<T>, a, normalised);
             });
         }});

}  // namespace
}  // namespace qkprof::inline QK_BUILD
