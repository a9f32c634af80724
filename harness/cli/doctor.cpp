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
    print(format == Format::csv        ? to_csv(diagnosis_rows(diagnosis))
          : format == Format::json     ? to_json(diagnosis_rows(diagnosis))
          : format == Format::markdown ? to_markdown(diagnosis_table(diagnosis))
                                       : to_text(diagnosis_table(diagnosis), colour_wanted()));
    if (format == Format::csv || format == Format::json) {  // which hold the rows alone
        for (const std::string& sentence : advice_of(diagnosis)) {
            fmt::print(stderr, "qkprof: {}\n", sentence);
        }
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
