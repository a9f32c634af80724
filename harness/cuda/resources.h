// Owners of what the CUDA runtime gives out, and the check of its answers.
#pragma once

#include "error.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace qkprof::cuda {

// Throws CannotMeasure: "CUDA failed while <doing>: <what it says> (<name>)."
void check(cudaError_t status, const char* doing);

// For destructors, which must not throw: drops the error, so that the next call does not report it as its own.
void discard(cudaError_t status) noexcept;

// Device memory that the GPU does not have.
struct OutOfMemory : CannotMeasure {
    using CannotMeasure::CannotMeasure;
};

// A fault that ended the context: nothing in this process can use the GPU any more.
struct DeviceLost : CannotMeasure {
    using CannotMeasure::CannotMeasure;
};

// Owns one handle of the runtime; movable, never copied.
template <class Handle, auto Destroy>
class Owner {
  public:
    Owner() = default;
    explicit Owner(Handle handle) : handle_(handle) {}
    Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owner& operator=(Owner&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owner() {
        if (handle_ != nullptr) {
            discard(Destroy(handle_));
        }
    }
    Handle get() const { return handle_; }

  private:
    Handle handle_ = nullptr;
};

using DeviceMemory = Owner<void*, cudaFree>;
using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using Graph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;

// At least one byte, aligned to 256. Throws OutOfMemory.
DeviceMemory allocate(std::int64_t bytes);
// A stream that does not wait for the default stream.
Stream make_stream();
Event make_event();
GraphExec instantiate(const Graph& graph);

// Between host and device, in either direction; returns when the bytes are there.
void copy(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);

// The graph of what `enqueue` puts into the stream. Where it throws, the stream is left as it was.
template <class Enqueue>
Graph capture(cudaStream_t stream, Enqueue enqueue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    cudaGraph_t graph = nullptr;
    try {
        enqueue();
    } catch (...) {
        discard(cudaStreamEndCapture(stream, &graph));
        const Graph unfinished(graph);
        throw;
    }
    check(cudaStreamEndCapture(stream, &graph), "ending a capture");
    return Graph(graph);
}

// Sets part of the L2 of the current device aside for persisting accesses, as long as the object lives; then as much as
// before. What persisted persists on, until evict() (eviction.h). cudaCtxResetPersistingL2Cache, which would end that,
// is not called: in runs of many variants the launches of every kernel took 0.17 us longer behind it, most of the time
// and for the rest of the process (H200, CUDA 13.0; a process that did nothing but copy did not show it, and why is not
// known). Does nothing for 0 bytes. Throws CannotMeasure where the device grants less.
class L2SetAside {
  public:
    explicit L2SetAside(std::int64_t bytes);
    ~L2SetAside();
    L2SetAside(const L2SetAside&) = delete;
    L2SetAside& operator=(const L2SetAside&) = delete;

  private:
    static std::size_t limit();

    std::int64_t bytes_;
    std::size_t before_ = 0;
};

}  // namespace qkprof::cuda
