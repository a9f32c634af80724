// The bytes that an instruction moves through memory, as shapes and layouts say.
#pragma once

#include "module.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace qkprof::hlo {

struct Traffic {
    std::vector<std::optional<std::int64_t>> operands;  // read of each; what is sliced alone counts
    std::optional<std::int64_t> written;                // what is updated in place alone counts

    // None where one is unknown.
    std::optional<std::int64_t> read() const;
    std::optional<std::int64_t> total() const;
};

Traffic traffic_of(const Module& module, const Computation& in, const Instruction& instruction);

// What the instruction yields: of what a "-start" starts, without what it carries along, and of a library call without
// its working memory.
std::vector<const Shape*> results_of(const Instruction& instruction);

}  // namespace qkprof::hlo
