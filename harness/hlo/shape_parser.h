// Reads the type of a value in HLO text.
#pragma once

#include "scanner.h"
#include "shape.h"

namespace qkprof::hlo {

// Throws InputError.
Shape parse_shape(Scanner& scan);

}  // namespace qkprof::hlo
