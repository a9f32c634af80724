// qkprof hlo: what XLA's optimised HLO text promises to launch on the GPU, and what became of the promise.
#include "cli.h"

#include "exec/exec_table.h"
#include "exec/per_call.h"
#include "hlo/before.h"
#include "hlo/buffers.h"
#include "hlo/dump.h"
#include "hlo/observed.h"
#include "hlo/parser.h"
#include "hlo/promise_json.h"
#include "hlo/promise_table.h"
#include "table.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

namespace qkprof::cli {
namespace {

struct HloOptions {
    std::string file;
    std::string before;
    std::string module;
    std::string buffers;
    std::string observed;
    std::string range;
    std::string format = "table";
};

// The files that the options name, or that a dump's folder holds; an empty path: none.
hlo::Dump files_of(const HloOptions& options) {
    hlo::Dump files;
    std::error_code error;
    if (std::filesystem::is_directory(options.file, error)) {
        files = hlo::find_dump(options.file, options.module);
    } else if (!options.module.empty()) {
        throw InputError(fmt::format("--module chooses among the modules of a folder, and {} is none.", options.file));
    } else {
        files.after = options.file;
    }
    files.before = options.before.empty() ? files.before : std::filesystem::path(options.before);
    files.buffers = options.buffers.empty() ? files.buffers : std::filesystem::path(options.buffers);
    return files;
}

// All that is known of one module.
struct Known {
    hlo::Module module;
    hlo::Promise promise;
    std::optional<hlo::BeforeAndAfter> before;
    std::optional<hlo::Buffers> buffers;
    std::optional<hlo::CommandBuffers> commands;
    std::optional<hlo::Observed> observed;

    hlo::Beside beside() const {
        const auto pointer = [](const auto& value) { return value ? &*value : nullptr; };
        return {pointer(observed), pointer(before), pointer(buffers), pointer(commands)};
    }
    std::vector<std::string> sentences() const {
        std::vector<std::string> all;
        const auto add = [&](const std::vector<std::string>& more) { all.insert(all.end(), more.begin(), more.end()); };
        if (before) {
            add(sentences_of(*before));
        }
        if (buffers) {
            add(sentences_of(*buffers));
        }
        if (commands && commands->buffers > 0) {
            all.push_back(fmt::format(
                "XLA records {} of what is executed in {}: one submission each.",
                commands->commands == 1 ? "1 command" : fmt::format("{} commands", commands->commands),
                commands->buffers == 1 ? "1 command buffer" : fmt::format("{} command buffers", commands->buffers)));
        }
        return all;
    }
};

hlo::Observed observed_of(const HloOptions& options, const hlo::Promise& promise) {
    const exec::ExecProfile profile = exec::read_exec_profile(options.observed);
    const std::vector<const exec::RangeRow*> ranges = options.range.empty()
                                                          ? std::vector<const exec::RangeRow*>()
                                                          : exec::ranges_of(profile, options.range, "--range");
    for (const std::string& sentence : exec::doubts_of(profile)) {
        say(sentence);
    }
    return hlo::observe(promise, profile, ranges);
}

// Of what is to be compared with the optimised module.
hlo::Module before_of(const std::filesystem::path& file, const hlo::Module& after) {
    hlo::Module before = hlo::read_module(file);
    if (!before.name.empty() && !after.name.empty() && before.name != after.name) {
        throw InputError(fmt::format(
            "--before is of another module: {} holds {}, and the optimised text is of {}. Give the text of {} "
            "before optimisation.",
            file.string(), before.name, after.name, after.name));
    }
    const auto scheduled = before.attributes.find("is_scheduled");
    if (scheduled != before.attributes.end() && scheduled->second == "true") {
        throw InputError(
            fmt::format("--before is optimised itself: {} is scheduled, as only HLO after optimisation is. "
                        "Give the text of {} before optimisation.",
                        file.string(), before.name.empty() ? "the module" : before.name));
    }
    return before;
}

// The promise points into the module: it is filled where it stays.
void fill(Known& known, const HloOptions& options) {
    const hlo::Dump files = files_of(options);
    known.module = hlo::read_module(files.after);
    known.promise = hlo::promise_of(known.module);
    if (!files.before.empty()) {
        const hlo::Module before = before_of(files.before, known.module);
        known.before = hlo::compare(hlo::promise_of(before), known.promise);
    }
    if (!files.buffers.empty()) {
        known.buffers = hlo::read_buffers(files.buffers);
    }
    if (!files.thunks.empty()) {
        known.commands = hlo::command_buffers(files.thunks);
    }
    if (!options.observed.empty()) {
        known.observed = observed_of(options, known.promise);
    }
}

// Of the promise beside what ran; says why it is inconclusive.
Exit verdict_of(const hlo::Observed& observed) {
    if (!observed.of_others.empty()) {
        say(hlo::others_sentence(observed));
        return Exit::inconclusive;
    }
    if (observed.nothing_joined()) {
        say("Nothing that ran could be joined with an instruction: the profile is of another program, or its range of "
            "another part.");
        return Exit::inconclusive;
    }
    if (observed.broken) {
        return Exit::failed;
    }
    if (!observed.doubts.empty()) {
        say("Whether it ran as promised is not known, as the profile may hold less than ran:");
        for (const std::string& sentence : observed.doubts) {
            say(sentence);
        }
        return Exit::inconclusive;
    }
    return Exit::passed;
}

Exit hlo_command(const HloOptions& options) {
    const Format format = parse_format(options.format);
    if (options.observed.empty() && !options.range.empty()) {
        throw InputError("--range chooses a range of the profile of --observed, which is not given.");
    }
    Known known;
    fill(known, options);
    const hlo::Observed* observed = known.observed ? &*known.observed : nullptr;
    switch (format) {
        case Format::table:
            print(to_text(hlo::promise_table(known.promise, observed, known.sentences()), colour_wanted()));
            break;
        case Format::markdown:
            print(to_markdown(hlo::promise_table(known.promise, observed, known.sentences())));
            break;
        case Format::csv:
            print(to_csv(hlo::promise_rows(known.promise, observed)));
            break;
        case Format::json:
            print(hlo::json_text(known.promise, known.beside()));
            break;
    }
    return observed == nullptr ? Exit::passed : verdict_of(*observed);
}

}  // namespace

void add_hlo(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("hlo", "what XLA's optimised HLO text promises to launch on the GPU");
    command->allow_extras();
    const auto options = std::make_shared<HloOptions>();
    command
        ->add_option("file", options->file,
                     "the text, as compile().as_text() writes it, or the folder of --xla_dump_to")
        ->type_name("FILE")
        ->required();
    text_option(*command, "--before", options->before, "FILE", "the HLO before optimisation, to compare with")
        ->check(not_empty);
    text_option(*command, "--module", options->module, "GLOB", "which module of a folder: jit_f, or module_0001.jit_f")
        ->check(not_empty);
    text_option(*command, "--buffers", options->buffers, "FILE", "the buffer assignment that was dumped")
        ->check(not_empty);
    text_option(*command, "--observed", options->observed, "FILE", "what ran: an exec profile, to join with")
        ->check(not_empty);
    text_option(*command, "--range", options->range, "RANGE",
                "with --observed: the NVTX range whose calls are the executions, NAME or DOMAIN@NAME")
        ->check(not_empty);
    text_option(*command, "--format", options->format, "FORMAT", "table, json, csv or markdown");
    command->footer(
        "A fusion promises one kernel. A library's kernels and a foreign function's are an unknown number. Copies of\n"
        "memory are no kernels. With --observed the exit code is 1 where a firm promise is broken (a fusion that is "
        "not\n"
        "one launch an execution, a kernel that nothing promised, a copy that was not made), 3 where nothing could be "
        "joined or records are\n"
        "missing.");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return hlo_command(*options);
        };
    });
}

}  // namespace qkprof::cli
