// What toml++ 3.3 and 3.4 must not be given: it takes for impossible that a character beyond ASCII stands where white
// space might (github.com/marzer/tomlplusplus/issues/190 and 295), and what a program then does is undefined.
#pragma once

#include <string_view>

namespace qkprof {

// Throws InputError, naming `source` and the line, where such a character stands neither in a comment nor in quotes; is
// the first behind a backslash in """, or behind a backslash and white space there; or follows quotes that follow
// something else than white space, a comma or brackets, as in a="b", for which the parser has several meanings.
void check_toml_text(std::string_view text, std::string_view source);

}  // namespace qkprof
