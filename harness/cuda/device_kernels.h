// The kernels of the instrument itself, as functions that enqueue them: filling q, judging out, evicting the caches and
// marking a stretch of a stream. None of them is ever inside a measured interval.
#pragma once

#include "problem.h"
#include "reference.h"
#include "variant.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace qkprof::cuda {

// Writes the problem's inputs to q, rounded to its storage type.
void fill_input(const Problem& problem, void* q, cudaStream_t stream);

// Adds to `*changed` (device memory) the number of elements of q that are not what fill_input() wrote.
void count_changed_input(const Problem& problem, const void* q, unsigned long long* changed, cudaStream_t stream);

// Compares every row of buffers.out with the reference, or with q where `copied` is set. `parts` (device memory) takes
// judge_blocks partial comparisons: merged in order they give the same sums every time.
inline constexpr int judge_blocks = 2048;
void judge(const Problem& problem, const Buffers& buffers, bool copied, Comparison* parts, cudaStream_t stream);

QK_ANYWHERE void merge(Comparison& whole, const Comparison& part) {
    whole.squared_error += part.squared_error;
    whole.squared_reference += part.squared_reference;
    whole.wrong += part.wrong;
    if (part.first_wrong >= 0 && (whole.first_wrong < 0 || part.first_wrong < whole.first_wrong)) {
        whole.first_wrong = part.first_wrong;
    }
}

// Reads `bytes` (a multiple of 16) of zeros once. It only reads, so that no dirty line is left for what comes after;
// `sink` (4 bytes of device memory) is written if the data is not all zeros, which the compiler cannot know.
void read_zeros(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream);

// A kernel that does nothing, by the name `sentinel_name`: it marks the ends of what activity records are counted for.
inline constexpr const char* sentinel_name = "qkprof_sentinel";
void mark(cudaStream_t stream);

// A block on each multiprocessor that does nothing but wait for the time to pass.
void spin(int multiprocessors, int milliseconds, cudaStream_t stream);

}  // namespace qkprof::cuda
