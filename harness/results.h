// A profile as a table: one for people, and the same as one row of plain numbers a measurement.
#pragma once

#include "profile.h"
#include "table.h"

#include <string>
#include <vector>

namespace qkprof {

// "508.1 us": four significant digits, in the unit that leaves one to three of them before the point.
std::string format_time(double seconds);
// "33.6 MiB", likewise with three.
std::string format_bytes(double bytes);

// For people: a section a problem, units that fit, a dash for what is unknown and, once, the reason.
Table results_table(const Profile& profile);

// For people: what was moved at each level of memory as multiples of what must be, and what bounds the time.
Table levels_table(const Profile& profile);

// For programs: a row a measurement, plain numbers with the unit in the title, an empty cell for what is unknown.
Table results_rows(const Profile& profile);

}  // namespace qkprof
