// Problems by name: the shapes of profiles/shapes.toml and the models of profiles/models.toml, both built into the
// program.
#pragma once

#include "preset_problem.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

struct Preset {
    std::string name;
    std::string meaning;
    std::vector<PresetProblem> problems;  // of `shapes`; empty when the shapes follow from bytes
    double l2_multiple = 0;               // (q + out) / L2
    std::vector<std::int64_t> moved;      // q + out, of a problem each
    Shape partial;                        // the extents that are given; those that are 0 follow

    // The problems for a device and a storage type. Throws InputError, without a place, where they cannot be run or
    // move other bytes: of parse_presets() those of `moved` do not.
    std::vector<Problem> resolve(std::int64_t l2_bytes, DataType dtype) const;
};

// A language model that normalises query and key head by head, before it rotates them.
struct Model {
    std::string name;
    std::string source;    // where its numbers are from, in words
    std::string left_out;  // what of it is not modelled; may be empty
    Problem problem;       // its heads, eps, base, rotary dim, pairing, gemma and context; without tokens

    std::vector<Problem> decode()
        const;  // 1, 8, 64 and 256 tokens, along one sequence: each has a table row of its own
    std::vector<Problem> prefill() const;  // 1024, 8192 and 65536 tokens; of several prompts where one has not so many
};

// Throw InputError, naming `source` and the place, where the text is not as shapes.toml and models.toml describe
// themselves.
std::vector<Preset> parse_presets(std::string_view toml, std::string_view source);
std::vector<Model> parse_models(std::string_view toml, std::string_view source);

// Those of the two files.
const std::vector<Preset>& presets();
const std::vector<Model>& models();

// The problems of one word of --shapes: a shape, a preset, or model:NAME with /decode, /prefill or nothing for both.
// Of the storage type; beside that in the first form, or as the preset or the model has it. Throws InputError, with the
// nearest.
std::vector<Problem> problems_of(std::string_view word, std::int64_t l2_bytes, DataType dtype);

}  // namespace qkprof
