#include "timings_option.h"

#include <cstdio>

namespace qkprof::cli {

void add_timings_option(CLI::App& command, bool& value) {
    flag_option(command, "--timings", value,
                "a further table, and in the profile: where the wall time of the program went, by step");
}

void print_timings(Timings& timings, Format format) {
    const Table table = timings_table(timings.so_far());
    switch (format) {
        case Format::table:
            return print("\n" + to_text(table, colour_wanted()));
        case Format::markdown:
            return print("\n" + to_markdown(table));
        case Format::csv:
        case Format::json: {
            const std::string text = to_text(table, false);
            std::fwrite(text.data(), 1, text.size(), stderr);
        }
    }
}

}  // namespace qkprof::cli
