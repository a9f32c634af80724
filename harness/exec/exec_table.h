// An exec profile as people read it.
#pragma once

#include "exec_profile.h"
#include "table.h"

#include <cstddef>
#include <string>
#include <vector>

namespace qkprof::exec {

struct TableChoice {
    std::size_t top = 20;      // kernels, and ranges, that are shown one by one
    std::size_t longest = 60;  // characters of a name, which is shortened in its middle; 0: any
};

// The command and its kernels, its transfers, its ranges and its processes, each where there is something to say.
std::vector<Table> exec_tables(const ExecProfile& profile, const TableChoice& choice);

// All of it as rows for a program: each kernel and transfer of the whole and of each range, in seconds and bytes.
Table exec_rows(const ExecProfile& profile);

// The middle of what has more than so many characters is written "...".
std::string shortened(const std::string& text, std::size_t longest);

// Why what the profile says may be too little, each a sentence: to be said beside any number of it.
std::vector<std::string> doubts_of(const ExecProfile& profile);

}  // namespace qkprof::exec
