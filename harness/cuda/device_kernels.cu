#include "device_kernels.h"

#include "resources.h"

#include <cstring>

extern "C" __global__ void qkprof_sentinel() {}

namespace qkprof::cuda {
namespace {

constexpr int fill_threads = 256;
constexpr int fill_blocks = 4096;
constexpr int judge_threads = 128;

__device__ std::int64_t first_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t index_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

template <class T>
__global__ void fill_kernel(Tensor tensor, T* memory) {
    for (std::int64_t i = first_index(); i < tensor.elements(); i += index_stride()) {
        memory[i] = from_float<T>(tensor.value_at(i));
    }
}

template <class T>
__global__ void changed_input_kernel(Tensor tensor, const T* memory, unsigned long long* changed) {
    unsigned long long own = 0;
    for (std::int64_t i = first_index(); i < tensor.elements(); i += index_stride()) {
        own += same_bits(memory[i], from_float<T>(tensor.value_at(i))) ? 0U : 1U;
    }
    if (own != 0) {
        atomicAdd(changed, own);
    }
}

template <class T>
__global__ void changed_gaps_kernel(Tensor tensor, const T* input, const T* result, T poisoned,
                                    unsigned long long* changed) {
    unsigned long long own = 0;
    for (std::int64_t number = first_index(); number < tensor.gaps(); number += index_stride()) {
        const std::int64_t i = tensor.gap(number);
        own += same_bits(result[i], input == nullptr ? poisoned : input[i]) ? 0U : 1U;
    }
    if (own != 0) {
        atomicAdd(changed, own);
    }
}

__device__ unsigned long long nanoseconds_now() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__global__ void spin_kernel(unsigned long long nanoseconds) {
    const unsigned long long start = nanoseconds_now();
    while (nanoseconds_now() - start < nanoseconds) {
    }
}

// A thread per row: slower than a warp per row, and the very function that the host's comparison is made of.
template <class T, bool Copied>
__global__ void judge_kernel(Operands<T> operands, Comparison* parts) {
    Comparison own;
    for (std::int64_t row = first_index(); row < operands.rows; row += index_stride()) {
        if constexpr (Copied) {
            compare_copied_row(operands, row, own);
        } else {
            compare_row(operands, row, own);
        }
    }
    // Raw bytes, since a shared variable may not have initialisers.
    __shared__ alignas(Comparison) unsigned char storage[judge_threads * sizeof(Comparison)];
    auto* shared = reinterpret_cast<Comparison*>(storage);
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned step = judge_threads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            merge(shared[threadIdx.x], shared[threadIdx.x + step]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = shared[0];
    }
}

}  // namespace

void fill_input(const Tensor& tensor, DataType dtype, void* memory, cudaStream_t stream) {
    for_storage(dtype, [&]<class T>(T) {
        fill_kernel<<<fill_blocks, fill_threads, 0, stream>>>(tensor, static_cast<T*>(memory));
    });
    check(cudaGetLastError(), "filling the inputs");
}

void count_changed_input(const Tensor& tensor, DataType dtype, const void* memory, unsigned long long* changed,
                         cudaStream_t stream) {
    for_storage(dtype, [&]<class T>(T) {
        changed_input_kernel<<<fill_blocks, fill_threads, 0, stream>>>(tensor, static_cast<const T*>(memory), changed);
    });
    check(cudaGetLastError(), "checking the inputs");
}

void count_changed_gaps(const Tensor& tensor, DataType dtype, const void* input, const void* result,
                        unsigned long long* changed, cudaStream_t stream) {
    if (tensor.gaps() == 0) {
        return;
    }
    for_storage(dtype, [&]<class T>(T) {
        T poisoned;
        std::memset(&poisoned, 0xff, sizeof(T));
        changed_gaps_kernel<<<fill_blocks, fill_threads, 0, stream>>>(tensor, static_cast<const T*>(input),
                                                                      static_cast<const T*>(result), poisoned, changed);
    });
    check(cudaGetLastError(), "checking what lies between the results");
}

void judge(const Problem& problem, const Buffers& memory, bool copied, Comparison* parts, cudaStream_t stream) {
    for_storage(problem.dtype, [&]<class T>(T) {
        const Operands<T> operands(problem, memory);
        if (copied) {
            judge_kernel<T, true><<<judge_blocks, judge_threads, 0, stream>>>(operands, parts);
        } else {
            judge_kernel<T, false><<<judge_blocks, judge_threads, 0, stream>>>(operands, parts);
        }
    });
    check(cudaGetLastError(), "judging the results");
}

void spin(int multiprocessors, int milliseconds, cudaStream_t stream) {
    spin_kernel<<<static_cast<unsigned>(multiprocessors), 128, 0, stream>>>(
        static_cast<unsigned long long>(milliseconds) * 1000000U);
    check(cudaGetLastError(), "keeping the SMs busy");
}

void mark(cudaStream_t stream) {
    qkprof_sentinel<<<1, 32, 0, stream>>>();
    check(cudaGetLastError(), "marking the stream");
}

}  // namespace qkprof::cuda
