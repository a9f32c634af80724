// One opened GPU: what it is, the stream that everything runs in, and the data that evicts its caches.
#pragma once

#include "device.h"
#include "gpu_monitor.h"
#include "resources.h"

namespace qkprof::cuda {

class Context {
  public:
    // Throws CannotMeasure; the ordinal must be one that CUDA has.
    explicit Context(int ordinal);

    // Makes this GPU the calling thread's current one: to be called before any work on it.
    void use() const;
    const DeviceInfo& info() const { return info_; }
    cudaStream_t stream() const { return stream_.get(); }
    const GpuMonitor& monitor() const { return monitor_; }
    // Keeps all SMs busy for a while, so that an idle GPU's clocks come up; says in a sentence what was done.
    std::string warm_up() const;
    std::int64_t evicting_bytes() const { return other_bytes_; }
    // Enqueues the evicting kernels: the L2 holds other data then, and nothing that it was asked to keep.
    void evict_caches() const;

  private:
    int ordinal_;
    DeviceInfo info_;
    GpuMonitor monitor_;
    Stream stream_;
    std::int64_t other_bytes_ = 0;
    DeviceMemory other_data_;
    DeviceMemory sink_;
};

// "13.0" for 13000, as CUDA writes versions.
std::string version_text(int version);

}  // namespace qkprof::cuda
