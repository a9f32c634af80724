// The names of the NVTX ranges that the calls of variants run in.
#pragma once

#include "measurement.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace qkprof {

inline constexpr const char* nvtx_domain = "qkprof";

// Of a call that is counted, timed or traced in this state.
inline std::string range_name(std::string_view variant, CacheState state) {
    return fmt::format("{}.{}", variant, name_of(state));
}

// Of the call whose result is verified: it runs in no stated state.
inline std::string verify_range_name(std::string_view variant) { return fmt::format("{}.verify", variant); }

}  // namespace qkprof
