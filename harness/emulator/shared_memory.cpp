#include "shared_memory.h"

#include "fault.h"

#include <fmt/format.h>

namespace qkprof::emulator {

SharedMemory::SharedMemory() : storage_(std::make_unique<Storage>()) {}

void SharedMemory::refuse(std::ptrdiff_t offset, std::size_t bytes, std::size_t alignment, const char* verb) const {
    if (offset % static_cast<std::ptrdiff_t>(alignment) != 0) {
        throw Violation{fmt::format("{} {} bytes at byte {} of shared memory, which is not a multiple of {}", verb,
                                    bytes, offset, alignment)};
    }
    throw Violation{fmt::format("{} {} bytes at byte {} of shared memory, of which the block has {} bytes", verb, bytes,
                                offset, bytes_)};
}

}  // namespace qkprof::emulator
