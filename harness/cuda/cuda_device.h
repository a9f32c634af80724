// The CUDA device behind device.h: what the rest of the harness sees of harness/cuda/.
#pragma once

#include "device.h"

#include <memory>

namespace qkprof {

// Opens GPU `ordinal`, as CUDA counts them. Throws CannotMeasure, with the reason, where there is none, the driver is
// missing or too old, or the GPU is older than the kernels are compiled for.
std::unique_ptr<Device> open_cuda_device(int ordinal);

// Destroys this process's context on GPU `ordinal`. Throws CannotMeasure where CUDA fails.
void leave_cuda_gpu(int ordinal);

// The GPUs that open_cuda_device() accepts; and why there are none, if so.
Discovery discover_cuda_gpus();

}  // namespace qkprof
