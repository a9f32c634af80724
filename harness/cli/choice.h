// What to measure, as the command line says it: the options that the commands that run variants share.
#pragma once

#include "cli.h"

#include "device.h"
#include "problem_options.h"
#include "selection.h"
#include "tuning.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::cli {

// As typed.
struct ChoiceOptions {
    std::string variants = "*";
    std::string shapes;
    std::string dtypes = "f32";
    std::string states = "cold,warm";
    std::string device = "auto";
    std::string tuning;  // a file
    std::vector<std::string> sweeps;
    ProblemOptions problem;
};

// All of them; and those alone that say which variants, problems and device. `options` must outlive the parsing of the
// command line.
void add_choice(CLI::App& command, ChoiceOptions& options);
void add_problem_choice(CLI::App& command, ChoiceOptions& options);

// The options that differ from the standard, as they are typed, each after a blank.
std::string text_of(const ChoiceOptions& options);

// As understood.
struct Choice {
    std::vector<std::string> variants;  // globs
    std::vector<std::string> shapes;    // and presets; empty: the standard of the device
    std::vector<DataType> dtypes;
    std::vector<CacheState> states;
    std::vector<Sweep> sweeps;
    std::vector<Setting> settings;                   // of the problems
    std::optional<std::vector<TuningTable>> tuning;  // none: what is built in

    std::vector<Candidate> candidates(Backend backend) const;
    // Every shape in every dtype, each once. Throws InputError where one cannot be run, and where the names of two are
    // the same.
    std::vector<Problem> problems(Backend backend, std::int64_t l2_bytes) const;
};

// Throws InputError. What needs no device is checked without one: a typing error is answered at once.
Choice parse(const ChoiceOptions& options, const EmulatorOptions& emulator = {});

// "auto" is the first GPU, or that of this process's rank (rank.h), and where there is none, said in a sentence, the
// emulated device; other words as for open_device().
std::unique_ptr<Device> open_chosen_device(const std::string& word, const EmulatorOptions& emulator = {});

}  // namespace qkprof::cli
