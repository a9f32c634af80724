#include "asynchronous.h"

#include "fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace qkprof::emulator {

void Asynchronous::start_block(unsigned threads) {
    threads_.resize(threads);
    for (PerThread& thread : threads_) {
        thread.copies.clear();
        thread.stores.clear();
        thread.copy_groups = 0;
        thread.store_groups = 0;
    }
    barriers_.clear();
}

void Asynchronous::copy(unsigned thread, std::size_t shared, const void* global) {
    PerThread& own = threads_[thread];
    own.copies.push_back({shared, global, 16, own.copy_groups});
}

void Asynchronous::wait_copies(unsigned thread, int pending) {
    PerThread& own = threads_[thread];
    std::erase_if(own.copies, [&](const Copy& copy) {
        if (copy.group + static_cast<unsigned>(pending) >= own.copy_groups) {
            return false;
        }
        std::memcpy(shared_.at(copy.shared), copy.from, copy.bytes);
        return true;
    });
}

void Asynchronous::bulk_store(unsigned thread, void* global, std::size_t shared, unsigned bytes) {
    std::memcpy(global, shared_.at(shared), bytes);
    PerThread& own = threads_[thread];
    own.stores.push_back({shared, bytes, own.store_groups});
}

void Asynchronous::wait_stores(unsigned thread, int pending) {
    PerThread& own = threads_[thread];
    std::erase_if(own.stores,
                  [&](const Store& store) { return store.group + static_cast<unsigned>(pending) < own.store_groups; });
}

Asynchronous::MemoryBarrier& Asynchronous::find(std::size_t offset) {
    for (MemoryBarrier& barrier : barriers_) {
        if (barrier.offset == offset) {
            return barrier;
        }
    }
    throw Violation{fmt::format("uses the mbarrier at byte {} of shared memory, which was not initialised", offset)};
}

void Asynchronous::initialise(std::size_t barrier, unsigned arrivals) {
    std::erase_if(barriers_, [&](const MemoryBarrier& old) { return old.offset == barrier; });
    barriers_.push_back({barrier, arrivals, arrivals, 0, 0, {}});
}

void Asynchronous::advance(MemoryBarrier& barrier) {
    if (barrier.missing == 0 && barrier.bytes == 0) {
        ++barrier.phase;
        barrier.missing = barrier.arrivals;
    }
}

void Asynchronous::expect(std::size_t barrier, unsigned bytes) {
    MemoryBarrier& b = find(barrier);
    if (b.missing == 0) {
        throw Violation{fmt::format("arrives at the mbarrier at byte {} of shared memory more than {} times in a phase",
                                    barrier, b.arrivals)};
    }
    b.bytes += bytes;
    --b.missing;
    advance(b);
}

void Asynchronous::bulk_load(std::size_t shared, const void* global, unsigned bytes, std::size_t barrier) {
    MemoryBarrier& b = find(barrier);
    b.loads.push_back({shared, global, bytes, b.phase});
    b.bytes -= bytes;
    advance(b);
}

bool Asynchronous::finished(std::size_t barrier, unsigned parity) {
    MemoryBarrier& b = find(barrier);
    if (b.phase % 2 == parity) {
        return false;
    }
    std::erase_if(b.loads, [&](const Copy& copy) {
        if (copy.group >= b.phase) {
            return false;
        }
        std::memcpy(shared_.at(copy.shared), copy.from, copy.bytes);
        return true;
    });
    return true;
}

std::string Asynchronous::describe(std::size_t barrier) const {
    for (const MemoryBarrier& b : barriers_) {
        if (b.offset == barrier) {
            return fmt::format("phase {} of the one at byte {} of shared memory lacks {} of {} arrivals and {} bytes",
                               b.phase, barrier, b.missing, b.arrivals, b.bytes);
        }
    }
    return "it was not initialised";
}

void Asynchronous::check_exit(unsigned thread) const {
    const PerThread& own = threads_[thread];
    if (!own.copies.empty()) {
        throw Violation{"exits before its asynchronous copies into shared memory are waited for"};
    }
    if (!own.stores.empty()) {
        throw Violation{"exits before the shared memory of its bulk stores has been read (bulk_wait<0> is missing)"};
    }
}

}  // namespace qkprof::emulator
