// The vocabulary on the GPU: each word is one intrinsic or one PTX instruction. What it means stands in
// ../vocabulary.h.
#pragma once

#include <cuda_runtime.h>

#define QK_BUILD on_cuda
#define QK_KERNEL __global__
// `blocks`: that many on a multiprocessor; ptxas sees to it, and to no more, where it would else spill to have more of
// them. 0 leaves it to ptxas.
#define QK_KERNEL_UP_TO(threads, blocks) __global__ __launch_bounds__(threads, blocks)
#define QK_DEVICE __device__ __forceinline__
#define QK_CALLER
#define QK_FROM_CALLER

namespace qkprof::inline on_cuda {

inline constexpr Backend this_backend = Backend::cuda;

QK_DEVICE unsigned thread() { return threadIdx.x; }
QK_DEVICE unsigned threads() { return blockDim.x; }
QK_DEVICE unsigned block() { return blockIdx.x; }
QK_DEVICE unsigned blocks() { return gridDim.x; }
QK_DEVICE unsigned lane() { return threadIdx.x % 32; }
QK_DEVICE unsigned warp() { return threadIdx.x / 32; }

// The register image of an access: 2, 4, 8 or 16 bytes.
template <std::size_t Bytes>
struct Word;
template <>
struct Word<2> {
    using type = unsigned short;
};
template <>
struct Word<4> {
    using type = unsigned;
};
template <>
struct Word<8> {
    using type = uint2;
};
template <>
struct Word<16> {
    using type = uint4;
};

// L1 evict-last has no intrinsic.
QK_DEVICE unsigned short load_keep(const unsigned short* p) {
    unsigned short v;
    asm("ld.global.nc.L1::evict_last.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}
QK_DEVICE unsigned load_keep(const unsigned* p) {
    unsigned v;
    asm("ld.global.nc.L1::evict_last.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
QK_DEVICE uint2 load_keep(const uint2* p) {
    uint2 v;
    asm("ld.global.nc.L1::evict_last.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
QK_DEVICE uint4 load_keep(const uint4* p) {
    uint4 v;
    asm("ld.global.nc.L1::evict_last.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p));
    return v;
}

template <Cache Hint = Cache::normal, class V>
QK_DEVICE V load(const V* p) {
    using W = typename Word<sizeof(V)>::type;
    const W* q = reinterpret_cast<const W*>(p);
    W w;
    if constexpr (Hint == Cache::streaming) {
        w = __ldcs(q);
    } else if constexpr (Hint == Cache::read_only) {
        w = __ldg(static_cast<const W*>(q));
    } else if constexpr (Hint == Cache::keep) {
        w = load_keep(q);
    } else {
        w = *q;
    }
    return reinterpret_cast<V&>(w);
}

template <Cache Hint = Cache::normal, class V>
QK_DEVICE void store(V* p, V value) {
    using W = typename Word<sizeof(V)>::type;
    static_assert(Hint == Cache::normal || Hint == Cache::streaming);
    const W w = reinterpret_cast<W&>(value);
    if constexpr (Hint == Cache::streaming) {
        __stcs(reinterpret_cast<W*>(p), w);
    } else {
        *reinterpret_cast<W*>(p) = w;
    }
}

// A hint as the L2's policy, an operand of the access: the descriptors that createpolicy.fractional makes of
// evict_first and evict_unchanged for all of the accesses (ptxas folds it to these numbers). The latter is measured
// alike to an access without the operand; evict_normal is not, and slower (fused_best.cu). Made by the host, so that
// the kernel finds it among its arguments.
struct Policy {
    std::uint64_t descriptor;
};
inline Policy policy_of(bool streaming) { return {streaming ? 0x12f0000000000000U : 0x10f0000000000000U}; }
QK_DEVICE unsigned short load_with(const unsigned short* p, Policy policy) {
    unsigned short v;
    asm volatile("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(v) : "l"(p), "l"(policy.descriptor) : "memory");
    return v;
}
QK_DEVICE unsigned load_with(const unsigned* p, Policy policy) {
    unsigned v;
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(p), "l"(policy.descriptor) : "memory");
    return v;
}
QK_DEVICE uint2 load_with(const uint2* p, Policy policy) {
    uint2 v;
    asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p), "l"(policy.descriptor)
                 : "memory");
    return v;
}
QK_DEVICE uint4 load_with(const uint4* p, Policy policy) {
    uint4 v;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(policy.descriptor)
                 : "memory");
    return v;
}
QK_DEVICE void store_with(unsigned short* p, unsigned short v, Policy policy) {
    asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(p), "h"(v), "l"(policy.descriptor) : "memory");
}
QK_DEVICE void store_with(unsigned* p, unsigned v, Policy policy) {
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(p), "r"(v), "l"(policy.descriptor) : "memory");
}
QK_DEVICE void store_with(uint2* p, uint2 v, Policy policy) {
    asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(p), "r"(v.x), "r"(v.y),
                 "l"(policy.descriptor)
                 : "memory");
}
QK_DEVICE void store_with(uint4* p, uint4 v, Policy policy) {
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w), "l"(policy.descriptor)
                 : "memory");
}
template <class V>
QK_DEVICE V load(const V* p, Policy policy) {
    auto w = load_with(reinterpret_cast<const typename Word<sizeof(V)>::type*>(p), policy);
    return reinterpret_cast<V&>(w);
}
template <class V>
QK_DEVICE void store(V* p, V value, Policy policy) {
    using W = typename Word<sizeof(V)>::type;
    store_with(reinterpret_cast<W*>(p), reinterpret_cast<W&>(value), policy);
}

QK_DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
QK_DEVICE void wait_for_dependency() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// The predicate needs the bits. That all of them are set hardly happens, and what is done then is always allowed.
QK_DEVICE void until_loaded(unsigned bits, const void* from, void* to) {
    asm volatile("" ::"l"(from), "l"(to));
    asm volatile(
        "{\n\t"
        ".reg .pred all;\n\t"
        "setp.eq.u32 all, %0, 0xffffffff;\n\t"
        "@all griddepcontrol.launch_dependents;\n\t"
        "}" ::"r"(bits)
        : "memory");
}

QK_DEVICE std::byte* shared_memory() {
    extern __shared__ __align__(128) unsigned char qkprof_shared[];
    return reinterpret_cast<std::byte*>(qkprof_shared);
}

template <class V>
QK_DEVICE V shared_load(const V* p) {
    using W = typename Word<sizeof(V)>::type;
    W w = *reinterpret_cast<const W*>(p);
    return reinterpret_cast<V&>(w);
}

template <class V>
QK_DEVICE void shared_store(V* p, V value) {
    using W = typename Word<sizeof(V)>::type;
    *reinterpret_cast<W*>(p) = reinterpret_cast<W&>(value);
}

QK_DEVICE float shuffle(float value, unsigned source) { return __shfl_sync(0xffffffffU, value, source); }
QK_DEVICE float shuffle_xor(float value, int mask) { return __shfl_xor_sync(0xffffffffU, value, mask); }
QK_DEVICE void barrier() { __syncthreads(); }
QK_DEVICE void warp_barrier() { __syncwarp(); }

QK_DEVICE unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

// Past the L1 (.cg): 16 bytes, both addresses aligned to 16.
QK_DEVICE void async_copy(void* shared, const void* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
QK_DEVICE void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most `Pending` of this thread's committed groups are unfinished.
template <int Pending>
QK_DEVICE void async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

// An mbarrier in shared memory. One thread initialises it, then every thread passes barrier() before using it.
struct alignas(8) Barrier {
    unsigned long long state;
};
QK_DEVICE void barrier_initialise(Barrier* b, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives once and adds `bytes` to what the current phase waits for.
QK_DEVICE void barrier_expect(Barrier* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
                 : "memory");
}
// Waits for the end of the phase of this parity (the first phase is 0).
QK_DEVICE void barrier_wait(Barrier* b, unsigned parity) {
    asm volatile(
        "{\n\t"
        ".reg .pred done;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
        "@!done bra again;\n\t"
        "}" ::"r"(shared_address(b)),
        "r"(parity)
        : "memory");
}

// Bulk copies: addresses and bytes are multiples of 16.
QK_DEVICE void bulk_load(void* shared, const void* global, unsigned bytes, Barrier* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(shared_address(b))
                 : "memory");
}
QK_DEVICE void bulk_store(void* global, const void* shared, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
}
QK_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until at most `Pending` of this thread's committed bulk stores still read shared memory.
template <int Pending>
QK_DEVICE void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
// Between a thread's own shared stores and a bulk store of them by the copy engine.
QK_DEVICE void async_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

QK_DEVICE float reciprocal_square_root(float x) { return rsqrtf(x); }

inline void throw_on_error(cudaError_t status, const LaunchConfig& config) {
    if (status != cudaSuccess) {
        cudaGetLastError();  // a refused launch must not be reported again by the next call
        throw LaunchError(std::string("The launch of ") + config.kernel + " (" + std::to_string(config.blocks) +
                          " blocks of " + std::to_string(config.threads) + " threads, " +
                          std::to_string(config.shared_bytes) +
                          " bytes of shared memory) failed: " + cudaGetErrorString(status) + ".");
    }
}

template <class... Formal, class... Actual>
void launch(Stream stream, const LaunchConfig& config, void (*kernel)(Formal...), Actual... arguments) {
    if (config.blocks == 0) {
        return;
    }
    constexpr std::int64_t shared_without_opt_in = 48 << 10;
    if (config.shared_bytes > shared_without_opt_in) {
        throw_on_error(
            cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(config.shared_bytes)),
            config);
    }
    cudaLaunchConfig_t launch_config = {};
    launch_config.gridDim = dim3(static_cast<unsigned>(config.blocks));
    launch_config.blockDim = dim3(static_cast<unsigned>(config.threads));
    launch_config.dynamicSmemBytes = static_cast<std::size_t>(config.shared_bytes);
    launch_config.stream = static_cast<cudaStream_t>(stream.handle);
    cudaLaunchAttribute attributes[2] = {};
    launch_config.attrs = attributes;
    if (config.programmatic) {
        cudaLaunchAttribute& programmatic = attributes[launch_config.numAttrs++];
        programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        programmatic.val.programmaticStreamSerializationAllowed = 1;
    }
    if (config.persisting_bytes > 0) {
        cudaLaunchAttribute& window = attributes[launch_config.numAttrs++];
        window.id = cudaLaunchAttributeAccessPolicyWindow;
        window.val.accessPolicyWindow.base_ptr = const_cast<void*>(config.persisting);
        window.val.accessPolicyWindow.num_bytes = static_cast<std::size_t>(config.persisting_bytes);
        window.val.accessPolicyWindow.hitRatio = 1.0F;
        window.val.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
        window.val.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    }
    throw_on_error(cudaLaunchKernelEx(&launch_config, kernel, static_cast<Formal>(arguments)...), config);
}

}  // namespace qkprof::inline on_cuda
