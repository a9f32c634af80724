// What makes the counts of an exec profile too small, or tells its kernels not apart.
#pragma once

#include "exec/exec_profile.h"

#include <string>
#include <vector>

namespace qkprof::hlo {

// Sentences; empty: the profile holds all that ran. `ranges`: those whose counts matter; empty: all.
std::vector<std::string> count_doubts(const exec::ExecProfile& profile,
                                      const std::vector<const exec::RangeRow*>& ranges);

}  // namespace qkprof::hlo
