// The emulated device: the kernels on the CPU, verified and counted. It has no clock.
#pragma once

#include "device.h"

#include <memory>

namespace qkprof {

std::unique_ptr<Device> open_emulated_device(const EmulatorOptions& options);

}  // namespace qkprof
