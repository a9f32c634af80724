// Two processes that measure the same GPU at once measure each other. The lock of a GPU is a name of the kernel's, an
// abstract socket called after its UUID: whoever the process belongs to and whatever temporary folder it has, and gone
// with the process, however that ends. It is advice among qkprofs alone.
#pragma once

#include <string>

namespace qkprof {

class GpuLock {
  public:
    // `gpu` is what the sentences call it, "cuda:0". Throws CannotMeasure where another process holds the lock, but
    // not where that one started this one, to measure for it. Where the kernel has no such names nothing is locked.
    GpuLock(const std::string& uuid, const std::string& gpu);
    ~GpuLock();
    GpuLock(const GpuLock&) = delete;
    GpuLock& operator=(const GpuLock&) = delete;
    GpuLock(GpuLock&&) = delete;
    GpuLock& operator=(GpuLock&&) = delete;

  private:
    int socket_;  // -1: nothing is held
};

}  // namespace qkprof
