// qkprof list: what there is to choose from.
#include "cli.h"

#include "claims.h"
#include "device.h"
#include "frameworks.h"
#include "names.h"
#include "presets.h"
#include "table.h"
#include "tune_table.h"
#include "tuning_table.h"
#include "variant.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <iterator>
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

std::vector<std::vector<Cell>> variant_rows() {
    std::vector<std::vector<Cell>> rows;
    for (const Variant& variant : variants(Backend::emulated)) {
        std::vector<std::string> parameters;
        for (const Parameter& parameter : variant.parameters) {
            std::vector<std::string> values;
            for (const int value : parameter.values) {
                values.push_back(value == parameter.standard ? fmt::format("[{}]", value) : fmt::format("{}", value));
            }
            if (parameter.tuned()) {
                values.emplace_back("[tuned]");
            }
            parameters.push_back(fmt::format("{}={}", parameter.name, fmt::join(values, ",")));
        }
        rows.push_back({{variant.name},
                        {name_of(variant.family)},
                        {variant.hypothesis},
                        {fmt::format("{}", fmt::join(parameters, " "))}});
    }
    return rows;
}

// How a feature is called at the head of a narrow column, and what asks for it.
struct FeatureTitle {
    Feature feature;
    const char* title;
    const char* asked_by;
};
constexpr std::array feature_titles = {
    FeatureTitle{Feature::key_heads, "keys", "key heads, in shapes written BxSxHq+HkxD"},
    FeatureTitle{Feature::packed, "packed", "--layout packed"},
    FeatureTitle{Feature::padding, "padding", "--row-padding N"},
    FeatureTitle{Feature::in_place, "in place", "--in-place"},
    FeatureTitle{Feature::positions, "ids", "--positions int32 or int64"},
    FeatureTitle{Feature::interleaved, "interleaved", "--pairing interleaved"},
    FeatureTitle{Feature::partial_rotary, "partial", "--rotary-dim N below the head_dim"},
    FeatureTitle{Feature::narrow_tables, "tables", "--table-dtype storage, where that has 16 bits"},
    FeatureTitle{Feature::narrow_gamma, "gamma", "--gamma-dtype storage, likewise"},
    FeatureTitle{Feature::gemma, "1+gamma", "--gemma"}};
static_assert(feature_titles.size() == std::size(all_features));

void add_features(std::vector<Cell>& row, const Variant& variant) {
    for (const FeatureTitle& title : feature_titles) {
        row.push_back(variant.has(title.feature) ? Cell{"yes", Style::good} : Cell{"no", Style::faint});
    }
}

// What there is, and what each does beyond the first form; for programs in one table.
std::vector<Table> list_variants(Format format) {
    Table table = one_section({{"variant"}, {"family"}, {"hypothesis"}, {"parameters"}}, variant_rows());
    if (format == Format::json || format == Format::csv) {
        for (const FeatureTitle& title : feature_titles) {
            table.columns.push_back({name_of(title.feature)});
        }
        for (std::size_t i = 0; i < table.sections.front().rows.size(); ++i) {
            add_features(table.sections.front().rows[i], variants(Backend::emulated).at(i));
        }
        return {std::move(table)};
    }
    table.notes.emplace_back("[standard value]; others with --sweep parameter=value,value");
    table.notes.emplace_back("[tuned]: by a table, for each problem (qkprof list tuning)");
    std::vector<std::vector<Cell>> rows;
    for (const Variant& variant : variants(Backend::emulated)) {
        rows.push_back({{variant.name}});
        add_features(rows.back(), variant);
    }
    Table features = one_section({{"what it does"}}, std::move(rows));
    features.notes = {
        "All do query heads alone, without gaps, rotated in halves by their place in the sequence, with gamma and",
        "tables in f32. Which head dims, alignments and limits of a device they need, a refusal says."};
    for (const FeatureTitle& title : feature_titles) {
        features.columns.push_back({title.title});
        features.notes.push_back(fmt::format("{}: {}", title.title, title.asked_by));
    }
    return {std::move(table), std::move(features)};
}

// The shapes of a preset, or a line each of its problems where they have options.
std::vector<std::string> shapes_of(const Preset& preset) {
    if (preset.problems.empty()) {
        const Shape& s = preset.partial;
        return {fmt::format("{}x{}x{}x{}", s.batch == 0 ? "B" : std::to_string(s.batch),
                            s.sequence == 0 ? "S" : std::to_string(s.sequence), s.heads, s.head_dim)};
    }
    std::vector<std::string> problems;
    bool plain = true;
    for (const PresetProblem& given : preset.problems) {
        const std::string options = text_of(given.options);
        plain = plain && options.empty();
        problems.push_back(given.shape.text() + options);
    }
    return plain ? std::vector{fmt::format("{}", fmt::join(problems, ","))} : problems;
}

std::vector<Table> list_shapes(Format format) {
    const bool whole = format == Format::json || format == Format::csv;
    std::vector<std::vector<Cell>> rows;
    for (const Preset& preset : presets()) {
        bool first = true;
        for (const std::string& shapes : shapes_of(preset)) {
            const bool named = first || whole;
            rows.push_back({{named ? preset.name : ""}, {shapes}, {named ? preset.meaning : ""}});
            first = false;
        }
    }
    Table table = one_section({{"preset"}, {"shapes"}, {"meaning"}}, std::move(rows));
    table.notes.emplace_back("model:NAME/decode and model:NAME/prefill: qkprof list models");
    return {std::move(table)};
}

// With the sources for programs: they are sentences.
std::vector<Table> list_models(Format format) {
    const bool whole = format == Format::json || format == Format::csv;
    Table table = one_section({{"model"},
                               {"heads", true},
                               {"head_dim", true},
                               {"rotary dim", true},
                               {"eps", true},
                               {"base", true},
                               {"context", true},
                               {"pairing"},
                               {"norm"}},
                              {});
    if (whole) {
        table.columns.push_back({"left out"});
        table.columns.push_back({"source"});
    }
    for (const Model& model : models()) {
        const Problem& p = model.problem;
        table.sections.front().rows.push_back({{"model:" + model.name},
                                               {fmt::format("{}+{}", p.heads, p.key_heads)},
                                               {fmt::format("{}", p.head_dim)},
                                               {fmt::format("{}", p.rotary())},
                                               {fmt::format("{}", p.eps)},
                                               {fmt::format("{}", p.rotary_base)},
                                               {fmt::format("{}", p.context)},
                                               {name_of(p.pairing)},
                                               {p.gemma ? "1 + gamma" : "gamma"}});
        if (whole) {
            table.sections.front().rows.back().push_back({model.left_out});
            table.sections.front().rows.back().push_back({model.source});
        }
    }
    table.notes = {
        "/decode: one token each of 1, 8, 64 and 256 sequences, at the positions 0, 1, 2 and so on, so that each",
        "reads a table row of its own; --positions int64:scattered spreads them over the context",
        "/prefill: 1024, 8192 and 65536 tokens, of several prompts where the model's context is shorter",
        "without either: both. profiles/models.toml says where each number is from and what is left out"};
    return {std::move(table)};
}

std::vector<Table> list_metrics(Format /*format*/) {
    std::vector<std::vector<Cell>> rows;
    for (const Metric& metric : metrics()) {
        rows.push_back({{metric.name}, {metric.unit}, {metric.meaning}});
    }
    return {one_section({{"metric"}, {"unit"}, {"meaning, per call"}}, std::move(rows))};
}

std::vector<Table> list_claims(Format /*format*/) {
    std::vector<std::vector<Cell>> rows;
    for (const Claim& claim : parse_claims(embedded_claims_toml, "profiles/claims.toml", variant_names())) {
        rows.push_back({{claim.id}, {claim.statement}});
    }
    return {one_section({{"claim"}, {"statement"}}, std::move(rows))};
}

// The tables that are built in.
std::vector<Table> list_tuning(Format format) {
    const bool plain = format == Format::json || format == Format::csv;
    std::vector<std::vector<Cell>> rows;
    for (const TuningTable& table : embedded_tuning(Backend::emulated)) {
        for (const auto& [variant, entries] : table.entries) {
            for (const TuningEntry& entry : entries) {
                rows.push_back({{table.device}, {variant}});
                for (Cell& cell : tuning_cells(entry, plain)) {
                    rows.back().push_back(std::move(cell));
                }
            }
        }
    }
    std::vector<Column> columns = {{"device"}, {"variant"}};
    const std::vector<Column> of_entry = tuning_columns(plain);
    columns.insert(columns.end(), of_entry.begin(), of_entry.end());
    Table table = one_section(std::move(columns), std::move(rows));
    table.notes.emplace_back("measured by qkprof tune; -: not measured");
    return {std::move(table)};
}

std::vector<Table> list_frameworks(Format /*format*/) {
    std::vector<std::vector<Cell>> rows;
    for (const Framework& framework : frameworks()) {
        rows.push_back({{framework.name}, {framework.route}});
    }
    Table table = one_section({{"framework"}, {"how it comes to the operation"}}, std::move(rows));
    table.notes.emplace_back("measured by scripts/routes; claims, compare and report take them as further variants");
    return {std::move(table)};
}

std::vector<Table> list_devices(Format /*format*/) {
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
    return {std::move(table)};
}

struct Listing {
    const char* name;
    std::vector<Table> (*make)(Format format);  // one, for programs
};
constexpr std::array listings = {Listing{"variants", list_variants}, Listing{"shapes", list_shapes},
                                 Listing{"models", list_models},     Listing{"metrics", list_metrics},
                                 Listing{"claims", list_claims},     Listing{"devices", list_devices},
                                 Listing{"tuning", list_tuning},     Listing{"frameworks", list_frameworks}};

Exit list(const Options& options) {
    const Format format = parse_format(options.format);
    std::vector<std::string> names;
    for (const Listing& listing : listings) {
        names.emplace_back(listing.name);
        if (options.what != listing.name) {
            continue;
        }
        std::string text;
        for (const Table& table : listing.make(format)) {
            text += text.empty() ? "" : "\n";
            text += format == Format::csv        ? to_csv(table)
                    : format == Format::json     ? to_json(table)
                    : format == Format::markdown ? to_markdown(table)
                                                 : to_text(table, colour_wanted());
        }
        print(text);
        return Exit::passed;
    }
    throw InputError(fmt::format("There is no list of '{}'.{}", options.what, suggestion(options.what, names)));
}

}  // namespace

void add_list(CLI::App& app, Action& chosen) {
    CLI::App* command =
        app.add_subcommand("list", "list variants, shapes, models, metrics, claims, devices, tuning or frameworks");
    command->allow_extras();
    const auto options = std::make_shared<Options>();
    command
        ->add_option("what", options->what, "variants, shapes, models, metrics, claims, devices, tuning or frameworks")
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
