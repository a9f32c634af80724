// A comparison for programs: every cell, with plain numbers.
#pragma once

#include "compare.h"
#include "table.h"

#include <string>

namespace qkprof {

// "seconds", "bytes", "sectors"; empty of what has none.
std::string unit_of(const std::string& metric);

// Whether NEW's value was held against BASE's, and so something or nothing is allowed.
bool is_judged(const Difference& cell);
// Whether its threshold and its noise are parts of BASE's value.
bool is_time(const Difference& cell);

// A row a cell, an empty cell for what is unknown.
Table difference_rows(const Comparison& comparison);

// One JSON object: the verdict, how many cells there are of each standing, the notes, and the cells.
std::string to_json(const Comparison& comparison, bool strict);

}  // namespace qkprof
