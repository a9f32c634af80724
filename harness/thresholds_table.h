// The thresholds of the gate to read, in the order in which they are: of two that are about the same the later one
// holds.
#pragma once

#include "table.h"
#include "thresholds.h"

#include <cstddef>

namespace qkprof {

// For people; cells in lines of at most `width` characters, 0: in one.
Table thresholds_table(const Thresholds& thresholds, std::size_t width);

// For programs: plain numbers, an empty cell for what an entry does not say.
Table threshold_rows(const Thresholds& thresholds);

}  // namespace qkprof
