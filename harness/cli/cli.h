// The command line's subcommands: one file each. Each adds itself to the parser and leaves what it does in `chosen`.
#pragma once

#include "error.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace qkprof::cli {

// What the parsed command does; the exit code.
using Action = std::function<Exit()>;

// `started`: when the program did, by steady_now().
void add_claims(CLI::App& app, Action& chosen, std::chrono::nanoseconds started);
void add_compare(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
// `command_words`: what take_command() took.
void add_exec(CLI::App& app, Action& chosen, const std::vector<std::string>& command_words);
void add_hlo(CLI::App& app, Action& chosen);
void add_list(CLI::App& app, Action& chosen);
void add_run(CLI::App& app, Action& chosen, std::chrono::nanoseconds started);
void add_trace(CLI::App& app, Action& chosen);
void add_tune(CLI::App& app, Action& chosen);

// The words behind the first "--" of `qkprof exec`, which are another program's: this parser does not see them.
std::vector<std::string> take_command(int& argc, char** argv);

// An option of text; lists may be given in several goes.
CLI::Option* text_option(CLI::App& command, const std::string& name, std::string& value, const std::string& type,
                         const std::string& meaning);

// An option that is there or not: --name=false is refused.
void flag_option(CLI::App& command, const std::string& name, bool& value, const std::string& meaning,
                 const std::string& group = "Options");

// Throws InputError, with the nearest option, unless all words that the parser did not know begin with `prefix` (if
// that is not empty). Returns them.
std::vector<std::string> unknown_words(const CLI::App& command, const std::string& prefix);

// Of the kernels in this build, and what frameworks make of the operation.
std::vector<std::string> variant_names();

// Whether to colour what is printed.
bool colour_wanted();

// Writes to standard output; throws CannotMeasure when that fails (a full disk, a closed pipe).
void print(const std::string& text);

// The check of an option that must not be empty, as an unset variable of a shell would make it.
std::string not_empty(const std::string& text);

// Who says a sentence: "qkprof", or "qkprof[3]" where it is rank 3 of several.
std::string speaker();

// One sentence on standard error. That it cannot be written changes nothing.
void say(const std::string& sentence);

}  // namespace qkprof::cli
