#include "fleet.h"

#include "cli.h"
#include "fleet_folder.h"
#include "fleet_table.h"

namespace qkprof::cli {
namespace {

void print_fleet(const Fleet& fleet, Format format, bool all) {
    switch (format) {
        case Format::json:
            return print(to_json(fleet));
        case Format::csv:
            return print(to_csv(gpus_rows(fleet)));
        case Format::markdown:
            return print(to_markdown(gpus_table(fleet, all, 0)) + "\n" + to_markdown(spreads_table(fleet, all, 0)));
        case Format::table: {
            constexpr std::size_t width = 120;
            const bool colour = colour_wanted();
            return print(to_text(spreads_table(fleet, all, width), colour) + "\n" +
                         to_text(gpus_table(fleet, all, width), colour));
        }
    }
}

}  // namespace

Exit fleet_command(const std::string& folder, const Thresholds& thresholds, const std::vector<std::string>& metrics,
                   const std::vector<std::string>& variants, bool strict, Format format, bool all) {
    const Fleet fleet = lay_side_by_side(read_fleet(folder), thresholds, {.metrics = metrics, .variants = variants});
    print_fleet(fleet, format, all);
    for (const std::string& sentence : sentences_of(fleet)) {
        say(sentence);
    }
    return exit_of(fleet, strict);
}

}  // namespace qkprof::cli
