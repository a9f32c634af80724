// A block's shared memory, with a shadow that knows who last wrote and read each pair of bytes: reads of bytes that
// nothing wrote and accesses that no barrier orders are faults.
#pragma once

#include "order.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace qkprof::emulator {

inline constexpr std::size_t most_shared_bytes = 227 << 10;

class SharedMemory {
  public:
    explicit SharedMemory(const Order& order);
    std::byte* data() { return storage_->data(); }
    std::byte* at(std::size_t offset) { return storage_->data() + offset; }

    // A new block with so much shared memory, in which nothing is written.
    void start_block(std::size_t bytes);

    // The offset of `bytes` bytes at `p`; throws Violation when they are not all in the block's shared memory or p is
    // no multiple of `alignment`.
    std::size_t offset(const void* p, std::size_t bytes, std::size_t alignment, const char* verb) const {
        const auto offset = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(storage_->data());
        if (offset >= bytes_ || bytes > bytes_ - offset || offset % alignment != 0) {
            refuse(static_cast<std::ptrdiff_t>(offset), bytes, alignment, verb);
        }
        return offset;
    }

    // Throw Violation when the thread may not do so now, and remember that it did.
    void load(unsigned thread, std::size_t offset, std::size_t bytes);
    void store(unsigned thread, std::size_t offset, std::size_t bytes);
    // The thread starts a copy into these bytes; it lands, written by `writer`.
    void begin_copy(unsigned thread, std::size_t offset, std::size_t bytes);
    void land_copy(const Stamp& writer, std::size_t offset, std::size_t bytes);
    // The thread starts a bulk store of these bytes; the engine has read them.
    void begin_bulk_store(unsigned thread, std::size_t offset, std::size_t bytes);
    void end_bulk_store(unsigned thread, std::size_t offset, std::size_t bytes);

  private:
    // Further accessors of a pair of bytes, beside those of order.h.
    static constexpr unsigned copy_in_flight = 4095;   // writes it
    static constexpr unsigned store_in_flight = 4094;  // reads it
    static constexpr unsigned several_warps = 4093;    // read it: read_sets_ says which

    struct Pair {
        Stamp written;
        Stamp read;
    };
    // By warp, the clock of its last read; 0: none.
    using ReadSet = std::array<std::uint32_t, 32>;

    [[noreturn]] void refuse(std::ptrdiff_t offset, std::size_t bytes, std::size_t alignment, const char* verb) const;
    void check_written(const Pair& pair, unsigned thread, const char* verb) const;
    void check_overwrite(const Pair& pair, unsigned thread, const char* verb) const;
    void check_readers(const Pair& pair, unsigned thread, const char* verb) const;
    void remember_read(Pair& pair, const Stamp& now);
    std::size_t index_of(const Pair& pair) const { return static_cast<std::size_t>(&pair - pairs_.data()); }
    std::size_t byte_of(const Pair& pair) const { return index_of(pair) * 2; }

    struct alignas(128) Storage : std::array<std::byte, most_shared_bytes> {};
    const Order& order_;
    std::unique_ptr<Storage> storage_;
    std::size_t bytes_ = 0;
    std::vector<Pair> pairs_;
    std::vector<ReadSet> read_sets_;  // of each pair that several warps have read in this epoch
};

}  // namespace qkprof::emulator
