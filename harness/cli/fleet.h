// Of qkprof compare: --fleet DIR, many GPUs side by side.
#pragma once

#include "error.h"
#include "table.h"
#include "thresholds.h"

#include <string>
#include <vector>

namespace qkprof::cli {

// `metrics` and `variants` are globs, those alone; `strict` makes what is inconclusive a failure; `all` shows every GPU
// and every measurement. JSON and CSV hold every GPU in any case.
Exit fleet_command(const std::string& folder, const Thresholds& thresholds, const std::vector<std::string>& metrics,
                   const std::vector<std::string>& variants, bool strict, Format format, bool all);

}  // namespace qkprof::cli
