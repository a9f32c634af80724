#include "fleet_table.h"

#include "names.h"
#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* unknown = "-";
constexpr std::size_t fewest_rows = 10;  // that a short table has room for

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::string plural(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool is_bytes(const std::string& metric) {
    return std::any_of(metrics().begin(), metrics().end(),
                       [&](const Metric& m) { return m.name == metric && std::string_view(m.unit) == "bytes"; });
}

std::string plain(double value) {
    return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string value_text(const std::string& metric, double value) {
    return metric == "real_time" ? format_time(value) : is_bytes(metric) ? format_bytes(value) : plain(value);
}

bool is_bad(GpuStanding standing) { return standing < GpuStanding::inconclusive; }

// The beginning of a UUID names a GPU, as it does for nvidia-smi, where no other begins alike.
std::map<std::string, std::string> short_names(const Fleet& fleet) {
    const std::size_t length = std::string_view("GPU-6d50832c").size();
    std::map<std::string, std::size_t> beginnings;
    for (const FleetModel& model : fleet.models) {
        for (const FleetGpu& gpu : model.gpus) {
            ++beginnings[gpu.uuid.substr(0, length)];
        }
    }
    std::map<std::string, std::string> names;
    for (const FleetModel& model : fleet.models) {
        for (const FleetGpu& gpu : model.gpus) {
            const std::string beginning = gpu.uuid.substr(0, length);
            names[gpu.uuid] = gpu.uuid.empty() ? unknown : beginnings[beginning] == 1 ? beginning : gpu.uuid;
        }
    }
    return names;
}

std::vector<Cell> row_of(const FleetGpu& gpu, const std::string& name) {
    const auto change = [](const std::optional<Slowness>& slowness) {
        return slowness
                   ? Cell{signed_percent(slowness->change),
                          slowness->interval && slowness->interval->low > slowness->limit ? Style::bad : Style::plain}
                   : Cell{unknown, Style::faint};
    };
    return {
        {name},
        {gpu.host},
        {gpu.file},
        {name_of(gpu.standing), is_bad(gpu.standing)                        ? Style::bad
                                : gpu.standing == GpuStanding::inconclusive ? Style::faint
                                                                            : Style::plain},
        change(gpu.time.overall),
        {gpu.time.overall ? percent(gpu.time.overall->limit) : unknown},
        change(gpu.time.worst),
        {gpu.time.judged == 0 ? unknown : fmt::format("{}/{}", gpu.time.slower, gpu.time.judged)},
        {fmt::format("{}/{}", gpu.differences.size(), gpu.counts), gpu.differences.empty() ? Style::plain : Style::bad},
        {gpu.samples == 0 ? unknown : percent(static_cast<double>(gpu.throttled) / static_cast<double>(gpu.samples))}};
}

std::string heading_of(const FleetModel& model) {
    return fmt::format("{}: {} on {}{}", model.device, plural(model.gpus.size(), "GPU"), plural(model.hosts, "host"),
                       model.timed == 0 ? ", no times" : fmt::format(", {} timed", plural(model.timed, "measurement")));
}

// How many are left out, and where they lie.
std::string rest_text(const std::vector<FleetGpu>& gpus, std::size_t shown) {
    std::size_t ordinary = 0;
    double least = HUGE_VAL;
    double greatest = -HUGE_VAL;
    for (std::size_t i = shown; i < gpus.size(); ++i) {
        ordinary += gpus[i].standing == GpuStanding::ordinary ? 1 : 0;
        if (gpus[i].time.overall) {
            least = std::min(least, gpus[i].time.overall->change);
            greatest = std::max(greatest, gpus[i].time.overall->change);
        }
    }
    const std::size_t left = gpus.size() - shown;
    return fmt::format(
        "{} more{}{}: --all shows them", left,
        ordinary == left ? " are as the rest" : fmt::format(", {} of them inconclusive", left - ordinary),
        least > greatest ? "" : fmt::format(", {} to {}", signed_percent(least), signed_percent(greatest)));
}

Json json_of(const Slowness& slowness) {
    Json json = Json::object();
    if (!slowness.name.empty()) {
        json["measurement"] = slowness.name;
    }
    json["change"] = slowness.change;
    json["low"] = slowness.interval ? Json(slowness.interval->low) : Json(nullptr);
    json["high"] = slowness.interval ? Json(slowness.interval->high) : Json(nullptr);
    json["limit"] = slowness.limit;
    return json;
}

Json json_of(const FleetGpu& gpu) {
    Json json = {{"uuid", gpu.uuid.empty() ? Json(nullptr) : Json(gpu.uuid)},
                 {"host", gpu.host},
                 {"file", gpu.file},
                 {"rank", gpu.rank.empty() ? Json(nullptr) : Json(gpu.rank)},
                 {"standing", name_of(gpu.standing)},
                 {"reason", gpu.reason},
                 {"overall", gpu.time.overall ? json_of(*gpu.time.overall) : Json(nullptr)},
                 {"worst", gpu.time.worst ? json_of(*gpu.time.worst) : Json(nullptr)},
                 {"measurements_timed", gpu.time.judged},
                 {"measurements_slower", gpu.time.slower},
                 {"measurements_lacking", gpu.lacking_measurements},
                 {"counts", gpu.counts},
                 {"counts_lacking", gpu.lacking_counts},
                 {"samples", gpu.samples},
                 {"throttled_samples", gpu.throttled},
                 {"wrong", gpu.wrong},
                 {"differences", Json::array()}};
    for (const CountDifference& d : gpu.differences) {
        json["differences"].push_back({{"measurement", d.measurement},
                                       {"metric", d.metric},
                                       {"value", d.value},
                                       {"usual", d.usual},
                                       {"gpus_alike", d.alike},
                                       {"gpus", d.gpus}});
    }
    return json;
}

std::string interval_text(const Slowness& slowness) {
    return fmt::format("{}limit {}",
                       slowness.interval ? fmt::format("99 % interval {:+.1f} to {:+.1f} %, ",
                                                       slowness.interval->low * 100, slowness.interval->high * 100)
                                         : "",
                       percent(slowness.limit));
}

std::string slower_text(const FleetGpu& gpu, std::size_t others) {
    const Slowness& overall = *gpu.time.overall;
    std::string text = fmt::format("{} is slower than the other {} of its model: ", gpu.name(), others);
    if (overall.interval && overall.interval->low > overall.limit) {
        text += fmt::format("{} over all {} ({})", signed_percent(overall.change),
                            plural(gpu.time.judged, "measurement"), interval_text(overall));
    } else {
        text += fmt::format("in {} of {}", gpu.time.slower, plural(gpu.time.judged, "measurement"));
    }
    return fmt::format("{}, most in {}: {} ({}).", text, gpu.time.worst->name, signed_percent(gpu.time.worst->change),
                       interval_text(*gpu.time.worst));
}

std::string difference_text(const FleetGpu& gpu) {
    const CountDifference& d = gpu.differences.front();
    return fmt::format(
        "{}: {} of {} is {}, and {} on {} of {} GPUs ({} allowed){}.", gpu.name(), d.metric, d.measurement,
        plain(d.value), plain(d.usual), d.alike, d.gpus,
        d.allowed == 0 ? "no difference is" : fmt::format("{} more or less is", plain(d.allowed)),
        gpu.differences.size() == 1 ? "" : fmt::format("; {} more of its counts differ", gpu.differences.size() - 1));
}

void add_note(Section& section, const std::string& note, std::size_t width) {
    constexpr std::size_t indent = 2;
    section.notes.push_back(fmt::format("{}", fmt::join(lines_of(note, width, indent), "\n")));
}

}  // namespace

Table gpus_table(const Fleet& fleet, bool all, std::size_t width) {
    Table table;
    table.columns = {{"GPU"},
                     {"host"},
                     {"file"},
                     {"standing"},
                     {"overall", true},
                     {"limit", true},
                     {"worst", true},
                     {"slower", true},
                     {"counts differ", true},
                     {"throttled", true}};
    const std::map<std::string, std::string> names = short_names(fleet);
    bool noise_measured = true;
    bool timed = false;
    for (const FleetModel& model : fleet.models) {
        Section section;
        section.heading = heading_of(model);
        const auto bad = static_cast<std::size_t>(std::count_if(
            model.gpus.begin(), model.gpus.end(), [](const FleetGpu& gpu) { return is_bad(gpu.standing); }));
        const std::size_t shown = all ? model.gpus.size() : std::min(model.gpus.size(), std::max(fewest_rows, bad));
        for (std::size_t i = 0; i < shown; ++i) {
            section.rows.push_back(row_of(model.gpus[i], names.at(model.gpus[i].uuid)));
        }
        if (shown < model.gpus.size()) {
            section.notes.push_back(rest_text(model.gpus, shown));
        }
        for (const std::string& note : model.notes) {
            add_note(section, note, width);
        }
        table.sections.push_back(std::move(section));
        timed = timed || model.timed > 0;
        noise_measured = noise_measured && (model.noise_measured || model.timed == 0);
    }
    if (timed) {
        table.notes = {
            "overall: how much longer it takes than the middle of the others, in the middle of its measurements;",
            "limit: what thresholds.toml allows, noise explains or the others differ among themselves, whichever is "
            "most;",
            "worst: in the measurement that is furthest beyond its own limit; slower: measurements beyond theirs"};
        if (!noise_measured) {
            table.notes.emplace_back(
                "The noise between two runs of one GPU was not measured (qkprof run --aa): thresholds.toml says it.");
        }
    }
    return table;
}

Table spreads_table(const Fleet& fleet, bool all, std::size_t width) {
    Table table;
    table.columns = {{"metric"},         {"GPUs", true},   {"least", true},      {"median", true},
                     {"greatest", true}, {"spread", true}, {"differs in", true}, {all ? "measurement" : "most in"}};
    for (const FleetModel& model : fleet.models) {
        std::map<std::string, std::pair<std::size_t, std::size_t>> differing;  // of so many measurements
        for (const Spread& spread : model.spreads) {
            differing[spread.metric].first += spread.least < spread.greatest ? 1 : 0;
            ++differing[spread.metric].second;
        }
        Section section;
        section.heading = heading_of(model);
        std::map<std::string, std::size_t> shown;
        std::vector<std::string> equal;
        for (const Spread& spread : model.spreads) {
            const auto& [some, of_all] = differing.at(spread.metric);
            const std::size_t before = shown[spread.metric]++;
            if (!all && some == 0 && before == 0) {
                equal.push_back(spread.metric);
            }
            if (!all && (some == 0 || before >= (spread.metric == "real_time" ? fewest_rows : 1))) {
                continue;
            }
            section.rows.push_back(
                {{spread.metric},
                 {fmt::format("{}", spread.gpus)},
                 {value_text(spread.metric, spread.least)},
                 {value_text(spread.metric, spread.median)},
                 {value_text(spread.metric, spread.greatest)},
                 spread.spread ? Cell{fmt::format("±{}", percent(*spread.spread))} : Cell{unknown, Style::faint},
                 {fmt::format("{}/{}", some, of_all)},
                 {spread.measurement}});
        }
        if (!equal.empty()) {
            add_note(section, fmt::format("equal on all of them in every measurement: {}", joined(equal)), width);
        }
        table.sections.push_back(std::move(section));
    }
    if (!all) {
        table.notes = {"Of each metric the measurement in which the GPUs differ most, of times ten: --all shows all"};
    }
    return table;
}

Table gpus_rows(const Fleet& fleet) {
    Table table;
    for (const char* title : {"device",
                              "uuid",
                              "host",
                              "file",
                              "rank",
                              "standing",
                              "overall_change",
                              "overall_low",
                              "overall_high",
                              "overall_limit",
                              "worst_change",
                              "worst_low",
                              "worst_high",
                              "worst_limit",
                              "worst_measurement",
                              "measurements_timed",
                              "measurements_slower",
                              "measurements_lacking",
                              "counts",
                              "counts_differing",
                              "counts_lacking",
                              "samples",
                              "throttled_samples",
                              "reason"}) {
        table.columns.push_back({title});
    }
    Section section;
    for (const FleetModel& model : fleet.models) {
        for (const FleetGpu& gpu : model.gpus) {
            std::vector<Cell> row = {{model.device}, {gpu.uuid}, {gpu.host},
                                     {gpu.file},     {gpu.rank}, {name_of(gpu.standing)}};
            for (const std::optional<Slowness>* slowness : {&gpu.time.overall, &gpu.time.worst}) {
                const bool known = slowness->has_value();
                const bool interval = known && (*slowness)->interval;
                row.push_back({known ? fmt::format("{}", (*slowness)->change) : ""});
                row.push_back({interval ? fmt::format("{}", (*slowness)->interval->low) : ""});
                row.push_back({interval ? fmt::format("{}", (*slowness)->interval->high) : ""});
                row.push_back({known ? fmt::format("{}", (*slowness)->limit) : ""});
            }
            row.push_back({gpu.time.worst ? gpu.time.worst->name : ""});
            for (const std::size_t count : {gpu.time.judged, gpu.time.slower, gpu.lacking_measurements, gpu.counts,
                                            gpu.differences.size(), gpu.lacking_counts, gpu.samples, gpu.throttled}) {
                row.push_back({fmt::format("{}", count)});
            }
            row.push_back({gpu.wrong.empty() ? gpu.reason : gpu.wrong.front()});
            section.rows.push_back(std::move(row));
        }
    }
    table.sections.push_back(std::move(section));
    return table;
}

std::string to_json(const Fleet& fleet) {
    Json json = {{"confidence", confidence}, {"models", Json::array()}};
    for (const FleetModel& model : fleet.models) {
        Json entry = {{"device", model.device},
                      {"hosts", model.hosts},
                      {"measurements_timed", model.timed},
                      {"noise_measured", model.noise_measured},
                      {"notes", model.notes},
                      {"gpus", Json::array()},
                      {"spreads", Json::array()}};
        for (const FleetGpu& gpu : model.gpus) {
            entry["gpus"].push_back(json_of(gpu));
        }
        for (const Spread& spread : model.spreads) {
            entry["spreads"].push_back({{"metric", spread.metric},
                                        {"measurement", spread.measurement},
                                        {"gpus", spread.gpus},
                                        {"least", spread.least},
                                        {"median", spread.median},
                                        {"greatest", spread.greatest},
                                        {"spread", spread.spread ? Json(*spread.spread) : Json(nullptr)},
                                        {"judged", spread.judged}});
        }
        json["models"].push_back(std::move(entry));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> sentences_of(const Fleet& fleet) {
    std::vector<std::string> sentences;
    for (const FleetModel& model : fleet.models) {
        std::map<std::string, std::vector<std::string>> inconclusive;  // by reason
        for (const FleetGpu& gpu : model.gpus) {
            for (const std::string& wrong : gpu.wrong) {
                sentences.push_back(fmt::format("{}: {}", gpu.name(), wrong));
            }
            if (gpu.time.is_slower) {
                sentences.push_back(slower_text(gpu, model.gpus.size() - 1));
            }
            if (!gpu.differences.empty()) {
                sentences.push_back(difference_text(gpu));
            }
            if (gpu.standing == GpuStanding::inconclusive) {
                inconclusive[gpu.reason].push_back(gpu.name());
            }
        }
        for (auto& [reason, names] : inconclusive) {
            constexpr std::size_t most = 3;
            if (names.size() > most + 1) {
                const std::size_t more = names.size() - most;
                names.resize(most);
                names.push_back(fmt::format("{} more", more));
            }
            sentences.push_back(fmt::format("{}: inconclusive: {}.", joined(names), reason));
        }
    }
    return sentences;
}

}  // namespace qkprof
