// The routes by which frameworks come to the operation, measured by scripts/routes and kept in profiles beside the
// variants of this program.
#pragma once

#include <string>
#include <vector>

namespace qkprof {

struct Framework {
    const char* name;
    const char* route;  // one line: how it comes to the operation
};

const std::vector<Framework>& frameworks();

}  // namespace qkprof
