// The date and time as profiles write it.
#pragma once

#include <string>

namespace qkprof {

// Now, ISO 8601 with the offset from UTC: "2026-11-30T00:15:13+00:00".
std::string date_now();

}  // namespace qkprof
