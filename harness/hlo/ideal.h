// What a single fusion of a whole module would move through memory, and what goes through memory beyond that.
#pragma once

#include "promise.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace qkprof::hlo {

// What is read of the entry computation's parameters, each byte once, and its results, written once. None where a shape
// is unknown.
std::optional<std::int64_t> ideal_bytes(const Promise& promise);

// The values that are written for other instructions to read, the largest first.
std::vector<Intermediate> intermediates(const Promise& promise);

}  // namespace qkprof::hlo
