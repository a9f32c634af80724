// The folder that --xla_dump_to fills: which of its files belong to one module.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace qkprof::hlo {

struct Dump {
    std::string module;             // "module_0001.jit_f"
    std::filesystem::path after;    // the optimised HLO
    std::filesystem::path before;   // empty: it is not there
    std::filesystem::path buffers;  // likewise
    std::filesystem::path thunks;   // what is executed, with its command buffers; likewise
};

// Of the one module that the glob matches, by "module_0001.jit_f" or "jit_f"; an empty glob matches all. Throws
// InputError, listing them, unless it is one.
Dump find_dump(const std::filesystem::path& folder, const std::string& glob);

struct CommandBuffers {
    std::size_t buffers = 0;   // submissions
    std::size_t commands = 0;  // executions in them
};
// Of the text of a thunk sequence.
CommandBuffers command_buffers(const std::filesystem::path& thunks);

}  // namespace qkprof::hlo
