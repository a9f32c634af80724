// A block's shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace qkprof::emulator {

inline constexpr std::size_t most_shared_bytes = 227 << 10;

class SharedMemory {
  public:
    SharedMemory();
    std::byte* data() { return storage_->data(); }
    std::byte* at(std::size_t offset) { return storage_->data() + offset; }

    // A new block with so much shared memory.
    void start_block(std::size_t bytes) { bytes_ = bytes; }

    // The offset of `bytes` bytes at `p`; throws Violation when they are not all in the block's shared memory or p is
    // no multiple of `alignment`.
    std::size_t offset(const void* p, std::size_t bytes, std::size_t alignment, const char* verb) const {
        const auto offset = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(storage_->data());
        if (offset >= bytes_ || bytes > bytes_ - offset || offset % alignment != 0) {
            refuse(static_cast<std::ptrdiff_t>(offset), bytes, alignment, verb);
        }
        return offset;
    }

  private:
    [[noreturn]] void refuse(std::ptrdiff_t offset, std::size_t bytes, std::size_t alignment, const char* verb) const;

    struct alignas(128) Storage : std::array<std::byte, most_shared_bytes> {};
    std::unique_ptr<Storage> storage_;
    std::size_t bytes_ = 0;
};

}  // namespace qkprof::emulator
