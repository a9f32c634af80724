// The option --timings: where the wall time of a command went.
#pragma once

#include "cli.h"

#include "table.h"
#include "timings.h"

namespace qkprof::cli {

void add_timings_option(CLI::App& command, bool& value);

// After the results: to standard output; to standard error where that holds JSON or CSV for programs.
void print_timings(Timings& timings, Format format);

}  // namespace qkprof::cli
