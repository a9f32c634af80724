// qkprof hlo: what XLA's optimised HLO text promises to launch on the GPU.
#include "cli.h"

#include "hlo/parser.h"
#include "hlo/promise.h"
#include "hlo/promise_json.h"
#include "hlo/promise_table.h"
#include "table.h"

#include <memory>

namespace qkprof::cli {
namespace {

struct HloOptions {
    std::string file;
    std::string format = "table";
};

Exit hlo_command(const HloOptions& options) {
    const Format format = parse_format(options.format);
    const hlo::Module module = hlo::read_module(options.file);
    const hlo::Promise promise = hlo::promise_of(module);
    switch (format) {
        case Format::table:
            print(to_text(hlo::promise_table(promise), colour_wanted()));
            break;
        case Format::markdown:
            print(to_markdown(hlo::promise_table(promise)));
            break;
        case Format::csv:
            print(to_csv(hlo::promise_rows(promise)));
            break;
        case Format::json:
            print(hlo::json_of(promise).dump(2) + "\n");
            break;
    }
    return Exit::passed;
}

}  // namespace

void add_hlo(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("hlo", "what XLA's optimised HLO text promises to launch on the GPU");
    command->allow_extras();
    const auto options = std::make_shared<HloOptions>();
    command->add_option("file", options->file, "the text, as compile().as_text() or --xla_dump_to write it")
        ->type_name("FILE")
        ->required();
    text_option(*command, "--format", options->format, "FORMAT", "table, json, csv or markdown");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return hlo_command(*options);
        };
    });
}

}  // namespace qkprof::cli
