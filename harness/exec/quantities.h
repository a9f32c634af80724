// Times, bytes and counts as people read them in a table.
#pragma once

#include <cstdint>
#include <string>

namespace qkprof::exec {

// Three digits and a unit: "1.23 us", "45.6 ms", "12 min".
std::string time_text(double seconds);
// "0 B", "1.5 KiB"
std::string bytes_text(std::uint64_t bytes);
// With a blank between each three digits: "1 234 567".
std::string count_text(std::uint64_t count);
// "3 launches", "1 launch"
std::string counted(std::uint64_t count, const char* one, const char* many);

}  // namespace qkprof::exec
