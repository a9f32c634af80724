// qkprof doctor: can this machine be measured, and does the instrument read known traffic rightly.
#include "cli.h"

#include "doctor.h"

#include <fmt/format.h>

#include <memory>

namespace qkprof::cli {
namespace {

struct Options {
    std::string device = "auto";
    std::string format = "table";
};

Exit doctor(const Options& options) {
    const Format format = parse_format(options.format);
    const Diagnosis diagnosis = diagnose(options.device);
    if (format == Format::csv || format == Format::json) {
        const Table rows = diagnosis_rows(diagnosis);
        print(format == Format::csv ? to_csv(rows) : to_json(rows));
        for (const std::string& sentence : advice_of(diagnosis)) {  // which rows do not hold
            say(sentence);
        }
    } else {
        std::string text;
        for (const Table& table : diagnosis_tables(diagnosis)) {
            text += text.empty() ? "" : "\n";
            text += format == Format::markdown ? to_markdown(table) : to_text(table, colour_wanted());
        }
        print(text);
    }
    return verdict_of(diagnosis);
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("doctor", "can this machine be measured, and are its counters right on known traffic");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    text_option(*command, "--device", options->device, "DEVICE", "auto, cuda (the first) or cuda:N");
    text_option(*command, "--format", options->format, "FORMAT", "table, markdown, csv or json");
    command->footer(
        "Exit codes: 0 all is well; 1 a counter reads wrong; 4 there is no GPU, or a counter cannot be had.");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return doctor(*options);
        };
    });
}

}  // namespace qkprof::cli
