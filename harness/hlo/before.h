// What became of the operations of a module: how many went into how many fusions, and how many are left outside.
#pragma once

#include "promise.h"

#include <cstddef>
#include <map>
#include <string>

namespace qkprof::hlo {

// Operations by name, without parameters, constants and what only names another value; each counted where it stands,
// however often it is executed.
using Operations = std::map<std::string, std::size_t>;

struct BeforeAndAfter {
    Operations before;
    Operations fused;    // after: in fusions
    Operations outside;  // after: not in fusions
    std::size_t fusions = 0;
    std::size_t joined = 0;     // operations in fusions of two or more
    bool fused_little = false;  // fewer than half of the operations after are in fusions of two or more
};

BeforeAndAfter compare(const Promise& before, const Promise& after);

std::size_t total(const Operations& operations);

// "47 operations before: 33 broadcast, ..." and so on, sentences.
std::vector<std::string> sentences_of(const BeforeAndAfter& compared);

}  // namespace qkprof::hlo
