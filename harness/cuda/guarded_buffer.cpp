#include "guarded_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qkprof::cuda {
namespace {

constexpr std::int64_t guard_bytes = 256;
constexpr unsigned char pattern = 0xa5;

void set(void* memory, int value, std::int64_t bytes, cudaStream_t stream) {
    check(cudaMemsetAsync(memory, value, static_cast<std::size_t>(bytes), stream), "setting device memory");
}

}  // namespace

GuardedBuffer::GuardedBuffer(const char* name, std::int64_t bytes, std::int64_t offset_bytes)
    : name_(name),
      bytes_(bytes),
      memory_(allocate(footprint(bytes, offset_bytes))),
      data_(static_cast<unsigned char*>(memory_.get()) + guard_bytes + offset_bytes) {}

std::int64_t GuardedBuffer::footprint(std::int64_t bytes, std::int64_t offset_bytes) {
    return guard_bytes + offset_bytes + bytes + guard_bytes;
}

void GuardedBuffer::arm(cudaStream_t stream) const {
    set(data_ - guard_bytes, pattern, guard_bytes, stream);
    set(data_ + bytes_, pattern, guard_bytes, stream);
}

void GuardedBuffer::poison(cudaStream_t stream) const {
    if (bytes_ > 0) {
        set(data_, 0xff, bytes_, stream);
    }
}

std::string GuardedBuffer::damage(cudaStream_t stream) const {
    std::array<unsigned char, guard_bytes> guard;
    const auto changed = [](unsigned char byte) { return byte != pattern; };
    copy(guard.data(), data_ - guard_bytes, guard_bytes, stream);
    const auto before = std::count_if(guard.begin(), guard.end(), changed);
    if (before > 0) {
        return fmt::format("A kernel wrote {} byte(s) before the beginning of {}.", before, name_);
    }
    copy(guard.data(), data_ + bytes_, guard_bytes, stream);
    const auto after = std::count_if(guard.begin(), guard.end(), changed);
    if (after > 0) {
        return fmt::format("A kernel wrote {} byte(s) past the end of {}.", after, name_);
    }
    return {};
}

}  // namespace qkprof::cuda
