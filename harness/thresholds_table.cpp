#include "thresholds_table.h"

#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace qkprof {
namespace {

std::string percent_text(double part) { return fmt::format("{:.3g}%", part * 100); }

template <class E>
std::vector<std::string> names_of(const std::vector<E>& values) {
    std::vector<std::string> names;
    std::transform(values.begin(), values.end(), std::back_inserter(names), [](E value) { return name_of(value); });
    return names;
}

// What it is about beside the metrics: "counted, warm".
std::string of_text(const Threshold& t) {
    std::vector<std::string> words = t.variants;
    for (const std::vector<std::string>& more : {names_of(t.dtypes), names_of(t.states), names_of(t.sources)}) {
        words.insert(words.end(), more.begin(), more.end());
    }
    return words.empty() ? "all" : fmt::format("{}", fmt::join(words, ", "));
}

std::string absolute_text(const Threshold& t) {
    const bool bytes = std::all_of(t.metrics.begin(), t.metrics.end(),
                                   [](const std::string& metric) { return metric.ends_with("_bytes"); });
    return bytes ? format_bytes(*t.absolute) : fmt::format("{}", *t.absolute);
}

std::string allowed_text(const Threshold& t) {
    if (!t.compared.value_or(true)) {
        return "not compared";
    }
    if (t.relative == 0 && t.absolute == 0) {
        return "none";
    }
    std::vector<std::string> texts;
    if (t.relative) {
        texts.push_back(percent_text(*t.relative) + (t.relative_to ? " of " + *t.relative_to : ""));
    }
    if (t.absolute && (*t.absolute > 0 || !t.relative)) {
        texts.push_back(absolute_text(t));
    }
    return texts.empty() ? "as above" : fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

Table thresholds_table(const Thresholds& thresholds, std::size_t width) {
    Table table;
    table.columns = {{"metrics"}, {"of"}, {"allowed"}, {"noise", true}, {"from"}};
    Section& section = table.sections.emplace_back();
    for (const Threshold& t : thresholds.entries()) {
        const std::array parts = {fmt::format("{}", fmt::join(t.metrics, ", ")), of_text(t), allowed_text(t)};
        const std::size_t first = section.rows.size();
        for (std::size_t column = 0; column < parts.size(); ++column) {
            const std::vector<std::string> lines = lines_of(parts.at(column), width, 2);
            section.rows.resize(std::max(section.rows.size(), first + lines.size()),
                                std::vector<Cell>(table.columns.size()));
            for (std::size_t i = 0; i < lines.size(); ++i) {
                section.rows[first + i][column].text = lines[i];
            }
        }
        section.rows[first][3].text = t.noise_without_aa ? percent_text(*t.noise_without_aa) : "";
        section.rows[first][4] = {t.place, Style::faint};
    }
    table.notes = {
        "Of two entries about the same the later one holds, in what it says. Of two numbers the larger is allowed; of "
        "a",
        "time never less than the noise between runs. noise: what is taken for it where it was not measured (run "
        "--aa)."};
    return table;
}

Table threshold_rows(const Thresholds& thresholds) {
    Table table;
    for (const char* title : {"metrics", "variants", "dtypes", "states", "sources", "compared", "relative",
                              "relative_to", "absolute", "noise_without_aa", "place"}) {
        table.columns.push_back({title});
    }
    const auto plain = [](const std::optional<double>& value) {
        return Cell{value ? fmt::format("{}", *value) : std::string()};
    };
    const auto list = [](const std::vector<std::string>& words) {
        return Cell{fmt::format("{}", fmt::join(words, " "))};
    };
    Section& section = table.sections.emplace_back();
    for (const Threshold& t : thresholds.entries()) {
        section.rows.push_back({list(t.metrics),
                                list(t.variants),
                                list(names_of(t.dtypes)),
                                list(names_of(t.states)),
                                list(names_of(t.sources)),
                                {t.compared ? fmt::format("{}", *t.compared) : std::string()},
                                plain(t.relative),
                                {t.relative_to.value_or("")},
                                plain(t.absolute),
                                plain(t.noise_without_aa),
                                {t.place}});
    }
    return table;
}

}  // namespace qkprof
