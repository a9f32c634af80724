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
    shared_.begin_copy(thread, shared, 16);
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
        shared_.land_copy(order_.now(thread), copy.shared, copy.bytes);
        return true;
    });
}

void Asynchronous::bulk_store(unsigned thread, void* global, std::size_t shared, unsigned bytes) {
    shared_.begin_bulk_store(thread, shared, bytes);
    std::memcpy(global, shared_.at(shared), bytes);
    PerThread& own = threads_[thread];
    own.stores.push_back({shared, bytes, own.store_groups});
}

void Asynchronous::wait_stores(unsigned thread, int pending) {
    PerThread& own = threads_[thread];
    std::erase_if(own.stores, [&](const Store& store) {
        if (store.group + static_cast<unsigned>(pending) >= own.store_groups) {
            return false;
        }
        shared_.end_bulk_store(thread, store.shared, store.bytes);
        return true;
    });
}

Asynchronous::MemoryBarrier& Asynchronous::find(unsigned thread, std::size_t offset) {
    for (MemoryBarrier& barrier : barriers_) {
        if (barrier.offset == offset) {
            if (!order_.before(barrier.initialised, thread)) {
                throw Violation{
                    fmt::format("uses the mbarrier at byte {} of shared memory, which thread {} "
                                "initialised with no barrier in between",
                                offset, static_cast<unsigned>(barrier.initialised.who))};
            }
            return barrier;
        }
    }
    throw Violation{fmt::format("uses the mbarrier at byte {} of shared memory, which was not initialised", offset)};
}

void Asynchronous::initialise(unsigned thread, std::size_t barrier, unsigned arrivals) {
    for (const MemoryBarrier& other : barriers_) {
        if (other.offset == barrier) {
            throw Violation{fmt::format("initialises the mbarrier at byte {} of shared memory again", barrier)};
        }
    }
    if (arrivals == 0 || barriers_.size() == most_copy_accessors) {
        throw Violation{arrivals == 0 ? "initialises an mbarrier for no arrivals"
                                      : fmt::format("initialises more than {} mbarriers", most_copy_accessors)};
    }
    barriers_.push_back({barrier, order_.now(thread), arrivals, arrivals, 0, 0, {}, {}, {}});
}

// Ends the phase when all have arrived and all bytes are copied.
void Asynchronous::advance(MemoryBarrier& barrier) {
    if (barrier.missing == 0 && barrier.bytes == 0) {
        ++barrier.phase;
        barrier.missing = barrier.arrivals;
        learn(barrier.arrived, barrier.arriving);
        learn(barrier.arrived, {copy_accessor + number_of(barrier), barrier.phase});
        barrier.arriving.clear();
    }
}

void Asynchronous::expect(unsigned thread, std::size_t barrier, unsigned bytes) {
    MemoryBarrier& b = find(thread, barrier);
    if (b.missing == 0) {
        throw Violation{fmt::format("arrives at the mbarrier at byte {} of shared memory more than {} times in a phase",
                                    barrier, b.arrivals)};
    }
    order_.release(thread, b.arriving);
    b.bytes += bytes;
    --b.missing;
    advance(b);
}

void Asynchronous::bulk_load(unsigned thread, std::size_t shared, const void* global, unsigned bytes,
                             std::size_t barrier) {
    MemoryBarrier& b = find(thread, barrier);
    shared_.begin_copy(thread, shared, bytes);
    b.loads.push_back({shared, global, bytes, b.phase});
    b.bytes -= bytes;
    advance(b);
}

bool Asynchronous::finished(unsigned thread, std::size_t barrier, unsigned parity) {
    MemoryBarrier& b = find(thread, barrier);
    if (b.phase % 2 == parity) {
        return false;
    }
    std::erase_if(b.loads, [&](const Copy& copy) {
        if (copy.group >= b.phase) {
            return false;
        }
        std::memcpy(shared_.at(copy.shared), copy.from, copy.bytes);
        shared_.land_copy(order_.now_of_copies(number_of(b), copy.group + 1), copy.shared, copy.bytes);
        return true;
    });
    order_.acquire(thread, b.arrived);
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
