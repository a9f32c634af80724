// The targets of custom calls whose launches are known, at least in part.
#pragma once

#include "count.h"

#include <string>
#include <string_view>

namespace qkprof::hlo {

struct Target {
    enum class Kind : std::uint8_t { annotation, one_kernel, library, foreign };
    Kind kind = Kind::foreign;
    const char* who = "";  // "Mosaic", "cuBLAS"
};

Target target_of(std::string_view custom_call_target);

}  // namespace qkprof::hlo
