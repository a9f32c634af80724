// A promise as a table: one for people, and the same as one row of plain values an instruction.
#pragma once

#include "observed.h"
#include "promise.h"
#include "table.h"

#include <string>
#include <vector>

namespace qkprof::hlo {

// "The profile has XLA's ranges of the modules jit_f, jit_g alone ...": where of_others holds some.
std::string others_sentence(const Observed& observed);

// For people. `observed` may be null; `more`: sentences on what else is known of the module.
Table promise_table(const Promise& promise, const Observed* observed, const std::vector<std::string>& more);

// For programs: a row an instruction, also those that launch nothing.
Table promise_rows(const Promise& promise, const Observed* observed);

// "fusion.8 (while.5 body)".
std::string name_of(const Row& row);
// What is to be said of it beside its counts: the configuration, the operations, the reason.
std::string detail_of(const Row& row);
// The module in one line: its name, what it was compiled for, its partitions.
std::string heading_of(const Promise& promise);

}  // namespace qkprof::hlo
