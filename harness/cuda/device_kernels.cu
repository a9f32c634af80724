#include "device_kernels.h"

#include "input.h"
#include "resources.h"

extern "C" __global__ void qkprof_sentinel() {}

namespace qkprof::cuda {
namespace {

constexpr int fill_threads = 256;
constexpr int fill_blocks = 4096;
constexpr int judge_threads = 128;
constexpr int read_threads = 256;

__device__ std::int64_t first_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::int64_t index_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

template <class T>
__global__ void fill_kernel(T* q, std::int64_t count, std::uint64_t seed) {
    for (std::int64_t i = first_index(); i < count; i += index_stride()) {
        q[i] = from_float<T>(input_value(seed, static_cast<std::uint64_t>(i)));
    }
}

template <class T>
__global__ void changed_kernel(const T* q, std::int64_t count, std::uint64_t seed, unsigned long long* changed) {
    unsigned long long own = 0;
    for (std::int64_t i = first_index(); i < count; i += index_stride()) {
        const T filled = from_float<T>(input_value(seed, static_cast<std::uint64_t>(i)));
        own += to_float(q[i]) == to_float(filled) ? 0U : 1U;  // a NaN is a change too
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
__global__ void judge_kernel(const T* q, const T* out, const float* gamma, const float* cos, const float* sin,
                             std::int64_t rows, std::int64_t heads, std::int64_t sequence, std::int64_t head_dim,
                             double eps, Tolerance tolerance, Comparison* parts) {
    Comparison own;
    for (std::int64_t row = first_index(); row < rows; row += index_stride()) {
        const std::int64_t start = row * head_dim;
        if constexpr (Copied) {
            compare_copied_row(q + start, out + start, head_dim, row, own);
        } else {
            const std::int64_t entry = row / heads % sequence * (head_dim / 2);
            compare_row(q + start, out + start, gamma, cos + entry, sin + entry, head_dim, eps, tolerance, row, own);
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

__global__ void read_kernel(const uint4* zeros, std::int64_t count, unsigned* sink) {
    const std::int64_t i = first_index();
    if (i < count) {
        const uint4 value = zeros[i];
        if ((value.x | value.y | value.z | value.w) != 0) {
            *sink = value.x;
        }
    }
}

// Calls f(T{}) for the problem's storage type.
template <class F>
void for_storage_type(DataType dtype, F f) {
    switch (dtype) {
        case DataType::f32:
            return f(float{});
        case DataType::bf16:
            return f(bf16{});
        case DataType::f16:
            return f(f16{});
    }
}

template <class T, bool Copied>
void launch_judge(const Problem& problem, const Buffers& buffers, Comparison* parts, cudaStream_t stream) {
    judge_kernel<T, Copied><<<judge_blocks, judge_threads, 0, stream>>>(
        static_cast<const T*>(buffers.q), static_cast<const T*>(buffers.q_out),
        static_cast<const float*>(buffers.gamma_q), static_cast<const float*>(buffers.cos),
        static_cast<const float*>(buffers.sin), problem.rows(), problem.heads, problem.sequence, problem.head_dim,
        static_cast<double>(problem.eps), tolerance_of(problem.dtype), parts);
}

}  // namespace

void fill_input(const Problem& problem, void* q, cudaStream_t stream) {
    for_storage_type(problem.dtype, [&]<class T>(T) {
        fill_kernel<<<fill_blocks, fill_threads, 0, stream>>>(static_cast<T*>(q), problem.elements(), problem.seed);
    });
    check(cudaGetLastError(), "filling q");
}

void count_changed_input(const Problem& problem, const void* q, unsigned long long* changed, cudaStream_t stream) {
    for_storage_type(problem.dtype, [&]<class T>(T) {
        changed_kernel<<<fill_blocks, fill_threads, 0, stream>>>(static_cast<const T*>(q), problem.elements(),
                                                                 problem.seed, changed);
    });
    check(cudaGetLastError(), "checking q");
}

void judge(const Problem& problem, const Buffers& buffers, bool copied, Comparison* parts, cudaStream_t stream) {
    for_storage_type(problem.dtype, [&]<class T>(T) {
        if (copied) {
            launch_judge<T, true>(problem, buffers, parts, stream);
        } else {
            launch_judge<T, false>(problem, buffers, parts, stream);
        }
    });
    check(cudaGetLastError(), "judging out");
}

void read_zeros(const void* zeros, std::int64_t bytes, void* sink, cudaStream_t stream) {
    const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(uint4));
    const auto blocks = static_cast<unsigned>((count + read_threads - 1) / read_threads);
    read_kernel<<<blocks, read_threads, 0, stream>>>(static_cast<const uint4*>(zeros), count,
                                                     static_cast<unsigned*>(sink));
    check(cudaGetLastError(), "reading other data to evict the caches");
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
