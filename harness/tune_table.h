// What is known of the tuning of problems, as tables.
#pragma once

#include "table.h"
#include "tune.h"

#include <vector>

namespace qkprof {

// What an entry says: problem, parameters, time, and how that stands to a copy. For programs (`plain`) numbers without
// units.
std::vector<Column> tuning_columns(bool plain);
std::vector<Cell> tuning_cells(const TuningEntry& entry, bool plain);

// A row a problem and variant.
Table tune_table(const std::vector<TuneResult>& results, bool plain);

}  // namespace qkprof
