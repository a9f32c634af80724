#include "memory.h"

#include "fault.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <limits>
#include <new>
#include <utility>

namespace qkprof::emulator {

namespace {

constexpr std::size_t gap = 1 << 20;

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

Mapping::Mapping(std::size_t bytes) : bytes_(bytes) {
    const std::size_t reserved = whole_pages(bytes) + 2 * gap;
    void* pages = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        throw std::bad_alloc();
    }
    data_ = static_cast<std::byte*>(pages) + gap;
    if (bytes > 0 && mprotect(data_, whole_pages(bytes), PROT_READ | PROT_WRITE) != 0) {
        munmap(pages, reserved);
        throw std::bad_alloc();
    }
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) {
        munmap(data_ - gap, whole_pages(bytes_) + 2 * gap);
    }
}

void GlobalMemory::clear() {
    regions_.clear();
    next_ = 1U << 21U;
}

void GlobalMemory::add(std::string name, const void* host, std::uint64_t bytes, Use use) {
    constexpr std::uint64_t boundary = 512;
    const auto address = reinterpret_cast<std::uintptr_t>(host);
    const bool adjacent = !regions_.empty() && regions_.back().host + regions_.back().bytes == address;
    const std::uint64_t device = adjacent ? regions_.back().device + regions_.back().bytes : next_ + address % boundary;
    regions_.push_back({std::move(name), address, bytes, use, device});
    next_ = (device + bytes + 2 * boundary - 1) / boundary * boundary;
}

void GlobalMemory::refuse(std::uintptr_t address, std::uint64_t bytes, std::uint64_t alignment,
                          const char* verb) const {
    const Region* nearest = nullptr;
    std::uint64_t distance = std::numeric_limits<std::uint64_t>::max();
    for (const Region& region : regions_) {
        const std::uint64_t away = address < region.host                  ? region.host - address
                                   : address - region.host < region.bytes ? 0
                                                                          : address - region.host - region.bytes;
        if (away < distance) {
            distance = away;
            nearest = &region;
        }
    }
    if (nearest == nullptr) {
        throw Violation{fmt::format("{} {} bytes of global memory, of which the call has none", verb, bytes)};
    }
    const auto offset = static_cast<std::int64_t>(address - nearest->host);
    if (address % alignment != 0) {
        throw Violation{fmt::format("{} {} bytes at byte {} of {}, an address that is not a multiple of {}", verb,
                                    bytes, offset, nearest->name, alignment)};
    }
    throw Violation{fmt::format("{} {} bytes at byte {} of {}, which has {} bytes", verb, bytes, offset, nearest->name,
                                nearest->bytes)};
}

void GlobalMemory::refuse_store(const Region& region, std::uint64_t bytes) const {
    throw Violation{fmt::format("stores {} bytes at byte {} of {}, which is an input", bytes, offset_, region.name)};
}

void GlobalMemory::refuse_before_wait(const Region& region, std::uint64_t bytes, const char* verb) const {
    throw Violation{fmt::format("{} {} bytes at byte {} of {} before it waits for the kernels before it", verb, bytes,
                                offset_, region.name)};
}

}  // namespace qkprof::emulator
