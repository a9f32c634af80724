#include "resources.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::cuda {

void check(cudaError_t status, const char* doing) {
    if (status != cudaSuccess) {
        discard(status);
        throw CannotMeasure(
            fmt::format("CUDA failed while {}: {} ({}).", doing, cudaGetErrorString(status), cudaGetErrorName(status)));
    }
}

void discard(cudaError_t status) noexcept {
    if (status != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
    }
}

DeviceMemory allocate(std::int64_t bytes) {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
    if (status == cudaErrorMemoryAllocation) {
        discard(status);
        throw OutOfMemory(fmt::format("The GPU has no {} bytes of memory free in one piece.", bytes));
    }
    check(status, "allocating device memory");
    return DeviceMemory(memory);
}

Stream make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
    return Stream(stream);
}

Event make_event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "creating an event");
    return Event(event);
}

GraphExec instantiate(const Graph& graph) {
    cudaGraphExec_t exec = nullptr;
    check(cudaGraphInstantiate(&exec, graph.get(), 0), "instantiating a graph");
    return GraphExec(exec);
}

void copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream),
          "copying between host and device");
    check(cudaStreamSynchronize(stream), "copying between host and device");
}

L2SetAside::L2SetAside(std::int64_t bytes) : bytes_(bytes) {
    if (bytes_ == 0) {
        return;
    }
    const auto wanted = static_cast<std::size_t>(bytes_);
    before_ = limit();
    check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, wanted), "setting part of the L2 aside");
    if (const std::size_t granted = limit(); granted < wanted) {
        discard(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, before_));
        throw CannotMeasure(
            fmt::format("{} bytes of L2 were to be set aside, and the device granted {}.", wanted, granted));
    }
}

L2SetAside::~L2SetAside() {
    if (bytes_ != 0) {
        discard(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, before_));
    }
}

std::size_t L2SetAside::limit() {
    std::size_t bytes = 0;
    check(cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize), "reading the L2 set-aside");
    return bytes;
}

}  // namespace qkprof::cuda
