// The options that say what the problem is, beside its shape and storage type: on the command line and in presets.
#pragma once

#include "problem.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace qkprof {

// As typed, or as a preset of shapes.toml has them. What is empty is not given: the first form holds, or what the
// preset or the model says.
struct ProblemOptions {
    std::string seed;
    std::string eps;
    std::string rotary_base;
    std::string offset;
    std::string layout;
    std::string row_padding;
    std::string pairing;
    std::string rotary_dim;
    std::string positions;
    std::string context;
    std::string table_dtype;
    std::string gamma_dtype;
    std::string values;
    bool in_place = false;
    bool gemma = false;
};

// What one option changes in a problem whose shape and storage type are set.
using Setting = std::function<void(Problem&)>;

// How each is called and explained.
struct ProblemOption {
    const char* name;
    std::string ProblemOptions::*value;
    const char* type;
    const char* meaning;
    Setting (*parse)(const std::string& text, const char* option);
};
struct ProblemFlag {
    const char* name;
    bool ProblemOptions::*value;
    const char* meaning;
    bool Problem::*member;
};
std::span<const ProblemOption> problem_options();
std::span<const ProblemFlag> problem_flags();

// Throws InputError. Files of positions are read here, once.
std::vector<Setting> parse(const ProblemOptions& options);

// The options that make a problem of this shape and storage type into this one. `typed` are those that made it: of them
// a list of positions is taken, as a problem does not know its file.
ProblemOptions options_of(const Problem& problem, const ProblemOptions& typed);

// Those that are given, as they are typed, each after a blank.
std::string text_of(const ProblemOptions& options);

// A word for a shell: quoted where it must be.
std::string quoted(const std::string& word);

}  // namespace qkprof
