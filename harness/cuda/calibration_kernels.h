// The kernels of the calibration, as functions that enqueue them: each makes traffic that is known beforehand.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace qkprof::cuda {

// Sizes must be multiples of this.
inline constexpr std::int64_t calibration_block_bytes = 4096;

// Every byte once, 16 a thread. `sink` (4 bytes) is never written while the data is not all ones.
void read_bytes(const void* from, std::int64_t bytes, void* sink, cudaStream_t stream);
void write_bytes(void* to, std::int64_t bytes, cudaStream_t stream);
void copy_bytes(const void* from, void* to, std::int64_t bytes, cudaStream_t stream);

// Each of `warps` warps loads 4 bytes a lane, 32 bytes apart, and stores them 8 bytes apart.
inline constexpr std::int64_t strided_bytes_per_warp = 1024;  // of `from`
void copy_strided(const void* from, void* to, int warps, cudaStream_t stream);

// In each of `warps` blocks one warp, which `rounds` times stores and loads shared memory without conflicts, loads with
// a stride of 2 words and stores with one of 32.
void use_shared_memory(int warps, int rounds, void* sink, cudaStream_t stream);

void do_nothing(cudaStream_t stream);

}  // namespace qkprof::cuda
