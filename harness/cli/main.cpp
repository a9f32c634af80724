// qkprof: the program. Parses the command line, runs the command, and says in one sentence what is wrong, if something
// is.
#include "cli.h"

#include "names.h"
#include "rank.h"
#include "timings.h"
#include "version.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace qkprof::cli {

CLI::Option* text_option(CLI::App& command, const std::string& name, std::string& value, const std::string& type,
                         const std::string& meaning) {
    return command.add_option(name, value, meaning)->type_name(type)->capture_default_str();
}

void flag_option(CLI::App& command, const std::string& name, bool& value, const std::string& meaning,
                 const std::string& group) {
    const auto alone = [](const std::string& text) {  // the parser says "true" where there is no text
        return text == "true" ? "" : fmt::format("it takes no value, and '{}' is given", text);
    };
    command.add_flag(name, value, meaning)->check(alone)->group(group);
}

std::string not_empty(const std::string& text) { return text.empty() ? "an empty value says nothing" : ""; }

std::vector<std::string> unknown_words(const CLI::App& command, const std::string& prefix) {
    std::vector<std::string> words = command.remaining();
    for (const std::string& word : words) {
        if (!prefix.empty() && word.starts_with(prefix)) {
            continue;
        }
        if (!word.starts_with("-")) {
            throw InputError(fmt::format("'{}' is not expected after {}: see qkprof {} --help.", word,
                                         command.get_name(), command.get_name()));
        }
        std::vector<std::string> names;
        for (const CLI::Option* option : command.get_options()) {
            names.push_back(option->get_name());
        }
        const std::string near = nearest_name(word.substr(0, word.find('=')), names);
        throw InputError(fmt::format("qkprof {} has no option {}.{}", command.get_name(), word,
                                     near.empty() ? fmt::format(" See qkprof {} --help.", command.get_name())
                                                  : fmt::format(" Did you mean {}?", near)));
    }
    return words;
}

namespace {

// None, too, where the environment contradicts itself: those who measure say so.
std::optional<Rank> sound_rank() {
    try {
        return own_rank();
    } catch (const InputError&) {
        return {};
    }
}

}  // namespace

bool colour_wanted() {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    // Open MPI gives its processes a terminal, wherever its own output goes.
    return isatty(STDOUT_FILENO) != 0 && !sound_rank() && (no_colour == nullptr || *no_colour == '\0') &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw CannotMeasure("The results could not be written to standard output.");
    }
}

std::string speaker() {
    const std::optional<Rank> rank = sound_rank();
    return rank ? fmt::format("qkprof[{}]", rank->number) : "qkprof";
}

void say(const std::string& sentence) {
    const std::string line = fmt::format("{}: {}\n", speaker(), sentence);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

namespace {

int fail(Exit code, const std::string& sentence) {
    say(sentence);
    return static_cast<int>(code);
}

// Says which option of the commands that were named is given more often than it may be; empty where none is.
std::string repeated_option(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommands()) {
        for (const CLI::Option* option : command->get_options()) {
            if (option->get_items_expected_max() == 1 && option->count() > 1) {
                return fmt::format("{} is given {}: give it once, a list with commas.", option->get_name(),
                                   option->count() == 2 ? "twice" : fmt::format("{} times", option->count()));
            }
        }
    }
    return {};
}

int run_command(int argc, char** argv, std::chrono::nanoseconds started) {
    CLI::App app(
        "Measures QK-Norm+RoPE, written as many CUDA kernels: is it right, how many kernels and bytes does it take,\n"
        "how long, and how far is that from a copy. Without a GPU an emulated device verifies and counts.",
        "qkprof");
    app.set_version_flag("--version", [] { return fmt::format("qkprof {} (commit {})", version(), commit()); });
    app.footer(
        "Exit codes: 0 passed; 1 a regression, a declaration contradicted by a count, a figure that is not "
        "possible,\n"
        "a counter that reads wrong, a refuted claim, or a broken promise of HLO; 2 usage or input; 3 inconclusive\n"
        "(nothing but the ceiling ran, a claim is undecided, two profiles are not comparable) or interrupted; 4 "
        "cannot\n"
        "be measured here; 5 a kernel computed a wrong result. exec: those of the command.");
    app.allow_extras();
    app.require_subcommand(0, 1);
    Action chosen;
    const std::vector<std::string> command_words = take_command(argc, argv);
    add_run(app, chosen, started);
    add_claims(app, chosen, started);
    add_compare(app, chosen);
    add_trace(app, chosen);
    add_tune(app, chosen);
    add_exec(app, chosen, command_words);
    add_hlo(app, chosen);
    add_list(app, chosen);
    add_doctor(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {  // --help and --version
            return app.exit(error);
        }
        const std::string repeated = repeated_option(app);
        return fail(Exit::bad_input, repeated.empty() ? fmt::format("{}.", error.what()) : repeated);
    }
    if (!chosen) {
        const std::vector<std::string> words = app.remaining();
        if (words.empty()) {
            return fail(Exit::bad_input, "Name a command, such as run; qkprof --help describes them.");
        }
        const std::vector<std::string> commands = {"run",  "claims", "compare", "trace", "tune",
                                                   "exec", "hlo",    "list",    "doctor"};
        return fail(Exit::bad_input,
                    fmt::format("There is no command '{}'.{}", words.front(), suggestion(words.front(), commands)));
    }
    if (!app.remaining().empty()) {
        return fail(Exit::bad_input, fmt::format("'{}' is not expected before the command.", app.remaining().front()));
    }
    return static_cast<int>(chosen());
}

// Where a caller has closed one of them, the next file that is opened would take its place, and what is printed.
void open_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR);  // the lowest number that is free
        }
    }
}

}  // namespace
}  // namespace qkprof::cli

int main(int argc, char** argv) {
    using qkprof::Exit;
    const std::chrono::nanoseconds started = qkprof::steady_now();
    qkprof::cli::open_standard_streams();
    try {
        return qkprof::cli::run_command(argc, argv, started);
    } catch (const qkprof::InputError& error) {
        return qkprof::cli::fail(Exit::bad_input, error.what());
    } catch (const std::bad_alloc&) {
        return qkprof::cli::fail(Exit::cannot_measure,
                                 "The memory of this machine is exhausted: choose a smaller shape.");
    } catch (const std::exception& error) {
        return qkprof::cli::fail(Exit::cannot_measure, error.what());
    }
}
