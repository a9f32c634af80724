// What one instruction promises to launch on a GPU, as far as its text says.
#pragma once

#include "count.h"
#include "fusion.h"
#include "module.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace qkprof::hlo {

enum class Class : std::uint8_t {
    fusion,       // one kernel
    custom_call,  // code that XLA does not know
    library,      // cuBLAS, cuDNN, cuFFT ...
    unfused,      // a kernel of its own
    transfer,     // a copy or fill of memory
    collective,   // between devices
    control,      // while, conditional, call: what it runs is listed by itself
    nothing       // a name for what is there
};
inline constexpr std::array all_classes = {Class::fusion,   Class::custom_call, Class::library, Class::unfused,
                                           Class::transfer, Class::collective,  Class::control, Class::nothing};
// "fusion", "custom call" ...
const char* name_of(Class kind);
// As a key of JSON: "fusions", "custom_calls" ...
const char* key_of(Class kind);

struct Verdict {
    Class kind = Class::nothing;
    Count kernels = {};        // each time the instruction is executed
    Count transfers = {};      // likewise: copies and fills
    std::string what = {};     // "Triton fusion", "copy to another layout"
    std::string reason = {};   // why a count is no single number; a clause
    bool blocked = false;      // a place where fusion was blocked
    bool layout_copy = false;  // a copy that moves the elements to another layout
    std::optional<Fusion> fusion = {};
};

Verdict verdict_of(const Module& module, const Computation& in, const Instruction& instruction);

}  // namespace qkprof::hlo
