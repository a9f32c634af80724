// qkprof list: what there is to choose from.
#include "cli.h"

#include "claims.h"
#include "device.h"
#include "names.h"
#include "shapes.h"
#include "table.h"
#include "variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

namespace qkprof::cli {
namespace {

struct Options {
    std::string what = "variants";
    std::string format = "table";
};

Table one_section(std::vector<Column> columns, std::vector<std::vector<Cell>> rows) {
    return {.columns = std::move(columns),
            .sections = {{.heading = {}, .rows = std::move(rows), .notes = {}}},
            .notes = {}};
}

Table list_variants() {
    std::vector<std::vector<Cell>> rows;
    for (const Variant& variant : variants(Backend::emulated)) {
        std::vector<std::string> parameters;
        for (const Parameter& parameter : variant.parameters) {
            std::vector<std::string> values;
            for (const int value : parameter.values) {
                values.push_back(value == parameter.standard ? fmt::format("[{}]", value) : fmt::format("{}", value));
            }
            parameters.push_back(fmt::format("{}={}", parameter.name, fmt::join(values, ",")));
        }
        rows.push_back({{variant.name},
                        {name_of(variant.family)},
                        {variant.hypothesis},
                        {fmt::format("{}", fmt::join(parameters, " "))}});
    }
    Table table = one_section({{"variant"}, {"family"}, {"hypothesis"}, {"parameters"}}, std::move(rows));
    table.notes.emplace_back("[standard value]; others with --sweep parameter=value,value");
    return table;
}

std::string shapes_text(const Preset& preset) {
    if (!preset.shapes.empty()) {
        std::vector<std::string> shapes;
        for (const Shape& shape : preset.shapes) {
            shapes.push_back(shape.text());
        }
        return fmt::format("{}", fmt::join(shapes, ","));
    }
    const Shape& s = preset.partial;
    return fmt::format("{}x{}x{}x{}", s.batch == 0 ? "B" : std::to_string(s.batch),
                       s.sequence == 0 ? "S" : std::to_string(s.sequence), s.heads, s.head_dim);
}

Table list_shapes() {
    std::vector<std::vector<Cell>> rows;
    for (const Preset& preset : presets()) {
        rows.push_back({{preset.name}, {shapes_text(preset)}, {preset.meaning}});
    }
    return one_section({{"preset"}, {"shapes"}, {"meaning"}}, std::move(rows));
}

Table list_metrics() {
    std::vector<std::vector<Cell>> rows;
    for (const Metric& metric : metrics()) {
        rows.push_back({{metric.name}, {metric.unit}, {metric.meaning}});
    }
    return one_section({{"metric"}, {"unit"}, {"meaning, per call"}}, std::move(rows));
}

Table list_claims() {
    std::vector<std::vector<Cell>> rows;
    for (const Claim& claim : parse_claims(embedded_claims_toml, "profiles/claims.toml", variant_names())) {
        rows.push_back({{claim.id}, {claim.statement}});
    }
    return one_section({{"claim"}, {"statement"}}, std::move(rows));
}

Table list_devices() {
    const Discovery found = discover_gpus();
    std::vector<std::vector<Cell>> rows;
    for (const auto& [id, description] : found.gpus) {
        rows.push_back({{id}, {description}});
    }
    rows.push_back({{"emulated"}, {open_device("emulated")->info().description}});
    Table table = one_section({{"device"}, {"description"}}, std::move(rows));
    if (found.gpus.empty()) {
        table.notes.push_back("no GPU: " + found.no_gpu_reason);
    }
    return table;
}

struct Listing {
    const char* name;
    Table (*make)();
};
constexpr std::array listings = {Listing{"variants", list_variants}, Listing{"shapes", list_shapes},
                                 Listing{"metrics", list_metrics}, Listing{"claims", list_claims},
                                 Listing{"devices", list_devices}};

Exit list(const Options& options) {
    const Format format = parse_format(options.format);
    std::vector<std::string> names;
    for (const Listing& listing : listings) {
        names.emplace_back(listing.name);
        if (options.what != listing.name) {
            continue;
        }
        const Table table = listing.make();
        print(format == Format::csv        ? to_csv(table)
              : format == Format::json     ? to_json(table)
              : format == Format::markdown ? to_markdown(table)
                                           : to_text(table, colour_wanted()));
        return Exit::passed;
    }
    throw InputError(fmt::format("There is no list of '{}'.{}", options.what, suggestion(options.what, names)));
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
    CLI::App* command = app.add_subcommand("list", "list variants, shapes, metrics, claims or devices");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    command->add_option("what", options->what, "variants, shapes, metrics, claims or devices")
        ->type_name("WHAT")
        ->capture_default_str();
    text_option(*command, "--format", options->format, "FORMAT", "table, markdown, csv or json");
    command->final_callback([command, options, &chosen] {
        chosen = [command, options] {
            unknown_words(*command, {});
            return list(*options);
        };
    });
}

}  // namespace qkprof::cli
