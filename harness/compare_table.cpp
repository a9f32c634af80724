#include "compare_table.h"

#include "compare_rows.h"
#include "names.h"
#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

namespace qkprof {
namespace {

constexpr std::size_t width = 120;  // of lines on a terminal

// In the unit of the metric; counts whole.
std::string number_text(const std::string& metric, double value) {
    constexpr double longest = 1e15;
    if (metric == "real_time") {
        return format_time(value);
    }
    if (metric == "copy_fraction") {
        return fmt::format("{:.1f}%", value * 100);
    }
    if (metric == "error_norm") {
        return fmt::format("{:.1e}", value);
    }
    if (unit_of(metric) == "bytes" && value >= 0) {
        return format_bytes(value);
    }
    const bool whole = std::abs(value) < longest && value == std::round(value);
    return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

Cell value_cell(const std::string& metric, const Measurement* of, const std::optional<double>& value) {
    const bool known = metric == "result" && of != nullptr && of->ran();
    return value   ? Cell{number_text(metric, *value)}
           : known ? Cell{of->right() ? "right" : "wrong", of->right() ? Style::plain : Style::bad}
                   : Cell{"-", Style::faint};
}

// Two digits of what is small, and no more than one after the point of what is not.
std::string percent_text(double part, bool sign) {
    const double percent = part * 100;
    const double size = std::abs(percent);
    const std::string number = size >= 1000               ? fmt::format("{:.0f}", size)
                               : size >= 0.1 || size == 0 ? fmt::format("{:.1f}", size)
                                                          : fmt::format("{:.2g}", size);
    return fmt::format("{}{}%", percent < 0 ? "-" : sign && percent > 0 ? "+" : "", number);
}

std::string change_text(const Difference& cell) {
    constexpr double small = 0.001;
    const auto whole = [](const std::optional<double>& value) { return value && *value == std::round(*value); };
    const bool counts = whole(cell.base_value) && whole(cell.now_value);
    if (cell.change && (!counts || *cell.change == 0 || std::abs(*cell.change) >= small)) {
        return percent_text(*cell.change, true);
    }
    if (cell.base_value && cell.now_value) {  // from 0, or one of millions: no part of it that says something
        const double more = *cell.now_value - *cell.base_value;
        return fmt::format("{}{}", more < 0 ? "-" : "+", number_text(cell.metric, std::abs(more)));
    }
    return "-";
}

std::string interval_text(const Difference& cell) {
    if (!cell.interval) {
        return {};
    }
    std::string low = percent_text(cell.interval->low, true);
    low.pop_back();
    return fmt::format("{} to {}", low, percent_text(cell.interval->high, true));
}

// By how much NEW may differ: of a time the threshold or the noise, whichever is more. Empty where that was not asked.
std::string allowed_text(const Difference& cell) {
    const Allowance& allowance = cell.allowance;
    if (!is_judged(cell) || allowance.place.empty()) {  // of a contradiction nothing is
        return {};
    }
    if (is_time(cell)) {
        return percent_text(std::max(allowance.relative, cell.noise.value_or(0)), false);
    }
    if (cell.allowed == 0) {
        return "none";
    }
    const bool part = allowance.relative_to.empty() && cell.allowed > allowance.absolute;
    return part ? percent_text(allowance.relative, false) : number_text(cell.metric, cell.allowed);
}

Style style_of(Standing standing) {
    return standing == Standing::worse    ? Style::bad
           : standing == Standing::better ? Style::good
           : standing == Standing::same   ? Style::faint
                                          : Style::plain;
}

std::string cells_text(std::size_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }

// A name of a file may hold anything.
std::string one_line(const std::string& text) { return printable(text, std::string::npos); }

std::string place_text(const Difference& cell) { return fmt::format("{} {}", cell.base->name(), cell.metric); }

// A cell that is shown, and how many others are only counted because it stands for them: they have its reason.
struct Shown {
    const Difference* cell;
    std::size_t others = 0;
};

std::vector<Shown> shown_of(const Comparison& comparison, Standing standing, bool all) {
    constexpr std::size_t few = 3;
    std::vector<Shown> shown;
    if (undecided(standing) && !all) {
        for (const Alike& alike : by_reason(comparison, standing)) {
            const std::size_t count = alike.cells.size() > few ? 1 : alike.cells.size();
            for (std::size_t i = 0; i < count; ++i) {
                shown.push_back({alike.cells[i], count == 1 ? alike.cells.size() - 1 : 0});
            }
        }
    } else if (standing != Standing::same || all) {
        for (const Difference& cell : comparison.differences) {
            if (cell.standing == standing) {
                shown.push_back({&cell});
            }
        }
    }
    return shown;
}

// Takes all but the first `most` away, and says what they are of; empty where there are no more.
std::string shorten(std::vector<Shown>& shown, std::size_t most) {
    if (shown.size() <= most) {
        return {};
    }
    std::vector<std::pair<std::string, std::size_t>> variants;
    for (std::size_t i = most; i < shown.size(); ++i) {
        const std::string& name = shown[i].cell->base->variant;
        auto known = std::find_if(variants.begin(), variants.end(), [&](const auto& v) { return v.first == name; });
        if (known == variants.end()) {
            known = variants.insert(known, {name, 0});
        }
        ++known->second;
    }
    std::vector<std::string> texts;
    for (const auto& [name, count] : variants) {
        texts.push_back(fmt::format("{} of {}", count, name));
    }
    std::string text = fmt::format("and {} more, which --all shows: {}", shown.size() - most, joined(texts));
    shown.resize(most);
    return text;
}

// Which columns there are beyond those of every cell.
struct Further {
    Further(const std::vector<Shown>& shown, bool its_explain)
        : interval(
              std::any_of(shown.begin(), shown.end(), [](const Shown& one) { return one.cell->interval.has_value(); })),
          explain(its_explain) {}

    bool interval;  // where there are times
    bool explain;
};

std::vector<Column> number_columns(const Further& further) {
    std::vector<Column> columns = {{"measurement"}, {"metric"}, {"BASE", true}, {"NEW", true}, {"change", true}};
    if (further.interval) {
        columns.push_back({"99 % interval", true});
    }
    columns.push_back({"allowed", true});
    if (further.explain) {
        columns.insert(columns.end(), {{"noise", true}, {"found from", true}, {"rule"}});
    }
    return columns;
}

void add_numbers(std::vector<Cell>& row, const Difference& cell, const Further& further) {
    row.insert(row.end(), {{one_line(cell.base->name())},
                           {cell.metric},
                           value_cell(cell.metric, cell.base, cell.base_value),
                           value_cell(cell.metric, cell.now, cell.now_value),
                           {change_text(cell), style_of(cell.standing)}});
    if (further.interval) {
        row.push_back({interval_text(cell)});
    }
    row.push_back({allowed_text(cell)});
    if (further.explain) {
        row.push_back({cell.noise ? fmt::format("{} {}", percent_text(*cell.noise, false),
                                                cell.noise_measured ? "measured" : "assumed")
                                  : std::string()});
        row.push_back({cell.finds ? percent_text(*cell.finds, true) : std::string()});
        row.push_back({cell.allowance.place, Style::faint});
    }
}

void add_wrapped(std::vector<std::string>& notes, const std::string& text) {
    for (std::string& line : lines_of(one_line(text), width, 2)) {
        notes.push_back(std::move(line));
    }
}

// Why the cells of a section stand where they do: each reason once.
void add_reasons(Section& section, const Comparison& comparison, Standing standing) {
    const std::vector<Alike> reasons = by_reason(comparison, standing);
    for (const Alike& alike : reasons) {
        if (alike.reason.empty()) {
            continue;
        }
        const std::size_t others = alike.cells.size() - 1;
        const std::string which = reasons.size() == 1 ? others == 0 ? "" : fmt::format("all {} alike: ", others + 1)
                                  : others == 0
                                      ? place_text(*alike.cells.front()) + ": "
                                      : fmt::format("{} and {} alike: ", place_text(*alike.cells.front()), others);
        add_wrapped(section.notes, fmt::format("- {}{}", which, alike.reason));
    }
}

std::string counts_text(const Comparison& comparison) {
    std::vector<std::string> counts;
    for (const Standing standing : standings) {
        if (comparison.count(standing) > 0) {
            counts.push_back(fmt::format("{} {}", comparison.count(standing), name_of(standing)));
        }
    }
    return fmt::format("{}: {}.", cells_text(comparison.differences.size()), fmt::join(counts, ", "));
}

// "24 are missing and 3 inconclusive"
std::string undecided_text(const Comparison& comparison) {
    std::vector<std::string> counts;
    for (const Standing standing : standings) {
        const std::size_t count = comparison.count(standing);
        if (undecided(standing) && count > 0) {
            counts.push_back(
                fmt::format("{}{} {}", count, counts.empty() ? count == 1 ? " is" : " are" : "", name_of(standing)));
        }
    }
    return joined(counts);
}

bool is_wrong(const Difference& cell) { return cell.metric == "result" && cell.standing == Standing::worse; }

// Text as it is: nothing of it is markup or a tag.
std::string markdown_text(const std::string& text) {
    std::string escaped;
    for (const char c : one_line(text)) {
        escaped += std::string_view("\\`*<>[]#").find(c) == std::string_view::npos ? "" : "\\";
        escaped += c;
    }
    return escaped;
}

std::string code(std::string text) {
    std::replace(text.begin(), text.end(), '`', '\'');
    return "`" + text + "`";
}

}  // namespace

std::vector<Alike> by_reason(const Comparison& comparison, Standing standing) {
    // Without its digits: that the clocks differed is one reason, whatever they were.
    const auto kind = [](const std::string& reason) {
        std::string text;
        for (const char c : reason) {
            text += c >= '0' && c <= '9' ? "" : std::string(1, c);
        }
        return text;
    };
    std::vector<Alike> reasons;
    std::map<std::string, std::size_t, std::less<>> places;
    for (const Difference& cell : comparison.differences) {
        if (cell.standing == standing) {
            const auto [place, is_new] = places.try_emplace(kind(cell.reason), reasons.size());
            if (is_new) {
                reasons.push_back({cell.reason, {}});
            }
            reasons[place->second].cells.push_back(&cell);
        }
    }
    return reasons;
}

std::string sentence_of(const Difference& cell) {
    std::string text = fmt::format("{}: {}", cell.base->name(), cell.metric);
    if (cell.base_value && cell.now_value) {
        text += fmt::format(" {} -> {} ({}", number_text(cell.metric, *cell.base_value),
                            number_text(cell.metric, *cell.now_value), change_text(cell));
        text += cell.interval ? fmt::format(", 99 % interval {}", interval_text(cell)) : "";
        const std::string allowed = allowed_text(cell);
        text += allowed.empty() ? ")" : fmt::format(", {} allowed)", allowed);
    }
    // A wrong result says itself that it is worse.
    const bool said = cell.standing == Standing::worse && !cell.reason.empty() && !cell.base_value;
    text += said ? "" : fmt::format(": {}", name_of(cell.standing));
    return cell.reason.empty()
               ? text + "."
               : fmt::format("{}: {}.", text, cell.reason.substr(0, cell.reason.find_last_not_of('.') + 1));
}

std::string verdict_of(const Comparison& comparison, bool strict) {
    const std::size_t worse = comparison.count(Standing::worse);
    const std::string cells = cells_text(comparison.differences.size());
    switch (exit_of(comparison, strict)) {
        case Exit::wrong_result: {
            const auto wrong = std::count_if(comparison.differences.begin(), comparison.differences.end(), is_wrong);
            return fmt::format("Wrong: NEW computes {} wrong result{}; {} of {} {} worse.", wrong,
                               wrong == 1 ? "" : "s", worse, cells, worse == 1 ? "is" : "are");
        }
        case Exit::failed:
            return worse > 0 ? fmt::format("Worse: {} of {}.", worse, cells)
                             : fmt::format("Failed: of {} none is worse, but {}, which --strict does not let pass.",
                                           cells, undecided_text(comparison));
        case Exit::passed:
            return fmt::format("Passed: of {} none is worse.", cells);
        default:
            return fmt::format("Inconclusive: of {} none is worse, but {}.", cells, undecided_text(comparison));
    }
}

std::vector<std::string> notes_of(const Comparison& comparison, bool all) {
    constexpr std::size_t few = 3;
    std::vector<std::string> notes = comparison.notes;
    const std::vector<std::string>& more = comparison.only_in_new;
    if (!more.empty()) {
        const std::size_t count = all || more.size() <= few + 1 ? more.size() : few;
        std::vector<std::string> names(more.begin(), more.begin() + static_cast<std::ptrdiff_t>(count));
        if (count < more.size()) {
            names.push_back(fmt::format("{} more", more.size() - count));
        }
        notes.push_back(fmt::format(
            "{} in NEW alone, and held against nothing: {}.",
            more.size() == 1 ? "1 measurement is" : fmt::format("{} measurements are", more.size()), joined(names)));
    }
    return notes;
}

Table differences_table(const Comparison& comparison, const CompareView& view) {
    constexpr std::size_t most = 40;
    struct Part {
        Standing standing;
        std::vector<Shown> shown;
        std::string left_out;
    };
    std::vector<Part> parts;
    std::vector<Shown> all;
    for (const Standing standing : standings) {
        Part part = {standing, shown_of(comparison, standing, view.all), {}};
        if (part.shown.empty()) {
            continue;
        }
        part.left_out = view.all ? std::string() : shorten(part.shown, most);
        all.insert(all.end(), part.shown.begin(), part.shown.end());
        parts.push_back(std::move(part));
    }
    const Further further(all, view.explain);
    Table table;
    table.columns = number_columns(further);
    for (const Part& part : parts) {
        Section section;
        section.heading = fmt::format("{}: {}", name_of(part.standing), cells_text(comparison.count(part.standing)));
        for (const Shown& one : part.shown) {
            add_numbers(section.rows.emplace_back(), *one.cell, further);
        }
        if (!part.left_out.empty()) {
            add_wrapped(section.notes, part.left_out);
        }
        add_reasons(section, comparison, part.standing);
        table.sections.push_back(std::move(section));
    }
    for (const std::string& note : notes_of(comparison, view.all)) {
        add_wrapped(table.notes, note);
    }
    table.notes.push_back(counts_text(comparison));
    const std::string verdict = verdict_of(comparison, view.strict);
    const bool worse = comparison.count(Standing::worse) > 0;
    add_wrapped(table.notes, worse ? verdict + " " + sentence_of(comparison.differences.front()) : verdict);
    return table;
}

std::string to_markdown(const Comparison& comparison, const CompareView& view) {
    constexpr std::size_t folded_from = 21;
    constexpr std::size_t most = 200;  // a comment holds 65536 characters
    std::vector<Shown> shown;
    for (const Standing standing : standings) {
        const std::vector<Shown> more = shown_of(comparison, standing, view.all);
        shown.insert(shown.end(), more.begin(), more.end());
    }
    const std::string left_out = view.all ? std::string() : shorten(shown, most);
    Table table;
    table.columns = {{"verdict"}};
    const Further further(shown, view.explain);
    const std::vector<Column> numbers = number_columns(further);
    table.columns.insert(table.columns.end(), numbers.begin(), numbers.end());
    table.columns.push_back({"why"});
    Section& section = table.sections.emplace_back();
    for (const Shown& one : shown) {
        std::vector<Cell>& row = section.rows.emplace_back();
        row.push_back({name_of(one.cell->standing)});
        add_numbers(row, *one.cell, further);
        row[1].text = code(row[1].text);
        const std::string others = one.others == 0 ? "" : fmt::format("of this and {} alike: ", one.others);
        row.push_back({others + markdown_text(one.cell->reason)});
    }
    std::string verdict = verdict_of(comparison, view.strict);
    verdict.pop_back();  // the full stop
    std::string text = fmt::format("### {} (qkprof compare)\n\n{}\n", verdict, counts_text(comparison));
    if (shown.size() >= folded_from) {
        text += fmt::format("\n<details><summary>The {} rows</summary>\n\n{}\n</details>\n", shown.size(),
                            to_markdown(table));
    } else if (!shown.empty()) {
        text += fmt::format("\n{}", to_markdown(table));
    }
    std::vector<std::string> notes = notes_of(comparison, view.all);
    if (!left_out.empty()) {
        notes.insert(notes.begin(), left_out);
    }
    text += notes.empty() ? "" : "\n";
    for (const std::string& note : notes) {
        text += fmt::format("- {}\n", markdown_text(note));
    }
    return text;
}

}  // namespace qkprof
