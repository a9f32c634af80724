// qkprof exec: what the GPU does under any program, in the whole and in each NVTX range.
#include "cli.h"

#include "date.h"
#include "exec/child.h"
#include "exec/exec_table.h"
#include "exec/per_call.h"
#include "exec/perfetto_trace.h"
#include "exec/quantities.h"
#include "exec/server.h"
#include "names.h"
#include "output_file.h"
#include "rank.h"
#include "table.h"
#include "version.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

namespace qkprof::cli {
namespace {

struct Options {
    std::string out;
    std::string trace;
    std::string trace_events = "1000000";
    std::vector<std::string> per_call;
    std::string top = "20";
    std::string format = "table";
    std::string wait = "5";
    std::string show;
    bool quiet = false;
};

// As understood.
struct Choice {
    Format format = Format::table;
    exec::TableChoice table;
    std::uint64_t trace_events = 0;
    double wait = 0;
};

Choice parse(const Options& options) {
    constexpr long long most_rows = 1'000'000;
    constexpr long long most_events = 1'000'000'000;
    constexpr long long longest_wait = 86'400;
    Choice choice;
    choice.format = parse_format(options.format);
    choice.table.top = static_cast<std::size_t>(parse_integer(options.top, "--top", 0, most_rows));
    choice.trace_events =
        static_cast<std::uint64_t>(parse_integer(options.trace_events, "--trace-events", 1, most_events));
    choice.wait = static_cast<double>(parse_integer(options.wait, "--wait", 0, longest_wait));
    return choice;
}

std::string host_name() {
    constexpr std::size_t longest = 256;
    std::string name(longest, '\0');
    if (gethostname(name.data(), name.size() - 1) != 0) {
        return {};
    }
    return printable(name.c_str(), longest);
}

// The results as the format has them.
std::string text_of(const exec::ExecProfile& profile, const Choice& choice, bool colour) {
    switch (choice.format) {
        case Format::json:
            return to_json(profile);
        case Format::csv:
            return to_csv(exec_rows(profile));
        default:
            break;
    }
    std::string text;
    for (const Table& table : exec_tables(profile, choice.table)) {
        text += text.empty() ? "" : "\n";
        text += choice.format == Format::markdown ? to_markdown(table) : to_text(table, colour);
    }
    return text;
}

// What there is to say of the ranges that were asked for, and, where one is none, what is wrong.
struct PerCall {
    std::string text;
    std::string refusal;
};

PerCall per_call_of(const exec::ExecProfile& profile, const Options& options, const Choice& choice) {
    PerCall calls;
    for (const std::string& name : options.per_call) {
        try {
            for (const exec::RangeRow* range : exec::ranges_of(profile, name)) {
                calls.text += calls.text.empty() ? "" : "\n";
                calls.text += exec::per_call_text(*range, choice.table.longest);
            }
        } catch (const InputError& error) {
            calls.refusal += (calls.refusal.empty() ? "" : " ") + std::string(error.what());
        }
    }
    return calls;
}

Exit show(const Options& options, const Choice& choice) {
    const exec::ExecProfile profile = exec::read_exec_profile(options.show);
    if (options.per_call.empty()) {
        print(text_of(profile, choice, colour_wanted()));
        return Exit::passed;
    }
    const PerCall calls = per_call_of(profile, options, choice);
    print(calls.text);
    for (const std::string& sentence : exec::doubts_of(profile)) {
        say(sentence);
    }
    if (!calls.refusal.empty()) {
        throw InputError(calls.refusal);
    }
    return Exit::passed;
}

// Of several ranks each keeps files of its own.
std::string own_path(const std::string& path) {
    const std::optional<Rank> rank = own_rank();
    return rank && !path.empty() ? path_of(path, *rank).string() : path;
}

// One run of a command, and the files that what is seen of it is kept in.
class Execution {
  public:
    Execution(const Options& options, const Choice& choice, const std::vector<std::string>& command)
        : options_(options), choice_(choice), command_(command), trace_path_(own_path(options.trace)) {
        constexpr const char* instead = "";
        if (!options.out.empty()) {
            out_.emplace(own_path(options.out), "--out", instead);
        }
        if (!trace_path_.empty()) {
            OutputFile(trace_path_, "--trace", instead);
        }
        std::error_code ignored;
        const auto same = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, ignored); };
        if (!options.out.empty() && !options.trace.empty() && same(options.out) == same(options.trace)) {
            throw InputError(fmt::format("--out and --trace both name {}: give each a file of its own.", options.out));
        }
    }

    Exit run();

  private:
    exec::ExecProfile profile(const exec::Ended& ended) const;
    void open_trace();
    void meanwhile();
    void keep(const exec::ExecProfile& profile);
    void finish_trace();
    void say_end(const exec::Ended& ended) const;
    bool report(const exec::ExecProfile& profile) const;

    const Options& options_;
    const Choice& choice_;
    const std::vector<std::string>& command_;
    std::string trace_path_;
    std::optional<OutputFile> out_;
    std::unique_ptr<exec::PerfettoTrace> trace_;
    exec::Collector collector_;
    std::string fault_;  // a file could not be written: the sentence
    std::string date_ = date_now();
    std::uint64_t begin_ = exec::time_now();
};

exec::ExecProfile Execution::profile(const exec::Ended& ended) const {
    constexpr std::size_t longest_word = 4096;
    exec::ExecProfile profile = collector_.profile(exec::time_now());
    profile.date = date_;
    profile.host_name = host_name();
    profile.version = version();
    profile.commit = commit();
    for (const std::string& word : command_) {
        profile.command.push_back(printable(word, longest_word));
    }
    profile.exit_code = ended.exit_code;
    profile.signal = ended.signal != 0 && !ended.given_up ? exec::signal_name(ended.signal) : "";
    profile.complete = ended.exit_code || !profile.signal.empty();
    profile.wall_seconds = profile.complete ? ended.wall_seconds : exec::seconds_of(exec::time_now() - begin_);
    if (ended.running > 0) {
        profile.remarks.push_back(fmt::format("{} still ran when this was written: what they did later is not in it.",
                                              exec::counted(ended.running, "process", "processes")));
    }
    return profile;
}

// The command runs already: what fails here is said at its end.
void Execution::open_trace() {
    if (trace_path_.empty()) {
        return;
    }
    try {
        trace_ = std::make_unique<exec::PerfettoTrace>(trace_path_, begin_, choice_.trace_events);
        collector_.trace_to(trace_.get());
    } catch (const CannotMeasure& error) {
        fault_ = error.what();
    }
}

void Execution::meanwhile() {
    if (trace_) {
        trace_->flush();
    }
    keep(profile({}));
}

void Execution::keep(const exec::ExecProfile& profile) {
    if (!out_) {
        return;
    }
    try {
        out_->write(to_json(profile));
    } catch (const CannotMeasure& error) {
        fault_ = error.what();
    }
}

void Execution::finish_trace() {
    if (!trace_) {
        return;
    }
    trace_->flush();
    if (!trace_->fault().empty()) {
        fault_ = fmt::format("The trace {} could not be written: {}.", trace_path_, trace_->fault());
    } else if (trace_->left_out() > 0) {
        say(fmt::format("The trace holds the first {}, and {} left out: --trace-events raises the limit.",
                        exec::counted(choice_.trace_events, "event", "events"),
                        exec::counted(trace_->left_out(), "is", "are")));
    }
}

void Execution::say_end(const exec::Ended& ended) const {
    if (ended.given_up) {
        say("The command did not end when it was told to, and runs on unwatched.");
    } else if (ended.signal != 0) {
        say(fmt::format("The command was ended by {}.", exec::signal_name(ended.signal)));
    }
}

// Whether all ranges that were asked for are there.
bool Execution::report(const exec::ExecProfile& profile) const {
    const bool table = !options_.quiet;
    std::string text = table ? text_of(profile, choice_, isatty(STDERR_FILENO) != 0 && colour_wanted()) : "";
    const auto [calls, refusal] = per_call_of(profile, options_, choice_);
    text += text.empty() || calls.empty() ? calls : "\n" + calls;
    std::fwrite(text.data(), 1, text.size(), stderr);
    if (!table || choice_.format == Format::csv || choice_.format == Format::json) {
        for (const std::string& sentence : exec::doubts_of(profile)) {
            say(sentence);
        }
    }
    if (!refusal.empty()) {
        say(refusal);
    }
    return refusal.empty();
}

Exit Execution::run() {
    const exec::Watch watch = {.wait = std::chrono::duration<double>(choice_.wait),
                               .started = [this] { open_trace(); },
                               .meanwhile = [this](bool) { meanwhile(); }};
    const exec::Ended ended = exec::run_watched(command_, collector_, watch);
    const exec::ExecProfile seen = profile(ended);
    keep(seen);
    finish_trace();
    say_end(ended);
    if (seen.processes.empty()) {
        say("No process of the command used CUDA or NVTX, as far as was seen: one that is statically linked or setuid "
            "cannot "
            "be watched.");
    } else if (!collector_.used_cuda()) {
        say("No process of the command used CUDA.");
    }
    const bool all_there = report(seen);
    if (!fault_.empty()) {
        say(fault_);
    }
    constexpr int by_signal = 128;
    if (ended.signal != 0) {
        return static_cast<Exit>(by_signal + ended.signal);
    }
    if (ended.exit_code.value_or(0) != 0) {
        return static_cast<Exit>(*ended.exit_code);
    }
    return !all_there ? Exit::bad_input : fault_.empty() ? Exit::passed : Exit::cannot_measure;
}

Exit exec_command(const CLI::App& parser, const Options& options, const std::vector<std::string>& after_dashes) {
    std::vector<std::string> command = parser.remaining();
    if (!command.empty() && command.front().starts_with("-")) {
        (void)unknown_words(parser, "");
    }
    if (!command.empty() && !after_dashes.empty()) {
        command.emplace_back("--");  // one of the command's own
    }
    command.insert(command.end(), after_dashes.begin(), after_dashes.end());
    const Choice choice = parse(options);
    if (!options.per_call.empty() && (choice.format == Format::csv || choice.format == Format::json)) {
        throw InputError(
            fmt::format("--per-call writes text for people, and --format {} is for programs, which find the "
                        "calls of each range in --out: leave out one.",
                        options.format));
    }
    if (!options.show.empty()) {
        if (!command.empty()) {
            throw InputError("--show prints a profile that was kept, and there is a command too: leave out one.");
        }
        for (const char* of_running : {"--out", "--trace", "--trace-events", "--quiet", "--wait"}) {
            if (parser.get_option(of_running)->count() > 0) {
                throw InputError(
                    fmt::format("{} is for a command that runs, and --show runs none: leave out one.", of_running));
            }
        }
        return show(options, choice);
    }
    if (command.empty()) {
        throw InputError("qkprof exec runs a command, and none is given: qkprof exec --out profile.json -- COMMAND.");
    }
    return Execution(options, choice, command).run();
}

}  // namespace

std::vector<std::string> take_command(int& argc, char** argv) {
    std::vector<std::string> command;
    for (int i = 2; i < argc && std::string_view(argv[1]) == "exec"; ++i) {
        if (std::string_view(argv[i]) == "--") {
            command.assign(argv + i + 1, argv + argc);
            argc = i;
        }
    }
    return command;
}

void add_exec(CLI::App& app, Action& chosen, const std::vector<std::string>& command_words) {
    CLI::App* command =
        app.add_subcommand("exec", "what the GPU does under any program, in the whole and in each NVTX range");
    command->prefix_command();
    const auto options = std::make_shared<Options>();
    Options& o = *options;
    text_option(*command, "--out", o.out, "FILE", "keeps what was seen as JSON, also while the command runs")
        ->check(not_empty);
    text_option(*command, "--trace", o.trace, "FILE", "keeps each kernel for Perfetto (ui.perfetto.dev)")
        ->check(not_empty);
    text_option(*command, "--trace-events", o.trace_events, "COUNT", "at most so many in the trace");
    command
        ->add_option("--per-call", o.per_call,
                     "what one call of an NVTX range launches: name or domain@name, with * and ?; may be repeated")
        ->type_name("RANGE")
        ->check(not_empty)
        ->allow_extra_args(false);
    text_option(*command, "--top", o.top, "COUNT", "kernels, and ranges, that are shown one by one");
    text_option(*command, "--format", o.format, "FORMAT", "table, markdown, csv or json");
    flag_option(*command, "--quiet", o.quiet, "no table");
    text_option(*command, "--wait", o.wait, "SECONDS", "after the command's end, for processes that it left behind");
    text_option(*command, "--show", o.show, "FILE", "in place of a command: a profile that was kept with --out")
        ->check(not_empty);
    command->footer(
        "Runs COMMAND, whose input and output stay its own, and says on standard error what its processes launched.\n"
        "Examples:\n"
        "  qkprof exec -- python train.py\n"
        "  qkprof exec --out profile.json --trace trace.json -- ./program --option\n"
        "  qkprof exec --quiet --per-call 'norm*' -- ./program\n"
        "  qkprof exec --show profile.json --format csv\n"
        "Exit codes: the command's own (128 + N where signal N ended it); where that is 0: 2 no range matches "
        "--per-call,\n"
        "4 a file could not be written. Before the command runs: 2 usage, or it cannot be run; 4 it cannot be "
        "watched.");
    command->final_callback([command, options, command_words, &chosen] {
        chosen = [command, options, command_words] { return exec_command(*command, *options, command_words); };
    });
}

}  // namespace qkprof::cli
