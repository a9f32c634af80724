// qkprof compare: the regression gate, on two recorded profiles.
#include "cli.h"

#include "annotations.h"
#include "compare.h"
#include "compare_rows.h"
#include "compare_table.h"
#include "fleet.h"
#include "input_file.h"
#include "junit.h"
#include "names.h"
#include "output_file.h"
#include "thresholds_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

namespace qkprof::cli {
namespace {

struct Options {
    std::string base;
    std::string now;
    std::string fleet;
    std::string thresholds;
    std::string metrics;
    std::string variants;
    std::string format = "table";
    std::string junit;
    bool of_ceiling = false;
    bool strict = false;
    bool all = false;
    bool explain = false;
};

// Adds the variants that the profiles hold, each once.
std::vector<std::string> with_variants_of(const std::vector<Profile>& profiles, std::vector<std::string> names) {
    for (const Profile& profile : profiles) {
        for (const Measurement& m : profile.measurements) {
            if (std::find(names.begin(), names.end(), m.variant) == names.end()) {
                names.push_back(m.variant);
            }
        }
    }
    return names;
}

// Of the project, and after them those of the user.
Thresholds read_thresholds(const std::string& path, const std::vector<std::string>& variants) {
    constexpr std::uintmax_t largest = std::uintmax_t{1} << 20U;
    std::vector<Threshold> entries = parse_thresholds(embedded_thresholds_toml, "profiles/thresholds.toml", variants);
    if (!path.empty()) {
        std::vector<Threshold> more =
            parse_thresholds(read_input_file(path, "thresholds file", largest), path, variants);
        entries.insert(entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return Thresholds(std::move(entries));
}

// The globs of a list. Throws InputError, with the nearest, for one that matches none of the names.
std::vector<std::string> globs_of(const std::string& list, const char* option, const char* what,
                                  const std::vector<std::string>& names) {
    if (list.empty()) {
        return {};
    }
    std::vector<std::string> globs = split_list(list, option);
    for (const std::string& glob : globs) {
        if (std::none_of(names.begin(), names.end(), [&](const auto& name) { return matches_glob(glob, name); })) {
            throw InputError(fmt::format("{}: {} '{}'.{}", option, what, glob, suggestion(glob, names)));
        }
    }
    return globs;
}

ComparisonOptions comparison_options(const Options& options, const std::vector<Profile>& profiles) {
    std::vector<std::string> metrics = comparable_metrics();
    // Of times the one or the other is compared.
    std::erase(metrics, options.of_ceiling ? "real_time" : "copy_fraction");
    const std::vector<std::string> variants = with_variants_of(profiles, {});
    return {.of_ceiling = options.of_ceiling,
            .metrics = globs_of(options.metrics, "--metrics", "nothing that is compared matches", metrics),
            .variants = globs_of(options.variants, "--variants", "no variant of the two profiles matches", variants)};
}

// Where the report goes; nowhere where none is asked for.
std::optional<OutputFile> junit_file(const Options& options) {
    if (options.junit.empty()) {
        return {};
    }
    for (const std::string& profile : {options.base, options.now}) {
        std::error_code error;
        if (std::filesystem::equivalent(options.junit, profile, error)) {
            throw InputError(fmt::format("--junit {} would overwrite that profile: name another file.", options.junit));
        }
    }
    return OutputFile(options.junit, "--junit", "");
}

void print_comparison(const Comparison& comparison, const CompareView& view, Format format) {
    switch (format) {
        case Format::json:
            return print(to_json(comparison, view.strict));
        case Format::csv:
            return print(to_csv(difference_rows(comparison)));
        case Format::markdown:
            return print(to_markdown(comparison, view));
        case Format::table:
            return print(to_text(differences_table(comparison, view), colour_wanted()));
    }
}

void annotate(const Comparison& comparison) {
    const char* actions = std::getenv("GITHUB_ACTIONS");
    if (actions == nullptr || std::string_view(actions) != "true") {
        return;
    }
    // On standard error, which GitHub reads too: standard output is for what was asked for.
    for (const std::string& line : annotations(comparison)) {
        std::fwrite((line + "\n").data(), 1, line.size() + 1, stderr);
    }
}

Exit compare_profiles(const Options& options, Format format) {
    const std::optional<OutputFile> junit = junit_file(options);
    const std::vector<Profile> profiles = {read_profile(options.base), read_profile(options.now)};
    const Thresholds thresholds = read_thresholds(options.thresholds, with_variants_of(profiles, variant_names()));
    const Comparison comparison =
        compare(profiles.at(0), profiles.at(1), thresholds, comparison_options(options, profiles));
    if (junit) {
        junit->write(to_junit(comparison, options.strict));
    }
    print_comparison(comparison, {.strict = options.strict, .all = options.all, .explain = options.explain}, format);
    if (format == Format::csv) {  // rows alone
        for (const std::string& note : notes_of(comparison, options.all)) {
            say(note);
        }
        say(verdict_of(comparison, options.strict));
    }
    annotate(comparison);
    return exit_of(comparison, options.strict);
}

Exit explain(const CLI::App& command, const Options& options, Format format) {
    constexpr std::array of_thresholds = {"--explain", "--thresholds", "--format"};
    for (const CLI::Option* option : command.get_options()) {
        const std::string name = option->get_name();
        if (option->count() > 0 && std::find(of_thresholds.begin(), of_thresholds.end(), name) == of_thresholds.end()) {
            throw InputError(fmt::format(
                "{} is about two profiles, and --explain without any shows the thresholds: leave it out, or name BASE "
                "and NEW.",
                name));
        }
    }
    const Thresholds thresholds = read_thresholds(options.thresholds, variant_names());
    constexpr std::size_t width = 24;  // of a cell
    switch (format) {
        case Format::json:
            print(to_json(threshold_rows(thresholds)));
            break;
        case Format::csv:
            print(to_csv(threshold_rows(thresholds)));
            break;
        case Format::markdown:
            print(to_markdown(thresholds_table(thresholds, 0)));
            break;
        case Format::table:
            print(to_text(thresholds_table(thresholds, width), colour_wanted()));
            break;
    }
    return Exit::passed;
}

Exit compare_fleet(const Options& options, Format format) {
    for (const auto& [given, name] :
         {std::pair{!options.base.empty(), "BASE"}, std::pair{options.of_ceiling, "--of-ceiling"},
          std::pair{options.explain, "--explain"}, std::pair{!options.junit.empty(), "--junit"}}) {
        if (given) {
            throw InputError(
                fmt::format("{} is about two profiles, and --fleet about all in a folder: leave out one.", name));
        }
    }
    std::vector<std::string> metrics = comparable_metrics();
    std::erase(metrics, "copy_fraction");
    const std::vector<std::string> variants = variant_names();
    return fleet_command(options.fleet, read_thresholds(options.thresholds, variants),
                         globs_of(options.metrics, "--metrics", "nothing that is compared matches", metrics),
                         globs_of(options.variants, "--variants", "no variant matches", variants), options.strict,
                         format, options.all);
}

Exit compare_command(const CLI::App& command, const Options& options) {
    (void)unknown_words(command, "");
    const Format format = parse_format(options.format);
    if (!options.fleet.empty()) {
        return compare_fleet(options, format);
    }
    if (options.base.empty() && options.explain) {
        return explain(command, options, format);
    }
    if (options.now.empty()) {
        throw InputError(
            fmt::format("qkprof compare takes two profiles, BASE and NEW, and {} given: see qkprof compare --help.",
                        options.base.empty() ? "none is" : options.base + " alone is"));
    }
    return compare_profiles(options, format);
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("compare", "the regression gate: whether one profile is worse than another");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    text_option(*command, "BASE", o.base, "", "a profile that was recorded with qkprof run --out")->check(not_empty);
    text_option(*command, "NEW", o.now, "", "another, which may be worse")->check(not_empty);
    text_option(
        *command, "--fleet", o.fleet, "DIR",
        "in place of BASE and NEW: the profiles in a folder, one a GPU, and which GPUs are slower than the rest")
        ->check(not_empty);
    text_option(*command, "--thresholds", o.thresholds, "FILE",
                "what may differ by how much, read after profiles/thresholds.toml")
        ->check(not_empty);
    text_option(*command, "--metrics", o.metrics, "GLOBS", "compares those alone, with * and ?")->check(not_empty);
    text_option(*command, "--variants", o.variants, "GLOBS", "likewise")->check(not_empty);
    flag_option(*command, "--of-ceiling", o.of_ceiling,
                "compares times as parts of the time of each profile's own copy, also of two GPUs");
    flag_option(*command, "--strict", o.strict,
                "what is missing, not comparable or inconclusive fails too (exit code 1)");
    flag_option(*command, "--all", o.all, "also what is the same, and each cell that is otherwise only counted");
    flag_option(*command, "--explain", o.explain,
                "also the noise, the slow-down that would be found, and the rule; without profiles the thresholds");
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json");
    text_option(*command, "--junit", o.junit, "FILE", "writes what CI systems show as tests")->check(not_empty);
    command->footer(
        "Examples:\n"
        "  qkprof compare base.json new.json\n"
        "  qkprof compare base.json new.json --strict --metrics 'global_*,launches' --junit compare.xml\n"
        "  qkprof compare base.json new.json --format markdown     for a comment on a pull request\n"
        "  qkprof compare --fleet profiles/                        of mpirun -n 8 qkprof run --out profiles/gpu.json\n"
        "  qkprof compare --explain                                what may differ by how much\n"
        "In GitHub Actions it annotates too.\n"
        "Exit codes: 0 no cell is worse; 1 one is; 2 usage or input; 3 none is, but some are missing, not comparable\n"
        "or inconclusive; 5 NEW computes a wrong result.");
    command->final_callback(
        [command, options, &chosen] { chosen = [command, options] { return compare_command(*command, *options); }; });
}

}  // namespace qkprof::cli
