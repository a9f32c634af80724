// Reads HLO text: what XLA prints of a module, old and new, and excerpts of it as documents show them.
#pragma once

#include "module.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace qkprof::hlo {

inline constexpr std::uintmax_t largest_text = std::uintmax_t{64} << 20U;  // bytes
inline constexpr std::size_t most_instructions = std::size_t{1} << 20U;
inline constexpr std::size_t deepest_calls = 64;

// Throws InputError, naming `source` and the line, for text that is no HLO, is cut short, names what it does not
// define (in an excerpt a computation may be missing), defines a name twice, or calls in a circle or deeper than the
// above.
Module parse_module(std::string_view text, const std::string& source);
Module read_module(const std::filesystem::path& path);

}  // namespace qkprof::hlo
