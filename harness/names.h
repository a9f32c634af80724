// Names as people type them: comma lists, globs, and what a misspelt one was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// The items of "a,b,c", without the blanks around them. Throws InputError for an empty item; `what` names the list in
// the message ("--variants").
std::vector<std::string> split_list(std::string_view list, std::string_view what);

// Whether the whole name matches the pattern: * is any run of characters, ? any one.
bool matches_glob(std::string_view pattern, std::string_view name);

// The name with the fewest insertions, deletions and substitutions to `typed`; empty when each differs by more than
// half of the longer of the two.
std::string nearest_name(std::string_view typed, std::span<const std::string> names);

// "a, b and c"
std::string joined(std::span<const std::string> names);

// " Did you mean 'x'?" where a name is near, else " There are: a, b and c." To end a sentence about an unknown name.
std::string suggestion(std::string_view typed, std::span<const std::string> names);

// A whole number with an optional sign and nothing else. Throws InputError naming `what` for other text and for
// numbers outside [least, most].
long long parse_integer(std::string_view text, std::string_view what, long long least, long long most);

// A size in bytes: a positive whole number with an optional suffix K, M or G (powers of 1024). Throws InputError.
long long parse_bytes(std::string_view text, std::string_view what);

}  // namespace qkprof
