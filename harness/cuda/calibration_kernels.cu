#include "calibration_kernels.h"

#include "resources.h"

namespace qkprof::cuda {
namespace {

constexpr unsigned threads = 256;
static_assert(threads * sizeof(uint4) == calibration_block_bytes);
constexpr unsigned lanes = 32;
constexpr unsigned never = ~0U;

__device__ std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void read_kernel(const uint4* from, unsigned* sink) {
    const uint4 word = from[thread_index()];
    if ((word.x & word.y & word.z & word.w) == never) {  // which the compiler cannot rule out
        *sink = word.x;
    }
}

__global__ void write_kernel(uint4* to) {
    const auto i = static_cast<unsigned>(thread_index());
    to[thread_index()] = make_uint4(i, 1, 2, 3);
}

__global__ void copy_kernel(const uint4* from, uint4* to) { to[thread_index()] = from[thread_index()]; }

__global__ void strided_kernel(const float* from, float* to) { to[thread_index() * 2] = from[thread_index() * 8]; }

// Volatile: every access is made, in this order.
__global__ void shared_kernel(int rounds, unsigned* sink) {
    __shared__ volatile unsigned words[lanes * lanes];
    const unsigned lane = threadIdx.x;
    unsigned sum = 0;
    for (int round = 0; round < rounds; ++round) {
        words[lane] = lane;
        sum += words[lane];
        sum += words[lane * 2];
        words[lane * lanes] = sum;
    }
    if (sum == never) {
        *sink = sum;
    }
}

__global__ void nothing_kernel() {}

unsigned blocks_for(std::int64_t bytes) { return static_cast<unsigned>(bytes / calibration_block_bytes); }

void launched() { check(cudaGetLastError(), "launching a kernel of the calibration"); }

}  // namespace

void read_bytes(const void* from, std::int64_t bytes, void* sink, cudaStream_t stream) {
    read_kernel<<<blocks_for(bytes), threads, 0, stream>>>(static_cast<const uint4*>(from),
                                                           static_cast<unsigned*>(sink));
    launched();
}

void write_bytes(void* to, std::int64_t bytes, cudaStream_t stream) {
    write_kernel<<<blocks_for(bytes), threads, 0, stream>>>(static_cast<uint4*>(to));
    launched();
}

void copy_bytes(const void* from, void* to, std::int64_t bytes, cudaStream_t stream) {
    copy_kernel<<<blocks_for(bytes), threads, 0, stream>>>(static_cast<const uint4*>(from), static_cast<uint4*>(to));
    launched();
}

void copy_strided(const void* from, void* to, int warps, cudaStream_t stream) {
    strided_kernel<<<static_cast<unsigned>(warps), lanes, 0, stream>>>(static_cast<const float*>(from),
                                                                       static_cast<float*>(to));
    launched();
}

void use_shared_memory(int warps, int rounds, void* sink, cudaStream_t stream) {
    shared_kernel<<<static_cast<unsigned>(warps), lanes, 0, stream>>>(rounds, static_cast<unsigned*>(sink));
    launched();
}

void do_nothing(cudaStream_t stream) {
    nothing_kernel<<<1, lanes, 0, stream>>>();
    launched();
}

}  // namespace qkprof::cuda
