// The vocabulary on the emulated device: each word is executed on the CPU and recorded. What it means stands in
// ../vocabulary.h; the engine behind these functions is harness/emulator/.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#ifndef __cpp_lib_source_location
#include <experimental/source_location>
#endif

#define QK_BUILD on_emulator
#define QK_KERNEL
#define QK_KERNEL_UP_TO(threads, blocks)
#define QK_DEVICE inline
#define QK_CALLER , emulator::Site site = emulator::Site::current()
#define QK_FROM_CALLER , site

namespace qkprof::emulator {

// Where the running fiber stands in its grid.
struct Lane {
    unsigned thread = 0;
    unsigned threads = 0;
    unsigned block = 0;
    unsigned blocks = 0;
};
extern constinit thread_local const Lane* running_lane;

// A place in a kernel's source: accesses of a warp's lanes at the same place (and the same turn) are one instruction.
#ifdef __cpp_lib_source_location
using Site = std::source_location;
#else  // clang before 16, which is Debian 12's clang-tidy, lacks what libstdc++ builds it from
using Site = std::experimental::source_location;
#endif

void global_load(void* to, const void* from, unsigned bytes, Cache hint, const Site& site);
void global_store(void* to, const void* from, unsigned bytes, Cache hint, const Site& site);
std::byte* shared_base();
void shared_load(void* to, const void* from, unsigned bytes, const Site& site);
void shared_store(void* to, const void* from, unsigned bytes, const Site& site);
float shuffle(float value, unsigned source, const Site& site);
void block_barrier(const Site& site);
void warp_barrier(const Site& site);
void async_copy(void* shared, const void* global, const Site& site);
void async_commit(const Site& site);
void async_wait(int pending, const Site& site);
void mbarrier_initialise(void* barrier, unsigned arrivals, const Site& site);
void mbarrier_expect(void* barrier, unsigned bytes, const Site& site);
void mbarrier_wait(void* barrier, unsigned parity, const Site& site);
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, const Site& site);
void bulk_store(void* global, const void* shared, unsigned bytes, const Site& site);
void bulk_commit(const Site& site);
void bulk_wait(int pending, const Site& site);
void async_fence(const Site& site);
void wait_for_dependency(const Site& site);

// Runs `body` once for every thread of the grid, block after block. Throws LaunchError for a configuration that a GPU
// would refuse and Fault (harness/emulator/) for what a kernel did wrong.
void run_grid(Stream stream, const LaunchConfig& config, const std::function<void()>& body);

}  // namespace qkprof::emulator

namespace qkprof::inline on_emulator {

inline constexpr Backend this_backend = Backend::emulated;

inline unsigned thread() { return emulator::running_lane->thread; }
inline unsigned threads() { return emulator::running_lane->threads; }
inline unsigned block() { return emulator::running_lane->block; }
inline unsigned blocks() { return emulator::running_lane->blocks; }
inline unsigned lane() { return thread() % 32; }
inline unsigned warp() { return thread() / 32; }

template <Cache Hint = Cache::normal, class V>
V load(const V* p, emulator::Site site = emulator::Site::current()) {
    V value;
    emulator::global_load(&value, p, sizeof(V), Hint, site);
    return value;
}
template <Cache Hint = Cache::normal, class V>
void store(V* p, V value, emulator::Site site = emulator::Site::current()) {
    static_assert(Hint == Cache::normal || Hint == Cache::streaming);
    emulator::global_store(p, &value, sizeof(V), Hint, site);
}

struct Policy {
    Cache hint;
};
inline Policy policy_of(bool streaming) { return {streaming ? Cache::streaming : Cache::normal}; }
template <class V>
V load(const V* p, Policy policy, emulator::Site site = emulator::Site::current()) {
    V value;
    emulator::global_load(&value, p, sizeof(V), policy.hint, site);
    return value;
}
template <class V>
void store(V* p, V value, Policy policy, emulator::Site site = emulator::Site::current()) {
    emulator::global_store(p, &value, sizeof(V), policy.hint, site);
}

inline void launch_dependents() {}  // kernels run one after another
inline void wait_for_dependency(emulator::Site site = emulator::Site::current()) {
    emulator::wait_for_dependency(site);
}
inline void until_loaded(unsigned /*bits*/, const void* /*from*/, void* /*to*/) {}

inline std::byte* shared_memory() { return emulator::shared_base(); }
template <class V>
V shared_load(const V* p, emulator::Site site = emulator::Site::current()) {
    V value;
    emulator::shared_load(&value, p, sizeof(V), site);
    return value;
}
template <class V>
void shared_store(V* p, V value, emulator::Site site = emulator::Site::current()) {
    emulator::shared_store(p, &value, sizeof(V), site);
}

inline float shuffle(float value, unsigned source, emulator::Site site = emulator::Site::current()) {
    return emulator::shuffle(value, source, site);
}
inline float shuffle_xor(float value, int mask, emulator::Site site = emulator::Site::current()) {
    return emulator::shuffle(value, lane() ^ static_cast<unsigned>(mask), site);
}
inline void barrier(emulator::Site site = emulator::Site::current()) { emulator::block_barrier(site); }
inline void warp_barrier(emulator::Site site = emulator::Site::current()) { emulator::warp_barrier(site); }

inline void async_copy(void* shared, const void* global, emulator::Site site = emulator::Site::current()) {
    emulator::async_copy(shared, global, site);
}
inline void async_commit(emulator::Site site = emulator::Site::current()) { emulator::async_commit(site); }
template <int Pending>
void async_wait(emulator::Site site = emulator::Site::current()) {
    emulator::async_wait(Pending, site);
}

struct alignas(8) Barrier {
    unsigned long long state;
};
inline void barrier_initialise(Barrier* b, unsigned arrivals, emulator::Site site = emulator::Site::current()) {
    emulator::mbarrier_initialise(b, arrivals, site);
}
inline void barrier_expect(Barrier* b, unsigned bytes, emulator::Site site = emulator::Site::current()) {
    emulator::mbarrier_expect(b, bytes, site);
}
inline void barrier_wait(Barrier* b, unsigned parity, emulator::Site site = emulator::Site::current()) {
    emulator::mbarrier_wait(b, parity, site);
}
inline void bulk_load(void* shared, const void* global, unsigned bytes, Barrier* b,
                      emulator::Site site = emulator::Site::current()) {
    emulator::bulk_load(shared, global, bytes, b, site);
}
inline void bulk_store(void* global, const void* shared, unsigned bytes,
                       emulator::Site site = emulator::Site::current()) {
    emulator::bulk_store(global, shared, bytes, site);
}
inline void bulk_commit(emulator::Site site = emulator::Site::current()) { emulator::bulk_commit(site); }
template <int Pending>
void bulk_wait(emulator::Site site = emulator::Site::current()) {
    emulator::bulk_wait(Pending, site);
}
inline void async_fence(emulator::Site site = emulator::Site::current()) { emulator::async_fence(site); }

inline float reciprocal_square_root(float x) { return 1.0F / std::sqrt(x); }

template <class... Formal, class... Actual>
void launch(Stream stream, const LaunchConfig& config, void (*kernel)(Formal...), Actual... arguments) {
    emulator::run_grid(stream, config, [&] { kernel(static_cast<Formal>(arguments)...); });
}

}  // namespace qkprof::inline on_emulator
