// The words in which every kernel is written. Under nvcc each is one intrinsic or one PTX instruction
// (vocabulary/cuda.h); in the emulated build each is executed and recorded on the CPU (vocabulary/emulated.h).
// Those two headers are the only place where the builds differ; what is common to both stands here.
//
//   QK_KERNEL, QK_DEVICE                      a kernel; a function that kernels call
//   QK_KERNEL_UP_TO(threads, blocks)          a kernel whose registers must suffice for blocks of so many threads, and
//                                             for so many blocks on a multiprocessor (0: as the compiler likes)
//   thread() threads() block() blocks()       index in the block, block size, index in the grid, grid size (1-D)
//   lane() warp()                             thread() % 32, thread() / 32
//   load<Cache>(p) store<Cache>(p, v)         one global access of a Vector or scalar, with a cache hint
//   shared_memory()                           the block's dynamic shared memory, 128-byte aligned
//   shared_load(p) shared_store(p, v)         one shared access of a Vector or scalar
//   shuffle(v, source) shuffle_xor(v, mask)   all 32 lanes take part
//   barrier() warp_barrier()                  all threads of the block; all lanes of the warp
//   async_copy(to, from) async_commit() async_wait<N>()
//                                             16 bytes a thread, global to shared, past the registers (cp.async)
//   Barrier, barrier_initialise/expect/wait   an mbarrier in shared memory
//   bulk_load bulk_store bulk_commit bulk_wait async_fence
//                                             the bulk copy engine: one thread asks for a whole contiguous piece
//   policy_of(streaming), load(p, policy) store(p, v, policy)
//                                             a global access whose cache hint is known only when the kernel runs
//   launch_dependents() wait_for_dependency() programmatic dependent launch: lets the kernel behind this one begin;
//   waits
//                                             until the kernels before it have ended and what they wrote is to be seen.
//                                             Before that wait a kernel that LaunchConfig calls programmatic may read
//                                             constants alone and write nothing
//   until_loaded(bits, from, to)              what `bits` is made of has been loaded, and the two addresses are
//   computed,
//                                             when the thread goes on: keeps the compiler from doing it later
//   reciprocal_square_root(x)
//   launch(stream, config, kernel, arguments...)
//   QK_CALLER, QK_FROM_CALLER                 in a function's parameters and in the arguments of its accesses: these
//   count
//                                             as made where the function is called, for one that is called at several
//                                             places which not all lanes pass
#pragma once

#include "variant.h"
#include "vocabulary/number.h"

#include <string>

namespace qkprof {

// Cache hint of a global access. normal: the hardware's default. streaming: used once, evict first. read_only: constant
// during the kernel (ld.global.nc). keep: constant and wanted again, evict last.
enum class Cache : std::uint8_t { normal, streaming, read_only, keep };

struct LaunchConfig {
    const char* kernel = "";        // its name in messages
    std::int64_t blocks = 0;        // 0 launches nothing: an empty problem is not an error
    int threads = 0;                // a block; a multiple of 32
    std::int64_t shared_bytes = 0;  // dynamic shared memory a block
    // Global memory that the L2 is asked to keep (an access policy window); none when bytes is 0.
    const void* persisting = nullptr;
    std::int64_t persisting_bytes = 0;
    // Programmatic dependent launch: may begin before the kernel before it has ended, and waits by itself.
    bool programmatic = false;
};

}  // namespace qkprof

#ifdef QKPROF_EMULATED_KERNELS
#include "vocabulary/emulated.h"
#else
#include "vocabulary/cuda.h"
#endif

namespace qkprof::inline QK_BUILD {

// Sum over each group of `Lanes` neighbouring lanes (a power of two), returned to every lane: a butterfly.
template <int Lanes>
QK_DEVICE float sum_lanes(float value) {
    for (int mask = Lanes / 2; mask > 0; mask /= 2) {
        value += shuffle_xor(value, mask);
    }
    return value;
}

}  // namespace qkprof::inline QK_BUILD
