// qkprof run: verify, count and time.
#include "cli.h"

#include "device.h"
#include "names.h"
#include "output_file.h"
#include "progress.h"
#include "results.h"
#include "run.h"
#include "shapes.h"
#include "timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <set>

namespace qkprof::cli {
namespace {

struct Options {
    std::string variants = "*";
    std::string shapes;
    std::string dtypes = "f32";
    std::string states = "cold,warm";
    std::string device = "auto";
    std::string metrics;
    std::vector<std::string> sweeps;
    std::string samples = "20";
    std::string seed = "1";
    std::string eps = "1e-6";
    std::string rotary_base = "10000";
    std::string offset = "0";
    std::string emulated_l2 = "50M";
    std::string format = "table";
    std::string out;
    bool progress = false;
};

// Small enough that the emulated device runs all variants in a few seconds.
constexpr const char* shapes_on_gpu = "seed";
constexpr const char* shapes_on_emulator = "4x128x8x128";

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// The first signal ends the run at its next step; the second ends the program: the file is whole at every moment.
void end_on_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

// The enumerators that a list names, each once, in the order of `all`.
template <class E, std::size_t N>
std::vector<E> words_of(const std::string& list, const char* option, const std::array<E, N>& all) {
    std::vector<std::string> names;
    for (const E value : all) {
        names.emplace_back(name_of(value));
    }
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

// What the command line says of all problems: all but shape and dtype.
Problem common_problem(const Options& options) {
    constexpr long long largest_offset = 1 << 20;
    Problem problem;
    problem.eps = static_cast<float>(parse_number(options.eps, "--eps", 0));
    problem.rotary_base = parse_number(options.rotary_base, "--rotary-base", 1);
    problem.seed =
        static_cast<std::uint64_t>(parse_integer(options.seed, "--seed", 0, std::numeric_limits<long long>::max()));
    problem.offset = parse_integer(options.offset, "--offset", 0, largest_offset);
    return problem;
}

// Every shape in every dtype, each once.
std::vector<Problem> problems_of(const std::vector<std::string>& words, const std::vector<DataType>& dtypes,
                                 const Problem& common, std::int64_t l2_bytes) {
    std::vector<Problem> problems;
    for (const std::string& word : words) {
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

std::unique_ptr<Device> chosen_device(const std::string& word, const EmulatorOptions& emulator) {
    if (word != "auto") {
        return open_device(word, emulator);
    }
    const Discovery found = discover_gpus();
    if (!found.gpus.empty()) {
        return open_device(found.gpus.front().first, emulator);
    }
    fmt::print(stderr, "qkprof: no GPU ({}): on the emulated device, which verifies and counts and has no clock.\n",
               found.no_gpu_reason);
    return open_device("emulated", emulator);
}

// Keeps the profile on disk as it grows, at most twice a second: each time it is written whole.
class Keeper {
  public:
    explicit Keeper(const std::string& path) {
        if (!path.empty()) {
            file_.emplace(path);
        }
    }
    void keep(const Profile& profile) {
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ >= std::chrono::milliseconds(500)) {
            keep_now(profile);
        }
    }
    void keep_now(const Profile& profile) {
        if (file_) {
            file_->write(to_json(profile));
        }
        last_ = std::chrono::steady_clock::now();
    }

  private:
    std::optional<OutputFile> file_;
    std::chrono::steady_clock::time_point last_;
};

void print_results(const Profile& profile, Format format) {
    switch (format) {
        case Format::json:
            return print(to_json(profile));
        case Format::csv:
            return print(to_csv(results_rows(profile)));
        case Format::markdown:
            return print(to_markdown(results_table(profile)));
        case Format::table:
            return print(to_text(results_table(profile), colour_wanted()));
    }
}

// One sentence each, on standard error: what makes the exit code another than 0.
void say_verdict(const Profile& profile) {
    const auto say = [](const std::string& sentence) { fmt::print(stderr, "qkprof: {}\n", sentence); };
    const CacheState first_state = profile.measurements.empty() ? CacheState::cold : profile.measurements[0].state;
    for (const Measurement& m : profile.measurements) {
        // Verified once for all states.
        if (m.state == first_state && m.ran() && !m.verification.correct) {
            say(fmt::format("{}: {}.", m.name(), error_of(m)));
        }
        for (const std::string& sentence : m.contradictions) {
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
        say("Nothing was measured: every chosen variant refused every problem.");
    }
}

Exit run_command(const Options& options, const std::vector<std::string>& benchmark_flags) {
    const Format format = parse_format(options.format);
    const std::vector<std::string> globs = split_list(options.variants, "--variants");
    const std::vector<DataType> dtypes =
        words_of(options.dtypes, "--dtypes", std::array{DataType::f32, DataType::bf16, DataType::f16});
    const std::vector<CacheState> states =
        words_of(options.states, "--states", std::array{CacheState::cold, CacheState::warm});
    std::vector<Sweep> sweeps;
    for (const std::string& sweep : options.sweeps) {
        sweeps.push_back(parse_sweep(sweep));
    }
    constexpr long long most_samples = 1000000;
    const auto samples = static_cast<int>(parse_integer(options.samples, "--samples", 1, most_samples));
    const Problem common = common_problem(options);
    EmulatorOptions emulator;
    emulator.l2_bytes = parse_bytes(options.emulated_l2, "--emulated-l2");
    const std::vector<std::string> words =
        options.shapes.empty() ? std::vector<std::string>() : split_list(options.shapes, "--shapes");
    const std::vector<std::string> metric_names =
        options.metrics.empty() ? std::vector<std::string>() : split_list(options.metrics, "--metrics");
    // What needs no device is checked without one: a typing error is answered at once.
    (void)select(variants(Backend::emulated), globs, sweeps);
    (void)problems_of(words, dtypes, common, emulator.l2_bytes);
    configure_benchmark(benchmark_flags);
    Keeper keeper(options.out);

    const std::unique_ptr<Device> device = chosen_device(options.device, emulator);
    const DeviceInfo& info = device->info();
    if (!metric_names.empty()) {
        fmt::print(stderr, "qkprof: {}\n", device->choose_metrics(metric_names));
    }
    const char* standard_shapes = info.backend == Backend::cuda ? shapes_on_gpu : shapes_on_emulator;
    const Plan plan = {.candidates = select(variants(info.backend), globs, sweeps),
                       .problems = problems_of(words.empty() ? std::vector<std::string>{standard_shapes} : words,
                                               dtypes, common, info.l2_bytes),
                       .states = states,
                       .samples = samples};

    end_on_signals();
    Profile profile;
    profile.environment = environment_of(info, "qkprof");
    profile.environment.further = benchmark_context();
    Progress progress(options.progress);
    const Observer observer = {.progress = [&](const std::string& step) { progress.say(step); },
                               .added = [&](const Profile& grown) { keeper.keep(grown); },
                               .interrupted = [] { return interrupted.load(); }};
    try {
        run(*device, plan, profile, observer);
    } catch (const InputError&) {
        throw;  // before anything was measured
    } catch (...) {
        progress.clear();
        keeper.keep_now(profile);
        print_results(profile, format);
        throw;
    }
    progress.clear();
    keeper.keep_now(profile);
    print_results(profile, format);
    say_verdict(profile);
    return verdict_of(profile);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("run", "verify, count and time variants; a table, and a profile with --out");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    text_option(*command, "--variants", o.variants, "GLOBS", "names of variants, with * and ?");
    text_option(*command, "--shapes", o.shapes, "SHAPES",
                "BxSxHxD and presets (qkprof list shapes); seed on a GPU, 4x128x8x128 on the emulated device");
    text_option(*command, "--dtypes", o.dtypes, "TYPES", "f32, bf16, f16");
    text_option(*command, "--states", o.states, "STATES", "of the cache: cold (the L2 holds other data), warm");
    text_option(*command, "--device", o.device, "DEVICE", "auto, emulated, cuda (the first) or cuda:N");
    text_option(*command, "--metrics", o.metrics, "NAMES", "further counters of the GPU, by CUPTI's names for them");
    command->add_option("--sweep", o.sweeps, "other values of a parameter (qkprof list variants); may be repeated")
        ->type_name("PARAMETER=VALUES")
        ->allow_extra_args(false);
    text_option(*command, "--samples", o.samples, "N", "times taken of each variant and state");
    text_option(*command, "--seed", o.seed, "N", "of the random inputs");
    text_option(*command, "--eps", o.eps, "X", "added to the mean square");
    text_option(*command, "--rotary-base", o.rotary_base, "X", "theta_i = base^(-2i/D)");
    text_option(*command, "--offset", o.offset, "N", "q and out begin so many elements after a 256-byte boundary");
    text_option(*command, "--emulated-l2", o.emulated_l2, "BYTES",
                "the emulated device's L2; K, M and G are understood");
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json (the profile)");
    text_option(*command, "--out", o.out, "FILE", "keeps the profile, as it grows");
    command->add_flag("--progress", o.progress, "says what it does even where standard error is no terminal");
    command->footer(
        "Lists take commas. Google Benchmark's --benchmark_* flags work too, such as\n"
        "--benchmark_filter=REGEX and --benchmark_context=KEY=VALUE.");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] { return run_command(*options, unknown_words(*command, "--benchmark_")); };
    });
}

}  // namespace qkprof::cli
