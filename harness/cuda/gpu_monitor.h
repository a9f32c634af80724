// Reads the clocks and the condition of one GPU through NVML. It sets nothing.
#pragma once

#include "clocks.h"
#include "nvml_library.h"

#include <string>
#include <utility>
#include <vector>

namespace qkprof::cuda {

class GpuMonitor {
  public:
    // `uuid` as CUDA gives it, "GPU-...".
    explicit GpuMonitor(const std::string& uuid);

    // Why nothing can be read, as a clause; empty if something can.
    const std::string& failure() const { return failure_; }
    // Takes some tens of microseconds: outside of timed intervals.
    ClockReading read() const;
    // Clocks now and at most, throttling, ECC, MIG, persistence, heat and power as name and text; what cannot be read
    // is said in its text.
    std::vector<std::pair<std::string, std::string>> condition() const;

  private:
    std::string failure_;
    nvmlDevice_t device_ = nullptr;
};

}  // namespace qkprof::cuda
