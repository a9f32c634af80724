#include "eviction.h"

#include "resources.h"

namespace qkprof::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t line_bytes = 128;

__device__ std::int64_t own_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void keep_kernel(const uint4* zeros, std::int64_t count, unsigned* sink) {
    const std::int64_t i = own_index();
    if (i < count) {
        unsigned long long keep = 0;
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));
        uint4 value;
        asm("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
            : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
            : "l"(zeros + i), "l"(keep));
        if ((value.x | value.y | value.z | value.w) != 0) {
            *sink = value.x;
        }
    }
}

__global__ void release_kernel(const char* lines, std::int64_t count) {
    const std::int64_t i = own_index();
    if (i < count) {
        asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(lines + i * line_bytes) : "memory");
    }
}

unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

}  // namespace

void read_to_keep(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream) {
    const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(uint4));
    keep_kernel<<<blocks_for(count), threads, 0, stream>>>(static_cast<const uint4*>(zeros), count,
                                                           static_cast<unsigned*>(sink));
    check(cudaGetLastError(), "reading data that the L2 is to keep");
}

void evict(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream) {
    read_to_keep(zeros, bytes, sink, stream);
    const std::int64_t lines = bytes / line_bytes;
    release_kernel<<<blocks_for(lines), threads, 0, stream>>>(static_cast<const char*>(zeros), lines);
    check(cudaGetLastError(), "making what the L2 keeps ordinary again");
}

}  // namespace qkprof::cuda
