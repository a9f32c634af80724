// The emulated device's global memory: host memory registered with its exact extent, so that one element beyond is a
// fault, and given device addresses that are the same on every run, so that the cache model is too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qkprof::emulator {

// Zero-filled pages that take no memory until they are touched; page-aligned, with a megabyte of nothing on either
// side, so that no two buffers touch. Throws std::bad_alloc.
class Mapping {
  public:
    Mapping() = default;
    explicit Mapping(std::size_t bytes);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    std::byte* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// What kernels may do with a buffer. constant: read it, whenever. input: read what the work before the call made.
// output: read and write it.
enum class Use : std::uint8_t { constant, input, output };

// One buffer that kernels may touch.
struct Region {
    std::string name;  // q, out, gamma, ...
    std::uintptr_t host = 0;
    std::uint64_t bytes = 0;
    Use use = Use::constant;
    std::uint64_t device = 0;  // its device address
};

class GlobalMemory {
  public:
    void clear();
    // `host` keeps its distance to a 512-byte boundary on the device, and a buffer right behind the last one stays
    // there.
    void add(std::string name, const void* host, std::uint64_t bytes, Use use);

    // The device address of `bytes` bytes at `host`, which must lie in one region. Throws Violation naming the regions
    // when they do not, when the address is no multiple of `alignment`, when a store hits what is no output, or when
    // anything but a constant is touched although the kernel is to wait for those before it (`before_wait`).
    std::uint64_t load_address(const void* host, std::uint64_t bytes, std::uint64_t alignment, bool before_wait) const {
        const Region& region = find(host, bytes, alignment, "loads");
        if (before_wait && region.use != Use::constant) {
            refuse_before_wait(region, bytes, "loads");
        }
        return region.device + offset_;
    }
    std::uint64_t store_address(const void* host, std::uint64_t bytes, std::uint64_t alignment,
                                bool before_wait) const {
        const Region& region = find(host, bytes, alignment, "stores");
        if (region.use != Use::output) {
            refuse_store(region, bytes);
        }
        if (before_wait) {
            refuse_before_wait(region, bytes, "stores");
        }
        return region.device + offset_;
    }

  private:
    const Region& find(const void* host, std::uint64_t bytes, std::uint64_t alignment, const char* verb) const {
        const auto address = reinterpret_cast<std::uintptr_t>(host);
        for (const Region& region : regions_) {
            offset_ = address - region.host;
            if (offset_ < region.bytes && bytes <= region.bytes - offset_ && address % alignment == 0) {
                return region;
            }
        }
        refuse(address, bytes, alignment, verb);
    }
    [[noreturn]] void refuse(std::uintptr_t address, std::uint64_t bytes, std::uint64_t alignment,
                             const char* verb) const;
    [[noreturn]] void refuse_store(const Region& region, std::uint64_t bytes) const;
    [[noreturn]] void refuse_before_wait(const Region& region, std::uint64_t bytes, const char* verb) const;

    std::vector<Region> regions_;
    std::uint64_t next_ = 1U << 21U;
    mutable std::uint64_t offset_ = 0;  // of the address last found in its region
};

}  // namespace qkprof::emulator
