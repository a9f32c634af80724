// The errors that end a command, each with its exit code (the README lists the codes). Their text is a sentence: what
// is wrong, where, and what to do.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace qkprof {

enum class Exit : int {
    passed = 0,
    failed = 1,     // a regression, a refuted claim, a contradicted declaration, an impossible figure
    bad_input = 2,  // usage or input
    inconclusive = 3,
    cannot_measure = 4,  // what was asked for cannot be had on this machine
    wrong_result = 5     // a kernel computed something else than the reference
};

// The text as one line of valid UTF-8 without anything that a terminal would obey: control characters, ends of lines
// too, and bytes that are no UTF-8 are written \x1b. What is longer than `most` bytes ends there with "...".
std::string printable(std::string_view text, std::size_t most);

// It quotes what it refuses, which may be anything: its text is printable and bounded, whatever that is.
inline constexpr std::size_t longest_sentence = 2000;  // bytes
struct InputError : std::runtime_error {
    explicit InputError(std::string_view sentence);
};

struct CannotMeasure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A sentence without its full stop: a reason to stand within another.
inline std::string clause_of(const std::exception& error) {
    std::string text = error.what();
    text.erase(text.find_last_not_of('.') + 1);
    return text;
}

}  // namespace qkprof
