// qkprof claims: judges what is said about kernel fusion, on recorded profiles or on what it measures first.
#include "choice.h"

#include "claims.h"
#include "claims_problems.h"
#include "claims_subjects.h"
#include "claims_table.h"
#include "frameworks.h"
#include "input_file.h"
#include "judge.h"
#include "names.h"
#include "recording.h"
#include "roofline.h"
#include "run.h"
#include "timing.h"
#include "timings_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace qkprof::cli {
namespace {

struct Options {
    ChoiceOptions choice;
    std::vector<std::string> profiles;
    std::string claims;
    std::string only;
    std::string samples = "20";
    std::string format = "table";
    std::string out;
    bool progress = false;
    bool timings = false;
};

std::vector<Claim> chosen_claims(const Options& options) {
    constexpr std::uintmax_t largest = std::uintmax_t{1} << 20U;
    const std::string text =
        options.claims.empty() ? embedded_claims_toml : read_input_file(options.claims, "claims file", largest);
    const std::string source = options.claims.empty() ? "profiles/claims.toml" : options.claims;
    return choose_claims(parse_claims(text, source, variant_names()),
                         options.only.empty() ? std::vector<std::string>() : split_list(options.only, "--only"));
}

// Of frameworks alone: where none was measured there is nothing to judge.
bool is_about_frameworks(const Claim& claim) {
    return std::all_of(claim.test.subjects.begin(), claim.test.subjects.end(), [](const std::string& glob) {
        const std::string_view variant_glob = split_subject(glob).variant;
        return std::none_of(variants(Backend::emulated).begin(), variants(Backend::emulated).end(),
                            [&](const Variant& variant) { return matches_glob(variant_glob, variant.name); });
    });
}

void leave_out_frameworks(std::vector<Claim>& claims, const std::vector<Profile>& profiles) {
    const bool measured = std::any_of(profiles.begin(), profiles.end(), [](const Profile& profile) {
        return std::any_of(profile.measurements.begin(), profile.measurements.end(),
                           [](const Measurement& m) { return m.family == Family::framework; });
    });
    const std::size_t left_out = measured ? 0 : std::erase_if(claims, is_about_frameworks);
    if (left_out != 0) {
        say(
            fmt::format("{} claims are about frameworks, of which nothing was measured here, and are left out: "
                        "scripts/routes measures them.",
                        left_out));
    }
}

// The contradictions that were recorded, what the declarations and counts that were read say now, and the figures that
// are not possible.
std::vector<std::string> faults_of(const Measurement& m, const Roofline& roofline) {
    std::vector<std::string> sentences = roofline.errors_of(m);
    sentences.insert(sentences.end(), m.contradictions.begin(), m.contradictions.end());
    for (std::string& sentence : contradictions_of(m)) {
        if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end()) {
            sentences.push_back(std::move(sentence));
        }
    }
    return sentences;
}

// What there is to say of a profile that makes its evidence less than it seems.
void say_faults(const Profile& profile) {
    const Roofline roofline(profile);
    for (const Measurement& m : profile.measurements) {
        if (m.ran() && !m.verification.correct) {
            say(fmt::format("{}: {}.", m.name(), error_of(m)));
        }
        for (const std::string& sentence : faults_of(m, roofline)) {
            say(sentence);
        }
    }
    if (!profile.environment.complete) {
        say("A profile was interrupted: it is judged by what was measured until then.");
    }
}

// Those that were chosen, or what the device is to be judged on.
std::vector<Problem> problems_to_judge_on(Choice& choice, const DeviceInfo& info) {
    const bool standard = choice.shapes.empty();
    if (standard) {
        choice.shapes = claims_shapes(info.backend);
    }
    std::vector<Problem> problems = choice.problems(info.backend, info.l2_bytes);
    const bool has_bf16 = std::find(choice.dtypes.begin(), choice.dtypes.end(), DataType::bf16) != choice.dtypes.end();
    if (standard && choice.settings.empty() && has_bf16 && info.backend == Backend::cuda) {
        const std::vector<Problem> packed = packed_claims_problems();
        problems.insert(problems.end(), packed.begin(), packed.end());
    }
    return problems;
}

Profile measured(const Options& options, const std::vector<Claim>& claims,
                 const std::vector<std::string>& benchmark_flags, Timings& timings) {
    constexpr long long most_samples = 1000000;
    const auto samples = static_cast<int>(parse_integer(options.samples, "--samples", 1, most_samples));
    Choice choice = parse(options.choice);
    Recording recording(options.choice.device, options.out, benchmark_flags, timings, options.timings);
    const DeviceInfo& info = recording.device().info();
    std::vector<Candidate> candidates = choice.candidates(info.backend);
    const std::vector<Candidate> further = further_candidates(claims, candidates);
    candidates.insert(candidates.end(), further.begin(), further.end());
    const Plan plan = {.candidates = std::move(candidates),
                       .problems = problems_to_judge_on(choice, info),
                       .states = choice.states,
                       .samples = samples,
                       .tuning = choice.tuning};
    timings.ready();
    try {
        recording.record(plan, options.progress);
    } catch (...) {
        recording.keep_now();
        throw;
    }
    recording.keep_now();
    return recording.profile();
}

void print_verdicts(const std::vector<Verdict>& verdicts, const DeviceInfo& device, Format format) {
    switch (format) {
        case Format::json:
            return print(to_json(verdicts, device));
        case Format::csv:
            return print(to_csv(evidence_rows(verdicts)));
        case Format::markdown:
            return print(to_markdown(verdicts_table(verdicts)) + "\n" + to_markdown(evidence_table(verdicts, 0)));
        case Format::table: {
            constexpr std::size_t width = 120;
            const bool colour = colour_wanted();
            return print(to_text(evidence_table(verdicts, width), colour) + "\n" +
                         to_text(verdicts_table(verdicts), colour));
        }
    }
}

Exit exit_of(const std::vector<Verdict>& verdicts, const std::vector<Profile>& profiles) {
    const auto any_measured = [&](auto is) {
        return std::any_of(profiles.begin(), profiles.end(), [&](const Profile& profile) {
            const Roofline roofline(profile);
            return std::any_of(profile.measurements.begin(), profile.measurements.end(),
                               [&](const Measurement& m) { return is(m, roofline); });
        });
    };
    if (any_measured([](const Measurement& m, const Roofline&) { return m.ran() && !m.verification.correct; })) {
        return Exit::wrong_result;
    }
    if (any_measured([](const Measurement& m, const Roofline& roofline) { return !faults_of(m, roofline).empty(); })) {
        return Exit::failed;
    }
    const auto any = [&](Decision decision) {
        return std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict& v) { return v.decision == decision; });
    };
    return any(Decision::refuted) ? Exit::failed : any(Decision::undecided) ? Exit::inconclusive : Exit::passed;
}

Exit claims_command(const CLI::App& command, const Options& options, std::chrono::nanoseconds started) {
    Timings timings(started);
    const std::vector<std::string> benchmark_flags = unknown_words(command, "--benchmark_");
    const Format format = parse_format(options.format);
    if (!options.choice.sweeps.empty()) {
        throw InputError(
            "--sweep measures other values of a parameter, and claims are about the standard ones: leave it "
            "out.");
    }
    std::vector<Claim> claims = chosen_claims(options);
    std::vector<Profile> profiles;
    if (options.profiles.empty()) {
        profiles.push_back(measured(options, claims, benchmark_flags, timings));
    } else {
        constexpr std::array of_judging = {"--profile", "--claims", "--only", "--format", "--timings"};
        for (const CLI::Option* option : command.get_options()) {
            const std::string name = option->get_name();
            if (option->count() > 0 && std::find(of_judging.begin(), of_judging.end(), name) == of_judging.end()) {
                throw InputError(fmt::format(
                    "{} says what to measure, and with --profile nothing is measured: leave out one.", name));
            }
        }
        if (!benchmark_flags.empty()) {
            throw InputError(
                fmt::format("{} says what to measure, and with --profile nothing is measured: leave out one.",
                            benchmark_flags.front()));
        }
        timings.ready();
        for (const std::string& path : options.profiles) {
            const Timings::Scope step = timings.during(Step::reading);
            profiles.push_back(read_profile(path));
        }
    }
    const Evidence evidence(profiles);
    if (options.only.empty() && options.claims.empty()) {
        leave_out_frameworks(claims, profiles);
    }
    std::vector<Verdict> verdicts;
    for (const Claim& claim : claims) {
        const Timings::Scope step = timings.during(Step::judging);
        verdicts.push_back(judge(claim, evidence));
    }
    if (prints_results()) {
        const Timings::Scope step = timings.during(Step::printing);
        print_verdicts(verdicts, evidence.device(), format);
    }
    for (const Profile& profile : profiles) {
        say_faults(profile);
    }
    const Exit exit = exit_of(verdicts, profiles);
    if (options.timings && prints_results()) {
        print_timings(timings, format);
    }
    return exit;
}

}  // namespace

std::vector<std::string> variant_names() {
    const std::vector<Variant>& all = variants(Backend::emulated);
    std::vector<std::string> names(all.size());
    std::transform(all.begin(), all.end(), names.begin(), [](const Variant& variant) { return variant.name; });
    for (const Framework& framework : frameworks()) {
        names.emplace_back(framework.name);
    }
    return names;
}

void add_claims(CLI::App& app, Action& chosen, std::chrono::nanoseconds started) {
    CLI::App* command =
        app.add_subcommand("claims", "judge claims about kernel fusion, on recorded profiles or after a run");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    o.choice.dtypes = "f32,bf16,f16";
    command->add_option("--profile", o.profiles, "recorded profiles of one device to judge; without any it measures")
        ->type_name("FILES")
        ->check(not_empty);
    text_option(*command, "--claims", o.claims, "FILE", "the claims; without it those of profiles/claims.toml")
        ->check(not_empty);
    text_option(*command, "--only", o.only, "IDS", "of the claims (qkprof list claims)")->check(not_empty);
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json");
    add_timings_option(*command, o.timings);
    add_choice(*command, o.choice);
    command->get_option("--shapes")
        ->description(
            "as of qkprof run; without it 16 sizes on a GPU, in f32 from 64 KiB to 2 GiB, and in bf16 5 packed ones, "
            "and "
            "two small ones on the emulated device");
    text_option(*command, "--samples", o.samples, "N", "times taken of each variant and state");
    text_option(*command, "--out", o.out, "FILE", "keeps the profile, as it grows")->check(not_empty);
    command->add_flag("--progress", o.progress, "says what it does even where standard error is no terminal");
    command->footer(
        "The options from --variants on say what to measure, where there is no --profile.\n"
        "Exit codes: 0 all supported; 1 one refuted, a declaration contradicted, or a figure that is not possible;\n"
        "3 else, one undecided; 5 a kernel computed a wrong result.");
    command->final_callback([command, options, started, &chosen] {
        chosen = [command, options, started] { return claims_command(*command, *options, started); };
    });
}

}  // namespace qkprof::cli
