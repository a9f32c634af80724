// A comparison as GitHub's workflow commands: what is worse, and what says nothing, stands beside the pull request.
#pragma once

#include "compare.h"

#include <string>
#include <vector>

namespace qkprof {

// Lines: an error for each cell that is worse, a warning for each reason for which cells are missing, not comparable or
// inconclusive. GitHub shows ten of either; where there are more the tenth says so.
std::vector<std::string> annotations(const Comparison& comparison);

}  // namespace qkprof
