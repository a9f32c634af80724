// qkprof tune: measures the tuning table that the tuned variants are run by.
#include "choice.h"

#include "interruption.h"
#include "names.h"
#include "progress.h"
#include "rank.h"
#include "recording.h"
#include "timing.h"
#include "tune.h"
#include "tune_table.h"
#include "tuning_file.h"
#include "tuning_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace qkprof::cli {
namespace {

struct Options {
    ChoiceOptions choice;
    std::string samples = "12";
    std::string format = "table";
    std::string out;
    bool progress = false;
};

constexpr const char* standard_shapes = "tune";
constexpr const char* standard_dtypes = "f32,bf16";

std::vector<std::string> names_of_tuned(Backend backend) {
    std::vector<std::string> names;
    for (const Variant& variant : variants(backend)) {
        if (variant.tuned()) {
            names.push_back(variant.name);
        }
    }
    return names;
}

// Those among the chosen ones that leave something to tune.
std::vector<Candidate> tuned_candidates(const Choice& choice, Backend backend) {
    std::vector<Candidate> tuned = choice.candidates(backend);
    std::erase_if(tuned, [](const Candidate& candidate) {
        return std::none_of(candidate.parameters.begin(), candidate.parameters.end(),
                            [](const auto& parameter) { return parameter.second == as_tuned; });
    });
    if (tuned.empty()) {
        const std::vector<std::string> names = names_of_tuned(backend);
        throw InputError(
            names.empty()
                ? "No variant of this build is tuned."
                : fmt::format("None of the chosen variants has a parameter to tune; there are: {}.", joined(names)));
    }
    return tuned;
}

void print_results(const std::vector<TuneResult>& results, Format format) {
    switch (format) {
        case Format::json:
            return print(to_json(tune_table(results, true)));
        case Format::csv:
            return print(to_csv(tune_table(results, true)));
        case Format::markdown:
            return print(to_markdown(tune_table(results, false)));
        case Format::table:
            return print(to_text(tune_table(results, false), colour_wanted()));
    }
}

Exit tune_command(Options options) {
    const Format format = parse_format(options.format);
    constexpr long long most_samples = 1000000;
    const auto samples = static_cast<int>(parse_integer(options.samples, "--samples", 1, most_samples));
    if (own_rank()) {
        throw InputError("qkprof tune tunes one GPU: start it once, and not by a launcher.");
    }
    options.choice.shapes = options.choice.shapes.empty() ? standard_shapes : options.choice.shapes;
    if (options.choice.variants == ChoiceOptions().variants) {
        options.choice.variants = fmt::format("{}", fmt::join(names_of_tuned(Backend::emulated), ","));
    }
    const Choice choice = parse(options.choice);
    (void)tuned_candidates(choice, Backend::emulated);
    std::optional<TuningFile> file;
    if (!options.out.empty()) {
        file.emplace(options.out, variants(Backend::emulated));
    }
    configure_benchmark({});
    const std::unique_ptr<Device> device = open_chosen_device(options.choice.device);
    const DeviceInfo& info = device->info();
    const std::unique_ptr<GpuLock> lock = hold(info);
    const TunePlan plan = {.candidates = tuned_candidates(choice, info.backend),
                           .problems = choice.problems(info.backend, info.l2_bytes),
                           .samples = samples};
    if (file) {
        for (const Problem& problem : plan.problems) {
            if (const std::string why = untabled(problem); !why.empty()) {
                throw InputError(
                    fmt::format("{} cannot stand in --out {}: {}.", tuning_text(problem), options.out, why));
            }
        }
        if (info.has_clock) {  // without one tune() says that first
            file->set_device(info.description);
        }
    }
    end_on_signals();
    Progress line(options.progress);
    std::vector<TuneResult> results;
    const TuneObserver observer = {.progress = [&](const std::string& step) { line.say(step); },
                                   .found =
                                       [&](const TuneResult& result) {
                                           results.push_back(result);
                                           if (file && result.winner) {
                                               file->add(result.variant->name, *result.winner);
                                           }
                                       },
                                   .interrupted = interrupted};
    try {
        tune(*device, plan, observer);
    } catch (...) {
        line.clear();
        if (!results.empty()) {
            print_results(results, format);
        }
        throw;
    }
    line.clear();
    print_results(results, format);
    for (const TuneResult& result : results) {
        std::for_each(result.wrong.begin(), result.wrong.end(), say);
    }
    if (file) {
        say(file->summary());
    }
    if (interrupted()) {
        say("Interrupted: the results are those found until then.");
    }
    return verdict_of(results, !interrupted());
}

}  // namespace

void add_tune(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("tune", "measure the parameters that the tuned variants are run with");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    o.choice.dtypes = standard_dtypes;
    add_problem_choice(*command, o.choice);
    command->get_option("--variants")->description("names of variants, with * and ?; of those the tuned ones");
    command->get_option("--sweep")->description(
        "given values of a tuned parameter: entries of their own, for runs that give it; may be repeated");
    command->get_option("--shapes")->description("as of qkprof run; without it the preset tune (qkprof list shapes)");
    text_option(*command, "--samples", o.samples, "N", "times taken of each of the best combinations");
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json");
    text_option(*command, "--out", o.out, "FILE",
                "the tuning table, as TOML; where it is there, its entries of other problems stay")
        ->check(not_empty);
    flag_option(*command, "--progress", o.progress, "says what it does even where standard error is no terminal");
    command->footer(
        "Tries every combination of the tuned parameters (qkprof list variants) on every problem, warm. The table is "
        "used\n"
        "with --tuning FILE, and built into the program where it lies in profiles/<device>/tuning.toml.\n"
        "Exit codes: 0 all found; 3 interrupted, or not all; 4 none could be; 5 a combination computed a wrong "
        "result.");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return tune_command(*options);
        };
    });
}

}  // namespace qkprof::cli
