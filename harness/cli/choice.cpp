#include "choice.h"

#include "input_file.h"
#include "names.h"
#include "presets.h"
#include "rank.h"
#include "run.h"
#include "tuning_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

namespace qkprof::cli {
namespace {

// Small enough that the emulated device runs all variants in a few seconds.
constexpr const char* shapes_on_gpu = "seed";
constexpr const char* shapes_on_emulator = "4x128x8x128";

struct TextOption {
    const char* name;
    std::string ChoiceOptions::*value;
    const char* type;
    const char* meaning;
};
constexpr std::array text_options = {
    TextOption{"--variants", &ChoiceOptions::variants, "GLOBS", "names of variants, with * and ?"},
    TextOption{"--shapes", &ChoiceOptions::shapes, "SHAPES",
               "BxSxHxD, BxSxHq+HkxD with key heads, presets (qkprof list shapes) and model:NAME/decode or /prefill "
               "(qkprof list models); seed on a GPU, 4x128x8x128 on the emulated device"},
    TextOption{"--dtypes", &ChoiceOptions::dtypes, "TYPES", "f32, bf16, f16"},
    TextOption{"--states", &ChoiceOptions::states, "STATES", "of the cache: cold (the L2 holds other data), warm"},
    TextOption{"--device", &ChoiceOptions::device, "DEVICE", "auto, emulated, cuda (the first) or cuda:N"},
    TextOption{"--tuning", &ChoiceOptions::tuning, "FILE",
               "a tuning table (qkprof tune); without it those that are built in (qkprof list tuning)"}};

// The enumerators that a list names, each once, in the order of `all`.
template <class E, std::size_t N>
std::vector<E> words_of(const std::string& list, const char* option, const std::array<E, N>& all) {
    std::vector<std::string> names(N);
    std::transform(all.begin(), all.end(), names.begin(), [](E value) { return name_of(value); });
    std::set<E> chosen;
    for (const std::string& word : split_list(list, option)) {
        const auto found = std::find(names.begin(), names.end(), word);
        if (found == names.end()) {
            throw InputError(fmt::format("{}: there is no '{}'; there are {}.", option, word, joined(names)));
        }
        chosen.insert(all.at(static_cast<std::size_t>(found - names.begin())));
    }
    return {chosen.begin(), chosen.end()};
}

// Throws InputError where the problem cannot be run.
void check(const Problem& problem) {
    const std::string fault = extents_fault(problem).empty() ? problem.fault() : extents_fault(problem);
    if (!fault.empty()) {
        throw InputError(fmt::format("The problem '{}' cannot be run: {}.", text_of(problem), fault));
    }
}

// Adds a problem that is not there. The name of an entry says neither eps nor the rotary base.
void add(std::vector<Problem>& problems, const Problem& problem) {
    for (const Problem& other : problems) {
        if (other == problem) {
            return;
        }
        if (text_of(other) == text_of(problem)) {
            throw InputError(fmt::format(
                "The shapes hold {} twice, with eps {} and rotary base {} and with {} and {}, and a name says "
                "neither: run them one by one, or give --eps and --rotary-base.",
                text_of(problem), other.eps, other.rotary_base, problem.eps, problem.rotary_base));
        }
    }
    problems.push_back(problem);
}

}  // namespace

void add_problem_choice(CLI::App& command, ChoiceOptions& options) {
    for (const TextOption& option : text_options) {
        if (option.value != &ChoiceOptions::states && option.value != &ChoiceOptions::tuning) {
            text_option(command, option.name, options.*option.value, option.type, option.meaning);
        }
    }
    command.get_option("--shapes")->check(not_empty);
    command
        .add_option("--sweep", options.sweeps, "other values of a parameter (qkprof list variants); may be repeated")
        ->type_name("PARAMETER=VALUES")
        ->allow_extra_args(false);
    constexpr const char* group = "The problem";
    for (const ProblemOption& option : problem_options()) {
        text_option(command, option.name, options.problem.*option.value, option.type, option.meaning)
            ->check(not_empty)
            ->group(group);
    }
    for (const ProblemFlag& flag : problem_flags()) {
        flag_option(command, flag.name, options.problem.*flag.value, flag.meaning, group);
    }
}

void add_choice(CLI::App& command, ChoiceOptions& options) {
    add_problem_choice(command, options);
    for (const TextOption& option : text_options) {
        if (option.value == &ChoiceOptions::states || option.value == &ChoiceOptions::tuning) {
            text_option(command, option.name, options.*option.value, option.type, option.meaning);
        }
    }
    command.get_option("--tuning")->check(not_empty);
}

std::string text_of(const ChoiceOptions& options) {
    const ChoiceOptions standard;
    std::string text;
    for (const TextOption& option : text_options) {
        if (options.*option.value != standard.*option.value) {
            text += fmt::format(" {} {}", option.name, quoted(options.*option.value));
        }
    }
    text += text_of(options.problem);
    for (const std::string& sweep : options.sweeps) {
        text += fmt::format(" --sweep {}", sweep);
    }
    return text;
}

std::vector<Candidate> Choice::candidates(Backend backend) const {
    return select(qkprof::variants(backend), variants, sweeps);
}

std::vector<Problem> Choice::problems(Backend backend, std::int64_t l2_bytes) const {
    const std::vector<std::string> standard = {backend == Backend::cuda ? shapes_on_gpu : shapes_on_emulator};
    std::vector<Problem> problems;
    for (const std::string& word : shapes.empty() ? standard : shapes) {
        for (const DataType dtype : dtypes) {
            for (Problem problem : problems_of(word, l2_bytes, dtype)) {
                for (const Setting& setting : settings) {
                    setting(problem);
                }
                if (problem.context == problem.sequence) {
                    problem.context = 0;  // no other problem, however it was said
                }
                check(problem);
                add(problems, problem);
            }
        }
    }
    return problems;
}

Choice parse(const ChoiceOptions& options, const EmulatorOptions& emulator) {
    Choice choice;
    choice.variants = split_list(options.variants, "--variants");
    choice.dtypes = words_of(options.dtypes, "--dtypes", std::array{DataType::f32, DataType::bf16, DataType::f16});
    choice.states = words_of(options.states, "--states", std::array{CacheState::cold, CacheState::warm});
    std::transform(options.sweeps.begin(), options.sweeps.end(), std::back_inserter(choice.sweeps), parse_sweep);
    choice.settings = parse(options.problem);
    if (!options.tuning.empty()) {
        constexpr std::uintmax_t largest = std::uintmax_t{1} << 20U;  // thousands of entries
        choice.tuning = {parse_tuning(read_input_file(options.tuning, "tuning table", largest), options.tuning,
                                      qkprof::variants(Backend::emulated))};
    }
    if (!options.shapes.empty()) {
        choice.shapes = split_list(options.shapes, "--shapes");
    }
    (void)choice.candidates(Backend::emulated);
    (void)choice.problems(Backend::emulated, emulator.l2_bytes);
    return choice;
}

std::unique_ptr<Device> open_chosen_device(const std::string& word, const EmulatorOptions& emulator) {
    if (word != "auto") {
        return open_device(word, emulator);
    }
    const Discovery found = discover_gpus();
    if (!found.gpus.empty()) {
        const std::optional<Rank> rank = own_rank();
        const int gpu = rank ? gpu_of(*rank, found.gpus.size(), std::getenv("CUDA_VISIBLE_DEVICES")) : 0;
        return open_device(found.gpus.at(static_cast<std::size_t>(gpu)).first, emulator);
    }
    say(fmt::format("no GPU ({}): on the emulated device, which verifies and counts and has no clock.",
                    found.no_gpu_reason));
    return open_device("emulated", emulator);
}

}  // namespace qkprof::cli
