// Makes the L2 hold other data than those of the call that is measured next. Reading other data does not: a line that a
// kernel asked the L2 to keep, by an access policy window or a cache hint, stays there however much is read without
// such a hint and whatever is set aside (H200: 480 MiB left 99 % of 1 MiB behind). What takes it back is the
// priority evict_normal, which a plain access does not have, on the same lines.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace qkprof::cuda {

// What evict() enqueues.
inline constexpr int evicting_kernels = 2;

// Reads `bytes` of zeros, twice the L2's size, as lines to be kept, so that they displace all others; then makes them
// ordinary ones. It only reads, so that no dirty line is left for what comes after. `bytes` is a multiple of a line's
// 128; `sink` (4 bytes of device memory) is written if the data is not all zeros, which the compiler cannot know.
// Throws CannotMeasure where a kernel cannot be launched.
void evict(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream);

// Its first half alone, for any data: the L2 keeps the lines from then on.
void read_to_keep(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream);

}  // namespace qkprof::cuda
