// The CUDA side of `qkprof doctor`: libraries, the GPU's condition, what may keep its counters away, the calibration.
#pragma once

#include "doctor.h"

namespace qkprof::cuda {

Diagnosis diagnose_gpu(int ordinal);

}  // namespace qkprof::cuda
