// Runs the known work of a calibration and reads its counters: traffic by the range profiler, launches by activity
// records.
#pragma once

#include "calibration.h"
#include "context.h"

namespace qkprof::cuda {

// What cannot be read is said in the calibration. Throws CannotMeasure only where the GPU itself fails.
Calibration calibrate(const Context& context);

}  // namespace qkprof::cuda
