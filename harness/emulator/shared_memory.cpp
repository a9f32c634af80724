#include "shared_memory.h"

#include "fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::emulator {
namespace {

std::string name_of(unsigned who) {
    if (who >= copy_accessor) {
        return "a bulk copy";
    }
    return who >= warp_accessor ? fmt::format("warp {}", who - warp_accessor) : fmt::format("thread {}", who);
}

}  // namespace

SharedMemory::SharedMemory(const Order& order)
    : order_(order), storage_(std::make_unique<Storage>()), pairs_(most_shared_bytes / 2), read_sets_(pairs_.size()) {}

void SharedMemory::start_block(std::size_t bytes) {
    bytes_ = bytes;
    if (order_.first_epoch() == 1) {  // what the shadow holds is of epochs that come again
        std::fill(pairs_.begin(), pairs_.end(), Pair{});
    }
}

void SharedMemory::refuse(std::ptrdiff_t offset, std::size_t bytes, std::size_t alignment, const char* verb) const {
    if (offset % static_cast<std::ptrdiff_t>(alignment) != 0) {
        throw Violation{fmt::format("{} {} bytes at byte {} of shared memory, which is not a multiple of {}", verb,
                                    bytes, offset, alignment)};
    }
    throw Violation{fmt::format("{} {} bytes at byte {} of shared memory, of which the block has {} bytes", verb, bytes,
                                offset, bytes_)};
}

// The bytes are there for the thread to read.
void SharedMemory::check_written(const Pair& pair, unsigned thread, const char* verb) const {
    const Stamp& written = pair.written;
    if (written.epoch < order_.first_epoch()) {
        throw Violation{
            fmt::format("{} byte {} of shared memory, which nothing in the block has written", verb, byte_of(pair))};
    }
    if (written.who == copy_in_flight) {
        throw Violation{
            fmt::format("{} byte {} of shared memory before the copy into it was waited for", verb, byte_of(pair))};
    }
    if (!order_.before(written, thread)) {
        throw Violation{
            written.who >= copy_accessor
                ? fmt::format("{} byte {} of shared memory, which a bulk copy filled, without waiting at its mbarrier",
                              verb, byte_of(pair))
                : fmt::format("{} byte {} of shared memory, which thread {} wrote with no barrier in between", verb,
                              byte_of(pair), static_cast<unsigned>(written.who))};
    }
}

// What was written there may be overwritten.
void SharedMemory::check_overwrite(const Pair& pair, unsigned thread, const char* verb) const {
    const Stamp& written = pair.written;
    if (written.epoch < order_.first_epoch()) {
        return;
    }
    if (written.who == copy_in_flight) {
        throw Violation{
            fmt::format("{} byte {} of shared memory, into which a copy is on its way", verb, byte_of(pair))};
    }
    if (!order_.before(written, thread)) {
        throw Violation{fmt::format("{} byte {} of shared memory, which {} wrote with no barrier in between", verb,
                                    byte_of(pair), name_of(static_cast<unsigned>(written.who)))};
    }
}

// Those who read there have done so before the thread overwrites it.
void SharedMemory::check_readers(const Pair& pair, unsigned thread, const char* verb) const {
    const Stamp& read = pair.read;
    if (read.epoch < order_.first_epoch()) {
        return;
    }
    if (read.who == store_in_flight) {
        throw Violation{fmt::format("{} byte {} of shared memory, which a bulk store may still be reading (bulk_wait)",
                                    verb, byte_of(pair))};
    }
    const auto check = [&](const Stamp& reader) {
        if (!order_.before(reader, thread)) {
            throw Violation{fmt::format("{} byte {} of shared memory, which {} read with no barrier in between", verb,
                                        byte_of(pair), name_of(static_cast<unsigned>(reader.who)))};
        }
    };
    if (read.who != several_warps) {
        check(read);
    } else if (read.epoch == order_.epoch()) {
        const ReadSet& set = read_sets_[index_of(pair)];
        for (unsigned warp = 0; warp < set.size(); ++warp) {
            if (set[warp] != 0) {
                check({order_.epoch(), set[warp], warp_accessor + warp});
            }
        }
    }
}

void SharedMemory::remember_read(Pair& pair, const Stamp& now) {
    Stamp& read = pair.read;
    if (read.who == store_in_flight && read.epoch >= order_.first_epoch()) {
        return;  // the stricter of the two
    }
    if (read.epoch < order_.epoch() || read.who == now.who) {
        read = now;
        return;
    }
    const auto warp = static_cast<unsigned>(now.who / 32);
    if (read.who != several_warps) {
        const auto who = static_cast<unsigned>(read.who);
        const unsigned other = who >= warp_accessor ? who - warp_accessor : who / 32;
        if (other == warp) {
            read = {now.epoch, now.clock, warp_accessor + warp};
            return;
        }
        ReadSet& set = read_sets_[index_of(pair)];
        set = {};
        set[other] = static_cast<std::uint32_t>(read.clock);
        read = {now.epoch, 0, several_warps};
    }
    read_sets_[index_of(pair)][warp] = static_cast<std::uint32_t>(now.clock);
}

void SharedMemory::load(unsigned thread, std::size_t offset, std::size_t bytes) {
    const Stamp now = order_.now(thread);
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        check_written(pairs_[i], thread, "loads");
        remember_read(pairs_[i], now);
    }
}

void SharedMemory::store(unsigned thread, std::size_t offset, std::size_t bytes) {
    const Stamp now = order_.now(thread);
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        check_overwrite(pairs_[i], thread, "stores");
        check_readers(pairs_[i], thread, "stores");
        pairs_[i] = {now, {}};
    }
}

void SharedMemory::begin_copy(unsigned thread, std::size_t offset, std::size_t bytes) {
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        check_overwrite(pairs_[i], thread, "copies into");
        check_readers(pairs_[i], thread, "copies into");
        pairs_[i] = {{order_.epoch(), 0, copy_in_flight}, {}};
    }
}

void SharedMemory::land_copy(const Stamp& writer, std::size_t offset, std::size_t bytes) {
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        pairs_[i].written = writer;
    }
}

void SharedMemory::begin_bulk_store(unsigned thread, std::size_t offset, std::size_t bytes) {
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        check_written(pairs_[i], thread, "bulk-stores");
        const Stamp& written = pairs_[i].written;
        if (!order_.fenced(written, thread)) {
            throw Violation{
                fmt::format("bulk-stores byte {} of shared memory, which thread {} stored without an "
                            "async_fence() after it",
                            i * 2, static_cast<unsigned>(written.who))};
        }
        pairs_[i].read = {order_.epoch(), 0, store_in_flight};
    }
}

void SharedMemory::end_bulk_store(unsigned thread, std::size_t offset, std::size_t bytes) {
    const Stamp now = order_.now(thread);
    for (std::size_t i = offset / 2; i < (offset + bytes) / 2; ++i) {
        pairs_[i].read = now;
    }
}

}  // namespace qkprof::emulator
