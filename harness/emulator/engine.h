// The engine of the emulated device: runs the blocks of a grid one after another, the threads of a block as fibers,
// round-robin, and counts what their warps ask for. Deterministic; one host thread.
#pragma once

#define QKPROF_EMULATED_KERNELS  // the engine implements the emulated vocabulary
#include "asynchronous.h"
#include "cache.h"
#include "device.h"
#include "fault.h"
#include "fibers.h"
#include "memory.h"
#include "recorder.h"
#include "shared_memory.h"
#include "vocabulary.h"

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace qkprof::emulator {

// What was asked for since the last reset.
struct Totals {
    std::int64_t launches = 0;
    std::int64_t blocks = 0;  // of all grids
    std::int64_t load_sectors = 0;
    std::int64_t store_sectors = 0;
    // Of ld.shared and st.shared. What cp.async and the bulk engine write and read does not pass the banks as an
    // instruction of a warp and is not in it.
    std::int64_t shared_wavefronts = 0;
    std::int64_t bank_conflicts = 0;  // wavefronts beyond those of an access without conflicts
    std::int64_t shared_bytes = 0;    // of the largest block

    friend bool operator==(const Totals&, const Totals&) = default;
};

// Why a thread does not run.
enum class Wait : std::uint8_t { nothing, exited, shuffle, warp_barrier, block_barrier, mbarrier };

struct Thread : Lane {
    Wait wait = Wait::nothing;
    bool begun = false;        // is somewhere inside the kernel
    bool before_wait = false;  // the kernel is launched programmatically and has not waited yet
    Site site;                 // of the vocabulary's word that it executes
    float value = 0;           // of a shuffle: given, then received
    unsigned source = 0;       // the lane that a shuffle reads
    std::size_t mbarrier = 0;
    unsigned parity = 0;
};

struct Warp {
    unsigned first = 0;          // thread
    std::uint32_t runnable = 0;  // lanes
    std::uint32_t exited = 0;
    std::uint32_t at_warp = 0;   // wait at a shuffle or warp barrier
    std::uint32_t at_block = 0;  // wait at a block barrier
    std::uint32_t at_mbarrier = 0;
    WarpLog log;
};

class Engine {
  public:
    explicit Engine(const EmulatorOptions& options);

    Stream stream() { return {this}; }
    GlobalMemory& memory() { return memory_; }
    CacheModel& caches() { return caches_; }
    const Totals& totals() const { return totals_; }
    // Launched since the last reset; those that were launched alike are one.
    const std::vector<KernelUse>& kernels() const { return kernels_; }
    void reset_totals() {
        totals_ = {};
        kernels_.clear();
    }
    // Since the engine was made: tells whether the caches are as a call left them.
    std::int64_t launches_ever() const { return launches_ever_; }
    const Limits& limits() const { return limits_; }

    // For tests of huge grids: of each launch only so many blocks run, the last ones.
    void only_last_blocks(std::int64_t count) { only_last_ = count; }

    void run_grid(const LaunchConfig& config, const std::function<void()>& body);

    // The words of the vocabulary, called by the running thread.
    void global_load(void* to, const void* from, unsigned bytes, Cache hint, const Site& site);
    void global_store(void* to, const void* from, unsigned bytes, Cache hint, const Site& site);
    std::byte* shared_base() { return shared_.data(); }
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

  private:
    struct Unwind {};  // thrown through a fiber whose grid has failed

    void check(const LaunchConfig& config) const;
    static void check_bulk(unsigned bytes);
    void note(const LaunchConfig& config);
    void start_caches(const LaunchConfig& config);
    void run_block(std::int64_t block);
    bool run_warp(Warp& warp);
    void run_lanes(Warp& warp);
    bool release_warp(Warp& warp);
    bool release_mbarriers(Warp& warp);
    void release_block();
    void run_thread(unsigned index);
    // The fiber to continue: the next lane of the pass, or the host.
    unsigned next_thread() {
        if (to_run_ == 0) {
            return Fibers::host;
        }
        const unsigned index = warp_->first + static_cast<unsigned>(std::countr_zero(to_run_));
        to_run_ &= to_run_ - 1;
        running_ = &threads_[index];
        running_lane = running_;
        return index;
    }
    // The running thread waits for others; throws Unwind when the grid has failed meanwhile.
    [[gnu::always_inline]] void wait(Wait reason, std::uint32_t Warp::*where) {
        Thread& thread = *running_;
        const std::uint32_t lane = 1U << (thread.thread % 32);
        thread.wait = reason;
        warp_->runnable &= ~lane;
        warp_->*where |= lane;
        fibers_.jump(thread.thread, next_thread());
        if (unwinding_) {
            throw Unwind{};
        }
    }
    Thread& at(const Site& site) {
        running_->site = site;
        return *running_;
    }
    void count(const WarpAccess& access);
    void count_bulk(std::uint64_t device, unsigned bytes, Access kind);
    unsigned count_line(const LinePart& part, Access kind, Path path);
    void ask(Access kind, unsigned sectors);
    void flush(Warp& warp);

    Fault fault(const Thread& thread, const std::string& what) const;
    [[noreturn]] void explain_deadlock() const;
    void abandon_block();

    Limits limits_;
    GlobalMemory memory_;
    CacheModel caches_;
    Totals totals_;
    std::vector<KernelUse> kernels_;
    std::int64_t launches_ever_ = 0;
    std::int64_t only_last_ = INT64_MAX;

    // Of the running launch and block.
    LaunchConfig config_;
    const std::function<void()>* body_ = nullptr;
    std::int64_t block_ = 0;
    Order order_;
    SharedMemory shared_;
    Asynchronous asynchronous_;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    Warp* warp_ = nullptr;      // that runs
    std::uint32_t to_run_ = 0;  // its lanes that have not had their turn
    Thread* running_ = nullptr;
    bool unwinding_ = false;
    std::exception_ptr failure_;
    Fibers fibers_;
};

}  // namespace qkprof::emulator
