// How XLA names the kernels of its instructions, and the NVTX ranges around them.
#pragma once

#include "promise.h"

#include <string>
#include <string_view>
#include <vector>

namespace qkprof::hlo {

// "fusion_8" of "fusion.8".
std::string kernel_name(std::string_view instruction);

// As a profile's name of a kernel is compared: without arguments and template, and without the "__1" that XLA puts
// behind a name that is taken.
std::string plain_kernel_name(std::string_view kernel);

// Those that the kernels of the row may have: its instruction's, and of a fusion that sorts the sort's.
std::vector<std::string> kernel_names(const Module& module, const Row& row);

// The same for fusions that compute the same in the same way: XLA compiles one kernel for them.
std::string fingerprint(const Module& module, const Instruction& instruction);

// What an annotation "Thunk:#hlo_op=fusion.8,hlo_module=jit_f#" says under the key; empty where it says nothing.
std::string annotated(std::string_view range, std::string_view key);

}  // namespace qkprof::hlo
