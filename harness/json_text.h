// JSON text that may be anything: damaged, made up to exhaust the memory, or no JSON at all.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace qkprof {

// More than any profile has: a value takes up to a hundred bytes of memory and may be a single byte of the text, and
// what is nested exhausts the stack of whoever walks it.
inline constexpr std::size_t most_json_values = std::size_t{1} << 22U;
inline constexpr std::size_t deepest_json = 32;

// Throws InputError, naming `source` and the place, where the text is no JSON (RFC 8259), an object holds a key twice,
// a text or key holds a control character other than tab and line feed, or it has more values than the above or is
// nested deeper; `what` it is to be, as "profile", is for the sentence.
nlohmann::json parse_json(std::string_view text, const char* what, const std::string& source);

}  // namespace qkprof
