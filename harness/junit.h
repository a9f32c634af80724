// A comparison as JUnit's XML, which CI systems show: a test suite a variant, a test a cell.
#pragma once

#include "compare.h"

#include <string>

namespace qkprof {

// What is worse is a failure; what is missing, not comparable or inconclusive is one if `strict`, else skipped.
std::string to_junit(const Comparison& comparison, bool strict);

}  // namespace qkprof
