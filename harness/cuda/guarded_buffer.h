// Device memory between two guards: bytes of a known pattern that show whether a kernel wrote past its buffer.
#pragma once

#include "resources.h"

#include <string>

namespace qkprof::cuda {

class GuardedBuffer {
  public:
    // `bytes` of memory that begin `offset_bytes` after a 256-byte boundary; `name` is for messages. Throws
    // OutOfMemory.
    GuardedBuffer(const char* name, std::int64_t bytes, std::int64_t offset_bytes = 0);
    // Bytes that such a buffer takes of the device's memory.
    static std::int64_t footprint(std::int64_t bytes, std::int64_t offset_bytes = 0);

    void* data() const { return data_; }
    std::int64_t bytes() const { return bytes_; }

    // Enqueues the writing of both guards, or of 0xFF (NaN in every storage type) to every byte between them.
    void arm(cudaStream_t stream) const;
    void poison(cudaStream_t stream) const;
    // What was written outside since arm(), as a sentence; empty if nothing. Waits for the stream.
    std::string damage(cudaStream_t stream) const;

  private:
    const char* name_;
    std::int64_t bytes_;
    DeviceMemory memory_;
    unsigned char* data_;
};

}  // namespace qkprof::cuda
