// qkprof run: verify, count and time.
#include "choice.h"

#include "names.h"
#include "recording.h"
#include "results.h"
#include "roofline.h"
#include "run.h"
#include "timing.h"
#include "timings_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace qkprof::cli {
namespace {

struct Options {
    ChoiceOptions choice;
    std::string metrics;
    std::string samples = "20";
    std::string emulated_l2 = "50M";
    std::string format = "table";
    std::string out;
    std::string aa;  // further runs
    bool levels = false;
    bool progress = false;
    bool timings = false;
};

constexpr const char* standard_further_runs = "4";

// With `levels` the second table follows; JSON and CSV hold it all in any case.
void print_results(const Profile& profile, Format format, bool levels) {
    switch (format) {
        case Format::json:
            return print(to_json(profile));
        case Format::csv:
            return print(to_csv(results_rows(profile)));
        case Format::markdown:
            return print(to_markdown(results_table(profile)) +
                         (levels ? "\n" + to_markdown(levels_table(profile)) : ""));
        case Format::table:
            return print(to_text(results_table(profile), colour_wanted()) +
                         (levels ? "\n" + to_text(levels_table(profile), colour_wanted()) : ""));
    }
}

// To standard output and to the file: that one cannot be written, such as a terminal that hung up, loses not the other.
void deliver(Recording& recording, const Options& options, Format format, Timings& timings) {
    try {
        if (prints_results()) {
            const Timings::Scope step = timings.during(Step::printing);
            print_results(recording.profile(), format, options.levels);
        }
    } catch (const CannotMeasure&) {
        recording.keep_now();
        throw;
    }
    recording.keep_now();
}

// One sentence each, on standard error: what makes the exit code another than 0.
void say_verdict(const Profile& profile) {
    const Roofline roofline(profile);
    const CacheState first_state = profile.measurements.empty() ? CacheState::cold : profile.measurements[0].state;
    for (const Measurement& m : profile.measurements) {
        // Verified once for all states.
        if (m.state == first_state && m.ran() && !m.verification.correct) {
            say(fmt::format("{}: {}.", m.name(), error_of(m)));
        }
        for (const std::string& sentence : m.contradictions) {
            say(sentence);
        }
        for (const std::string& sentence : roofline.errors_of(m)) {
            say(sentence);
        }
    }
    const auto lacking = std::find_if(profile.measurements.begin(), profile.measurements.end(),
                                      [](const Measurement& m) { return !m.not_run.empty(); });
    if (lacking != profile.measurements.end()) {
        say(fmt::format("Not every problem could be run; {}: {}.", lacking->name(), lacking->not_run));
    }
    if (const std::vector<std::string> missed = missed_metrics(profile); !missed.empty()) {
        say(fmt::format("{} could not be counted: the table says why.", joined(missed)));
    }
    if (!profile.environment.complete) {
        say("Interrupted: the results are those measured until then.");
    } else if (verdict_of(profile) == Exit::inconclusive && lacking == profile.measurements.end()) {
        const bool ceiling_ran = std::any_of(profile.measurements.begin(), profile.measurements.end(),
                                             [](const Measurement& m) { return m.ran(); });
        say(ceiling_ran ? "Only the ceiling was measured: every other chosen variant refused every problem."
                        : "Nothing was measured: every chosen variant refused every problem.");
    }
}

Exit run_command(const Options& options, const std::vector<std::string>& benchmark_flags,
                 std::chrono::nanoseconds started) {
    Timings timings(started);
    const Format format = parse_format(options.format);
    constexpr long long most_samples = 1000000;
    const auto samples = static_cast<int>(parse_integer(options.samples, "--samples", 1, most_samples));
    constexpr long long most_further_runs = 1000;
    const auto further_runs =
        options.aa.empty() ? 0 : static_cast<int>(parse_integer(options.aa, "--aa", 1, most_further_runs));
    EmulatorOptions emulator;
    emulator.l2_bytes = parse_bytes(options.emulated_l2, "--emulated-l2");
    constexpr std::int64_t least_l2 = 64 << 10;
    constexpr std::int64_t most_l2 = 1 << 30;
    if (emulator.l2_bytes < least_l2 || emulator.l2_bytes > most_l2) {
        throw InputError(fmt::format("--emulated-l2 '{}' is not between 64K and 1G.", options.emulated_l2));
    }
    const std::vector<std::string> metric_names =
        options.metrics.empty() ? std::vector<std::string>() : split_list(options.metrics, "--metrics");
    const Choice choice = parse(options.choice, emulator);
    Recording recording(options.choice.device, options.out, benchmark_flags, timings, options.timings, emulator);
    const DeviceInfo& info = recording.device().info();
    const auto filters = [](const std::string& flag) { return flag.starts_with("--benchmark_filter"); };
    if (!info.has_clock && std::any_of(benchmark_flags.begin(), benchmark_flags.end(), filters)) {
        throw InputError(
            "--benchmark_filter chooses what is timed, and the emulated device has no clock: use --variants.");
    }
    if (further_runs > 0 && !info.has_clock) {
        throw CannotMeasure("--aa measures the noise of times, and the emulated device has no clock: leave it out.");
    }
    if (!metric_names.empty()) {
        say(recording.device().choose_metrics(metric_names));
    }
    const Plan plan = {.candidates = choice.candidates(info.backend),
                       .problems = choice.problems(info.backend, info.l2_bytes),
                       .states = choice.states,
                       .samples = samples,
                       .tuning = choice.tuning};
    timings.ready();

    try {
        recording.record(plan, options.progress);
        recording.measure_noise(further_runs,
                                {.choice = options.choice,
                                 .metrics = options.metrics,
                                 .samples = samples,
                                 .benchmark_flags = benchmark_flags},
                                options.progress);
    } catch (...) {
        if (!recording.profile().measurements.empty()) {
            deliver(recording, options, format, timings);
        }
        throw;
    }
    deliver(recording, options, format, timings);
    say_verdict(recording.profile());
    const Exit verdict = verdict_of(recording.profile());
    if (options.timings && prints_results()) {
        print_timings(timings, format);
    }
    return verdict;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, std::chrono::nanoseconds started) {
    CLI::App* command = app.add_subcommand("run", "verify, count and time variants; a table, and a profile with --out");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    add_choice(*command, o.choice);
    text_option(*command, "--metrics", o.metrics, "NAMES", "further counters of the GPU, by CUPTI's names for them")
        ->check(not_empty);
    text_option(*command, "--samples", o.samples, "N", "times taken of each variant and state");
    command
        ->add_option("--aa", o.aa,
                     "the noise between runs: the same run again in so many further processes, 4 without a number")
        ->option_text("[N]")
        ->expected(0, 1)
        ->default_str(standard_further_runs);
    text_option(*command, "--emulated-l2", o.emulated_l2, "BYTES",
                "the emulated device's L2; K, M and G are understood");
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json (the profile)");
    text_option(*command, "--out", o.out, "FILE", "keeps the profile, as it grows")->check(not_empty);
    flag_option(*command, "--levels", o.levels,
                "a second table: bytes at each level of memory against the floor, and what bounds the time");
    flag_option(*command, "--progress", o.progress, "says what it does even where standard error is no terminal");
    add_timings_option(*command, o.timings);
    command->footer(
        "Lists take commas. Of Google Benchmark's flags --benchmark_context=KEY=VALUE works everywhere and\n"
        "--benchmark_filter=REGEX, which chooses what is timed, where there is a clock.");
    command->final_callback([command, options, started, &chosen] {
        chosen = [command, options, started] {
            return run_command(*options, unknown_words(*command, "--benchmark_"), started);
        };
    });
}

}  // namespace qkprof::cli
