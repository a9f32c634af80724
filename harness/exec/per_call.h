// What one call of an NVTX range made the GPU do.
#pragma once

#include "exec_profile.h"

#include <string>
#include <string_view>
#include <vector>

namespace qkprof::exec {

// The ranges that a text means: "name" or "domain@name", whole or as a glob. One that is some range's text means those
// alone, whatever it would match as a glob. Throws InputError, with what ranges there are, where it means none.
std::vector<const RangeRow*> ranges_of(const ExecProfile& profile, std::string_view text,
                                       std::string_view option = "--per-call");

// Lines that say it of one range; `longest` as for tables.
std::string per_call_text(const RangeRow& range, std::size_t longest);

}  // namespace qkprof::exec
