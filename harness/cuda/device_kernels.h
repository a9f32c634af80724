// The kernels of the instrument itself, as functions that enqueue them: filling the inputs, judging the results
// and marking a stretch of a stream. None of them is ever inside a measured interval.
#pragma once

#include "reference.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace qkprof::cuda {

// Writes the inputs of `tensor`, rounded to the storage type, to its memory.
void fill_input(const Tensor& tensor, DataType dtype, void* memory, cudaStream_t stream);

// Adds to `*changed` (device memory) the number of elements of `memory` that are not what fill_input() wrote.
void count_changed_input(const Tensor& tensor, DataType dtype, const void* memory, unsigned long long* changed,
                         cudaStream_t stream);

// Likewise of the elements in the gaps of `result` that are not those of `input` or, where that is null, all ones: what
// GuardedBuffer::poison() wrote.
void count_changed_gaps(const Tensor& tensor, DataType dtype, const void* input, const void* result,
                        unsigned long long* changed, cudaStream_t stream);

// Compares every row of the results with the reference, or with the inputs where `copied` is set; memory.q and memory.k
// are the inputs as they were before the call. `parts` (device memory) takes judge_blocks partial comparisons: merged
// in order they give the same sums every time.
inline constexpr int judge_blocks = 2048;
void judge(const Problem& problem, const Buffers& memory, bool copied, Comparison* parts, cudaStream_t stream);

// A kernel that does nothing, by the name `sentinel_name`: it marks the ends of what activity records are counted for.
inline constexpr const char* sentinel_name = "qkprof_sentinel";
void mark(cudaStream_t stream);

// A block on each multiprocessor that does nothing but wait for the time to pass.
void spin(int multiprocessors, int milliseconds, cudaStream_t stream);

}  // namespace qkprof::cuda
