// The errors that end a command, each with its exit code (the README lists the codes). Their text is a sentence: what
// is wrong, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace qkprof {

enum class Exit : int {
    passed = 0,
    failed = 1,     // a regression, a refuted claim, a contradicted declaration, an impossible figure
    bad_input = 2,  // usage or input
    inconclusive = 3,
    cannot_measure = 4,  // what was asked for cannot be had on this machine
    wrong_result = 5     // a kernel computed something else than the reference
};

struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
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
