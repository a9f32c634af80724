// Parts of arrays, and how they lie in memory.
#pragma once

#include "module.h"

namespace qkprof::hlo {

// Whether a slice reads one stretch of memory, in the order in which it writes it.
bool is_one_stretch(const Shape& whole, const Shape& part);

// Whether the computation's one result is one stretch of memory of one of its parameters, moved: no kernel computes
// it.
bool is_one_stretch(const Computation& body);

}  // namespace qkprof::hlo
