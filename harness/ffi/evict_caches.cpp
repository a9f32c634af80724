// A library of one function for programs of other languages, such as Python by ctypes: makes the L2 hold other data, as
// the program does before its variants' cold calls (harness/cuda/eviction.h).
#include "eviction.h"
#include "resources.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>

namespace {

// Of the process's current GPU; never given back, since nothing of CUDA may be left at its end.
struct OtherData {
    explicit OtherData(std::int64_t size)
        : bytes(size), zeros(qkprof::cuda::allocate(size)), sink(qkprof::cuda::allocate(sizeof(unsigned))) {
        qkprof::cuda::check(cudaMemset(zeros.get(), 0, static_cast<std::size_t>(size)),
                            "clearing the data that evicts");
    }

    std::int64_t bytes;
    qkprof::cuda::DeviceMemory zeros;
    qkprof::cuda::DeviceMemory sink;
};

void evict(std::int64_t bytes) {
    static const OtherData& other = *new OtherData(bytes);
    qkprof::cuda::evict(other.zeros.get(), other.bytes, other.sink.get(), nullptr);
    qkprof::cuda::check(cudaStreamSynchronize(nullptr), "evicting the caches");
}

}  // namespace

// `bytes`, twice the L2's size, of the first call are those of all. Waits until it is done. Returns whether it was;
// else the sentence why not is in `failure`, cut off to `capacity`.
extern "C" bool qkprof_evict_caches(std::int64_t bytes, char* failure, std::size_t capacity) {
    try {
        evict(bytes);
        return true;
    } catch (const std::exception& error) {
        std::snprintf(failure, capacity, "%s", error.what());
        return false;
    }
}
