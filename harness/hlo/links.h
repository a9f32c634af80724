// The computations that instructions name, found and checked.
#pragma once

#include "module.h"
#include "scanner.h"

#include <string>
#include <string_view>
#include <vector>

namespace qkprof::hlo {

// Of "%a", "{%a, /*index=1*/%b}".
std::vector<std::string> names_in(std::string_view value);

// Fills Called::computation and Module::entry. Throws InputError as parse_module says.
void link(Module& module, const Scanner& scan);

}  // namespace qkprof::hlo
