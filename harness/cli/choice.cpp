#include "choice.h"

#include "names.h"
#include "shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
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
               "BxSxHxD and presets (qkprof list shapes); seed on a GPU, 4x128x8x128 on the emulated device"},
    TextOption{"--dtypes", &ChoiceOptions::dtypes, "TYPES", "f32, bf16, f16"},
    TextOption{"--states", &ChoiceOptions::states, "STATES", "of the cache: cold (the L2 holds other data), warm"},
    TextOption{"--device", &ChoiceOptions::device, "DEVICE", "auto, emulated, cuda (the first) or cuda:N"},
    TextOption{"--seed", &ChoiceOptions::seed, "N", "of the random inputs"},
    TextOption{"--eps", &ChoiceOptions::eps, "X", "added to the mean square"},
    TextOption{"--rotary-base", &ChoiceOptions::rotary_base, "X", "theta_i = base^(-2i/D)"},
    TextOption{"--offset", &ChoiceOptions::offset, "N", "q and out begin so many elements after a 256-byte boundary"}};

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

double parse_number(const std::string& text, const char* option, double least) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < least) {
        throw InputError(fmt::format("{} '{}' is not a number of at least {}.", option, text, least));
    }
    return value;
}

Problem common_problem(const ChoiceOptions& options) {
    constexpr long long largest_offset = 1 << 20;
    Problem problem;
    problem.eps = static_cast<float>(parse_number(options.eps, "--eps", 0));
    constexpr float largest_eps = 1000;  // beyond, the results of 16-bit types are lost among their smallest numbers
    if (problem.eps > largest_eps) {
        throw InputError(fmt::format("--eps '{}' is over {}.", options.eps, largest_eps));
    }
    problem.rotary_base = parse_number(options.rotary_base, "--rotary-base", 1);
    problem.seed =
        static_cast<std::uint64_t>(parse_integer(options.seed, "--seed", 0, std::numeric_limits<long long>::max()));
    problem.offset = parse_integer(options.offset, "--offset", 0, largest_offset);
    return problem;
}

}  // namespace

void add_choice(CLI::App& command, ChoiceOptions& options) {
    for (const TextOption& option : text_options) {
        text_option(command, option.name, options.*option.value, option.type, option.meaning);
    }
    command.get_option("--shapes")->check(not_empty);
    command
        .add_option("--sweep", options.sweeps, "other values of a parameter (qkprof list variants); may be repeated")
        ->type_name("PARAMETER=VALUES")
        ->allow_extra_args(false);
}

std::string text_of(const ChoiceOptions& options) {
    const ChoiceOptions standard;
    std::string text;
    for (const TextOption& option : text_options) {
        if (options.*option.value != standard.*option.value) {
            text += fmt::format(" {} {}", option.name, options.*option.value);
        }
    }
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
            for (const Shape& shape : shapes_of(word, l2_bytes, dtype)) {
                Problem problem = common;
                problem.batch = shape.batch;
                problem.sequence = shape.sequence;
                problem.heads = shape.heads;
                problem.head_dim = shape.head_dim;
                problem.dtype = dtype;
                if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
                    problems.push_back(problem);
                }
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
    choice.common = common_problem(options);
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
        return open_device(found.gpus.front().first, emulator);
    }
    say(fmt::format("no GPU ({}): on the emulated device, which verifies and counts and has no clock.",
                    found.no_gpu_reason));
    return open_device("emulated", emulator);
}

}  // namespace qkprof::cli
