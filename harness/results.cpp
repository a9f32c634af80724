#include "results.h"

#include "cells.h"
#include "noise.h"
#include "roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace qkprof {
namespace {

constexpr const char* unknown = "-";

// `digits` significant ones, never in scientific notation; for values in [0, 1000).
std::string significant(double value, int digits) {
    const int before_point = value >= 100 ? 3 : value >= 10 ? 2 : 1;
    return fmt::format("{:.{}f}", value, std::max(0, digits - before_point));
}

std::string in_units(double value, double step, const std::vector<const char*>& units, int digits) {
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {  // 999.5 would be shown as 1000
        value /= step;
        ++unit;
    }
    return fmt::format("{} {}", significant(value, digits), units[unit]);
}

// The counters that were asked for by the names that the device gives them.
std::vector<std::string> further_metrics(const Profile& profile) {
    std::set<std::string> names;
    for (const Measurement& m : profile.measurements) {
        for (const auto& [name, counter] : m.counters) {
            if (!is_own_metric(name)) {
                names.insert(name);
            }
        }
    }
    return {names.begin(), names.end()};
}

class ResultsTable {
  public:
    explicit ResultsTable(const Profile& profile)
        : profile_(profile),
          fractions_(profile.measurements),
          roofline_(profile),
          times_(profile, Timed::real_time),
          has_noise_(std::any_of(profile.measurements.begin(), profile.measurements.end(),
                                 [](const Measurement& m) { return !m.aa_seconds.empty(); })),
          further_(further_metrics(profile)) {}

    Table build() {
        table_.columns = {{"variant"},         {"state"},         {"time", true},     {"spread", true},
                          {"GB/s", true},      {"of copy", true}, {"launches", true}, {"declared", true},
                          {"requested", true}, {"L2", true},      {"DRAM", true}};
        if (has_noise_) {
            table_.columns.insert(table_.columns.begin() + 4, {"A/A", true});
        }
        for (const std::string& name : further_) {
            table_.columns.push_back({name, true});
        }
        table_.columns.push_back({"error", true});
        for (const auto& group : by_problem(profile_.measurements)) {
            add_section(group);
        }
        table_.notes = reasons_.notes();
        if (modelled_) {
            table_.notes.emplace_back("~ modelled, not counted");
        }
        for (const std::string& fault : faults_of(profile_.environment.calibration)) {
            table_.notes.push_back("calibration: " + fault);
        }
        if (!profile_.environment.complete) {
            table_.notes.emplace_back("interrupted: this is what was measured until then");
        }
        return std::move(table_);
    }

  private:
    void add_section(const std::vector<const Measurement*>& group) {
        const Problem& p = group.front()->problem;
        Section section;
        section.heading = fmt::format("{} {}, {} compulsory{}", p.shape_text(), name_of(p.dtype),
                                      format_bytes(static_cast<double>(p.compulsory_bytes())), form_text(p));
        std::vector<std::string> seen;
        const auto once = [&](const std::string& note) {
            if (std::find(seen.begin(), seen.end(), note) == seen.end()) {
                seen.push_back(note);
                section.notes.push_back(note);
            }
        };
        for (const Measurement* measurement : group) {
            const Measurement& m = *measurement;
            if (m.ran()) {
                section.rows.push_back(row_of(m));
            }
            if (!m.right()) {
                once(fmt::format("{}: {}", variant_text(m), error_of(m)));
            }
            if (m.ran() && m.tuned_from) {
                once(tuning_note(m));
            }
            for (const std::string& sentence : m.contradictions) {
                once(sentence);
            }
            if (!m.throttled.empty()) {
                std::set<std::string> reasons;
                for (const ThrottledSample& sample : m.throttled) {
                    reasons.insert(sample.reasons.begin(), sample.reasons.end());
                }
                once(fmt::format("{} {}: {} of {} samples throttled ({}), left out", variant_text(m), name_of(m.state),
                                 m.throttled.size(), m.throttled.size() + m.seconds.size(), fmt::join(reasons, ", ")));
            }
            for (const std::string& sentence : roofline_.errors_of(m)) {
                once(sentence);
            }
        }
        table_.sections.push_back(std::move(section));
    }

    std::string tuning_note(const Measurement& m) const {
        const TunedFrom& from = *m.tuned_from;
        std::vector<std::string> values;
        for (const std::string& name : from.parameters) {
            values.push_back(fmt::format("{} {}", name, m.parameters.at(name)));
        }
        const std::string& device = profile_.environment.device.description;
        std::vector<std::string> doubts;
        if (from.device != device) {
            doubts.push_back(fmt::format("no table for {}", device));
        }
        if (!from.own) {
            doubts.emplace_back("the nearest problem");
        }
        return fmt::format("{}: {}, as tuned for {} on {}{}", variant_text(m), fmt::join(values, ", "), from.problem,
                           from.device, doubts.empty() ? "" : fmt::format(" ({})", fmt::join(doubts, ", ")));
    }

    std::vector<Cell> row_of(const Measurement& m) {
        if (!m.right()) {  // its note says why
            std::vector<Cell> row(table_.columns.size(), Cell{unknown, Style::faint});
            row.front() = {variant_text(m), Style::bad};
            row.at(1) = {name_of(m.state)};
            row.back() = {m.verification.fault.empty() ? fmt::format("{:.1e}", m.verification.error_norm) : "fault",
                          Style::bad};
            return row;
        }
        std::vector<Cell> row = {{variant_text(m), m.family == Family::ceiling ? Style::faint : Style::plain},
                                 {name_of(m.state)}};
        add_time(row, m);
        const Style declared = m.contradictions.empty() ? Style::plain : Style::bad;
        const Counter launches = counter_of(m, "launches");
        const std::string counted = launches.value ? fmt::format("{}", *launches.value)
                                                   : reasons_.unknown_cell("launches", launches.reason).text;
        if (m.declaration) {
            const Declaration& d = *m.declaration;
            row.push_back({fmt::format("{}/{}", d.launches, counted), launches.value ? declared : Style::plain});
            row.push_back({format_bytes(static_cast<double>(d.load_bytes + d.store_bytes)), declared});
        } else {
            row.push_back({counted});
            row.push_back(reasons_.unknown_cell("declared", "a framework declares nothing"));
        }
        row.push_back(bytes_cell("requested", roofline_.traffic(m, Level::l1).bytes));
        row.push_back(bytes_cell("L2", roofline_.traffic(m, Level::l2).bytes));
        row.push_back(bytes_cell("DRAM", roofline_.traffic(m, Level::dram).bytes));
        for (const std::string& name : further_) {
            const Counter counter = counter_of(m, name);
            row.push_back(counter.value ? Cell{fmt::format("{}", *counter.value)}
                                        : reasons_.unknown_cell(name, counter.reason));
        }
        row.push_back({fmt::format("{:.1e}", m.verification.error_norm)});
        return row;
    }

    void add_time(std::vector<Cell>& row, const Measurement& m) {
        if (m.seconds.empty()) {
            for (const char* column : {"time", "spread", "A/A", "GB/s", "of copy"}) {
                if (has_noise_ || column != std::string_view("A/A")) {
                    row.push_back(reasons_.unknown_cell(column, m.no_time_reason));
                }
            }
            return;
        }
        const double seconds = median(m.seconds);
        row.push_back({format_time(seconds), roofline_.errors_of(m).empty() ? Style::plain : Style::bad});
        const std::optional<double> spread = relative_spread(m.seconds);
        row.push_back(spread ? Cell{fmt::format("\u00b1{:.1f}%", *spread * 100)}
                             : reasons_.unknown_cell("spread", "it needs at least 3 samples"));
        if (has_noise_) {
            const Counter noise = times_.noise(m);
            row.push_back(noise.value ? Cell{fmt::format("\u00b1{:.1f}%", *noise.value * 100)}
                                      : reasons_.unknown_cell("A/A", noise.reason));
        }
        row.push_back({fmt::format("{:.0f}", static_cast<double>(m.problem.compulsory_bytes()) / seconds / 1e9)});
        const Counter fraction = fractions_.of(m);
        constexpr double as_good_as_a_copy = 0.95;
        row.push_back(
            fraction.value
                ? Cell{fmt::format("{:.1f}%", *fraction.value * 100),
                       *fraction.value >= as_good_as_a_copy && m.family != Family::ceiling ? Style::good : Style::plain}
                : reasons_.unknown_cell("of copy", fraction.reason));
    }

    Cell bytes_cell(const std::string& column, const Counter& counter) {
        if (!counter.value) {
            return reasons_.unknown_cell(column, counter.reason);
        }
        const bool modelled = counter.source == Source::modelled;
        modelled_ = modelled_ || modelled;
        return {fmt::format("{}{}", modelled ? "~" : "", format_bytes(*counter.value))};
    }

    const Profile& profile_;
    CopyFractions fractions_;
    Roofline roofline_;
    RunTimes times_;
    bool has_noise_;
    std::vector<std::string> further_;
    Reasons reasons_;
    Table table_;
    bool modelled_ = false;
};

// The counters that the device of this profile gives.
std::vector<std::string> device_metrics(const Profile& profile) {
    std::vector<std::string> names;
    for (const Metric& metric : metrics()) {
        if (!metric.derived) {
            names.emplace_back(metric.name);
        }
    }
    for (std::string& name : further_metrics(profile)) {
        names.push_back(std::move(name));
    }
    return names;
}

// "1x1024x16x128 f32 of NVIDIA H200 (the nearest)"
std::string tuned_from_text(const TunedFrom& from) {
    return fmt::format("{} of {}{}", from.problem, from.device, from.own ? "" : " (the nearest)");
}

Cell plain_number(const std::optional<double>& value) { return {value ? fmt::format("{}", *value) : std::string()}; }

}  // namespace

std::string format_time(double seconds) { return in_units(seconds * 1e9, 1000, {"ns", "us", "ms", "s"}, 4); }

std::string format_bytes(double bytes) {
    constexpr double exact_below = 1024;
    if (bytes < exact_below) {
        return fmt::format("{} B", bytes);
    }
    return in_units(bytes / 1024, 1024, {"KiB", "MiB", "GiB", "TiB", "PiB"}, 3);
}

Table results_table(const Profile& profile) { return ResultsTable(profile).build(); }

Table results_rows(const Profile& profile) {
    const CopyFractions fractions(profile.measurements);
    const Roofline roofline(profile);
    const RunTimes times(profile, Timed::real_time);
    Table table;
    for (const char* title : {"name",
                              "variant",
                              "family",
                              "parameters",
                              "tuned_from",
                              "shape",
                              "dtype",
                              "state",
                              "status",
                              "message",
                              "timer",
                              "samples",
                              "median_us",
                              "spread",
                              "aa_noise",
                              "gb_per_s",
                              "copy_fraction",
                              "compulsory_bytes",
                              "error_norm",
                              "declared_launches",
                              "declared_load_bytes",
                              "declared_store_bytes",
                              "declared_shared_bytes"}) {
        table.columns.push_back({title});
    }
    for (const auto& [name, number] : roofline.numbers_of({})) {  // the same names for every measurement
        table.columns.push_back({name});
    }
    table.columns.push_back({"bound_by"});
    const std::vector<std::string> counters = device_metrics(profile);
    for (const std::string& name : counters) {
        table.columns.push_back({name});
        table.columns.push_back({name + "_source"});
    }
    Section section;
    for (const Measurement& m : profile.measurements) {
        std::vector<std::string> parameters;
        for (const auto& [name, value] : m.parameters) {
            parameters.push_back(fmt::format("{}={}", name, value));
        }
        const std::string error = error_of(m);
        const std::vector<std::string> mismeasured = roofline.errors_of(m);
        const char* status = !m.refused.empty()          ? "refused"
                             : !m.not_run.empty()        ? "not run"
                             : !m.right()                ? "wrong"
                             : !m.contradictions.empty() ? "contradicted"
                             : !mismeasured.empty()      ? "mismeasured"
                                                         : "ok";
        std::vector<std::string> messages = m.contradictions;
        messages.insert(messages.end(), mismeasured.begin(), mismeasured.end());
        std::optional<double> seconds;
        std::optional<double> spread;
        std::optional<double> rate;
        if (!m.seconds.empty()) {
            seconds = median(m.seconds);
            spread = relative_spread(m.seconds);
            rate = static_cast<double>(m.problem.compulsory_bytes()) / *seconds / 1e9;
        }
        std::vector<Cell> row = {{m.name()},
                                 {m.variant},
                                 {name_of(m.family)},
                                 {fmt::format("{}", fmt::join(parameters, " "))},
                                 {m.tuned_from ? tuned_from_text(*m.tuned_from) : ""},
                                 {m.problem.text(' ')},
                                 {name_of(m.problem.dtype)},
                                 {name_of(m.state)},
                                 {status},
                                 {error.empty() ? fmt::format("{}", fmt::join(messages, " ")) : error},
                                 {m.timer},
                                 {fmt::format("{}", m.seconds.size())},
                                 plain_number(seconds ? std::optional(*seconds * 1e6) : seconds),
                                 plain_number(spread),
                                 plain_number(times.noise(m).value),
                                 plain_number(rate),
                                 plain_number(fractions.of(m).value),
                                 {fmt::format("{}", m.problem.compulsory_bytes())}};
        const bool compared = m.ran() && m.verification.fault.empty();
        row.push_back(plain_number(compared ? std::optional(m.verification.error_norm) : std::nullopt));
        const Declaration declaration = m.declaration.value_or(Declaration{});
        for (const std::int64_t declared :
             {declaration.launches, declaration.load_bytes, declaration.store_bytes, declaration.shared_bytes}) {
            row.push_back({m.ran() && m.declaration ? fmt::format("{}", declared) : std::string()});
        }
        for (const auto& [name, number] : roofline.numbers_of(m)) {
            row.push_back(plain_number(m.right() ? number.value : std::nullopt));
        }
        row.push_back({roofline.bound_of(m).by});
        for (const std::string& name : counters) {
            const Counter counter = counter_of(m, name);
            row.push_back(plain_number(counter.value));
            row.push_back({counter.value ? name_of(counter.source) : ""});
        }
        section.rows.push_back(std::move(row));
    }
    table.sections.push_back(std::move(section));
    return table;
}

}  // namespace qkprof
