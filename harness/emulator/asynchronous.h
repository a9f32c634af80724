// The copies that run beside the threads (cp.async, the bulk engine) and the mbarriers of a block. A copy into shared
// memory lands only when it is waited for.
#pragma once

#include "shared_memory.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qkprof::emulator {

class Asynchronous {
  public:
    Asynchronous(SharedMemory& shared, Order& order) : shared_(shared), order_(order) {}
    void start_block(unsigned threads);

    // cp.async: each thread has its groups.
    void copy(unsigned thread, std::size_t shared, const void* global);
    void commit_copies(unsigned thread) { ++threads_[thread].copy_groups; }
    void wait_copies(unsigned thread, int pending);

    // Bulk stores: the same, but the copy is made at once.
    void bulk_store(unsigned thread, void* global, std::size_t shared, unsigned bytes);
    void commit_stores(unsigned thread) { ++threads_[thread].store_groups; }
    void wait_stores(unsigned thread, int pending);

    // mbarriers by their offset in shared memory. Throw Violation for one that was not initialised before.
    void initialise(unsigned thread, std::size_t barrier, unsigned arrivals);
    void expect(unsigned thread, std::size_t barrier, unsigned bytes);
    void bulk_load(unsigned thread, std::size_t shared, const void* global, unsigned bytes, std::size_t barrier);
    // Whether the phase of this parity is over; then its bulk copies have landed and the thread knows of all that
    // happened before its arrivals.
    bool finished(unsigned thread, std::size_t barrier, unsigned parity);

    // What the barrier's phase waits for.
    std::string describe(std::size_t barrier) const;

    // Throws Violation when the thread, about to exit, has copies that nobody waited for.
    void check_exit(unsigned thread) const;

  private:
    struct Copy {
        std::size_t shared;
        const void* from;
        unsigned bytes;
        unsigned group;  // or phase
    };
    struct Store {
        std::size_t shared;
        unsigned bytes;
        unsigned group;
    };
    struct PerThread {
        std::vector<Copy> copies;  // that have not landed
        unsigned copy_groups = 0;  // committed
        std::vector<Store> stores;
        unsigned store_groups = 0;
    };
    struct MemoryBarrier {
        std::size_t offset;
        Stamp initialised;
        unsigned arrivals;        // a phase
        unsigned missing;         // arrivals of this phase
        std::int64_t bytes;       // expected and not yet copied
        unsigned phase;           // the one that is not over
        std::vector<Copy> loads;  // that have not landed
        Knowledge arriving;       // of those that arrived in this phase
        Knowledge arrived;        // in the phases that are over
    };

    MemoryBarrier& find(unsigned thread, std::size_t offset);
    unsigned number_of(const MemoryBarrier& barrier) const {
        return static_cast<unsigned>(&barrier - barriers_.data());
    }
    void advance(MemoryBarrier& barrier);

    SharedMemory& shared_;
    Order& order_;
    std::vector<PerThread> threads_;
    std::vector<MemoryBarrier> barriers_;
};

}  // namespace qkprof::emulator
