#include "tune_table.h"

#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qkprof {
namespace {

Cell unknown(bool plain) { return {plain ? "" : "-", Style::faint}; }

std::string wrong_note(const TuneResult& result) {
    constexpr std::size_t shown = 3;
    std::vector<std::string> sentences(result.wrong.begin(),
                                       result.wrong.begin() + std::min(shown, result.wrong.size()));
    if (result.wrong.size() > shown) {
        sentences.push_back(fmt::format("So are {} more.", result.wrong.size() - shown));
    }
    return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace

std::vector<Column> tuning_columns(bool plain) {
    return {{"problem"},
            {"parameters"},
            {plain ? "time_us" : "time", true},
            {plain ? "copy_us" : "copy", true},
            {plain ? "copy_fraction" : "of copy", true}};
}

std::vector<Cell> tuning_cells(const TuningEntry& entry, bool plain) {
    std::vector<std::string> parameters;
    for (const auto& [name, value] : entry.parameters) {
        const bool given = std::find(entry.given.begin(), entry.given.end(), name) != entry.given.end();
        parameters.push_back(fmt::format("{}={}{}", name, value, given ? " (given)" : ""));
    }
    const auto time = [&](const std::optional<double>& seconds) {
        return !seconds ? unknown(plain) : Cell{plain ? fmt::format("{:.3f}", *seconds * 1e6) : format_time(*seconds)};
    };
    Cell fraction = unknown(plain);
    if (entry.seconds && entry.copy_seconds) {
        const double of_copy = *entry.copy_seconds / *entry.seconds;
        fraction = {plain ? fmt::format("{:.4f}", of_copy) : fmt::format("{:.1f}%", of_copy * 100)};
    }
    return {{tuning_text(entry.problem)},
            {fmt::format("{}", fmt::join(parameters, " "))},
            time(entry.seconds),
            time(entry.copy_seconds),
            fraction};
}

Table tune_table(const std::vector<TuneResult>& results, bool plain) {
    Table table;
    table.columns = {{"variant"}};
    const std::vector<Column> of_entry = tuning_columns(plain);
    table.columns.insert(table.columns.end(), of_entry.begin(), of_entry.end());
    table.columns.push_back({plain ? "second_best" : "second best", true});
    table.columns.push_back({"tried", true});
    table.columns.push_back({"combinations", true});
    Section section;
    for (const TuneResult& result : results) {
        std::vector<Cell> row = {{result.variant->name, result.winner ? Style::plain : Style::bad}};
        const TuningEntry none = {.problem = result.problem, .parameters = {}, .seconds = {}, .copy_seconds = {}};
        for (Cell& cell : tuning_cells(result.winner.value_or(none), plain)) {
            row.push_back(std::move(cell));
        }
        row.push_back(!result.second_best ? unknown(plain)
                      : plain             ? Cell{fmt::format("{:.4f}", *result.second_best)}
                                          : Cell{fmt::format("{:+.1f}%", *result.second_best * 100)});
        row.push_back({fmt::format("{}", result.tried)});
        row.push_back({fmt::format("{}", result.combinations)});
        section.rows.push_back(std::move(row));
        const std::string& why = result.refused.empty() ? result.failure : result.refused;
        if (!result.winner) {
            section.notes.push_back(fmt::format("{} on {}: {}{}", result.variant->name, tuning_text(result.problem),
                                                result.refused.empty() ? "" : "refused: ", why));
        }
        if (!result.wrong.empty()) {
            section.notes.push_back(wrong_note(result));
        }
    }
    table.sections.push_back(std::move(section));
    return table;
}

}  // namespace qkprof
