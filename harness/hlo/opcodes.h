// What kinds of operation HLO has, as far as launches ask.
#pragma once

#include "module.h"

#include <cstdint>
#include <string_view>

namespace qkprof::hlo {

enum class Opcode : std::uint8_t {
    free,        // a name for what is there: bitcast, tuple, parameter ...
    kernel,      // computes: fused, or a kernel of its own
    collective,  // between devices
    library,     // XLA has no code of its own for it
    transfer,    // a copy or fill
    control,     // runs other computations
    fusion,
    custom_call,
    completion,  // waits for what was started
    unknown
};

// Of the operation that a "-start" starts.
std::string_view base_of(std::string_view opcode);

Opcode opcode_of(std::string_view opcode);

// Whether it only gives a value another name or type.
bool is_free(const Instruction& instruction);

}  // namespace qkprof::hlo
