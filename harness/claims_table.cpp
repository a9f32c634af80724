#include "claims_table.h"

#include "cells.h"
#include "claims_subjects.h"
#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

std::string place_text(const Measurement& m) {
    return fmt::format("{} {} {}", m.problem.text(' '), name_of(m.problem.dtype), name_of(m.state));
}

Style style_of(Decision decision) {
    return decision == Decision::supported ? Style::good : decision == Decision::refuted ? Style::bad : Style::plain;
}

std::string wrapped(const std::string& text, std::size_t width) {
    constexpr std::size_t indent = 4;
    return fmt::format("{}", fmt::join(lines_of(text, width, indent), "\n"));
}

// What is said of the cells of a control: those that came out the other way bite.
const char* word_of(Outcome outcome, bool control) {
    return !control || outcome == Outcome::undecided ? name_of(outcome)
           : outcome == Outcome::holds               ? "bites"
                                                     : "toothless";
}

class EvidenceTable {
  public:
    explicit EvidenceTable(std::size_t width) : width_(width) {
        table_.columns = {{"of"}, {"subject"}, {"outcome"}, {"cells", true}, {"value"}, {"99 % interval"}, {"in"}};
    }

    void add(const Verdict& verdict) {
        const Claim& claim = *verdict.claim;
        Section section;
        section.heading =
            fmt::format("{}: {}. {}", claim.id, name_of(verdict.decision), claim.statement);  // to_text() wraps it
        section.notes.push_back(
            wrapped(fmt::format("test: {}{}", text_of(claim.test), conditions(claim.test)), width_));
        if (claim.along_size) {
            for (const SeriesResult& series : verdict.evidence.series) {
                section.rows.push_back(row_of(series));
            }
        } else {
            add_rows(section, verdict.evidence, false);
        }
        for (const TestResult& control : verdict.controls) {
            add_rows(section, control, true);
            section.notes.push_back(
                wrapped(fmt::format("control: {}{}", text_of(*control.test), conditions(*control.test)), width_));
        }
        if (!claim.along_size) {
            add_failures(section, verdict.evidence);
        }
        for (const SeriesResult& series : verdict.evidence.series) {
            if (series.outcome == Outcome::fails) {
                section.notes.push_back(
                    wrapped(fmt::format("fails: {} {} {}: {}", subject_of(*series.of),
                                        name_of(series.of->problem.dtype), name_of(series.of->state), series.reason),
                            width_));
            }
        }
        for (const std::string& reason : verdict.reasons) {
            section.notes.push_back(wrapped("undecided: " + reason, width_));
        }
        section.notes.push_back(wrapped("source: " + claim.source, width_));
        table_.sections.push_back(std::move(section));
    }

    Table take() {
        wrap_last_column();
        return std::move(table_);
    }

  private:
    static std::string conditions(const Test& test) {
        const std::string where = text_of(test.where);
        return fmt::format(" for {}{}", fmt::join(test.subjects, ", "), where.empty() ? "" : ", where " + where);
    }

    // The places of problems with a long form go on in further rows.
    void wrap_last_column() {
        std::size_t others = 0;
        const std::size_t last = table_.columns.size() - 1;
        for (std::size_t i = 0; i < last; ++i) {
            std::size_t widest = width_of(table_.columns[i].title);
            for (const Section& section : table_.sections) {
                for (const std::vector<Cell>& row : section.rows) {
                    widest = std::max(widest, width_of(row[i].text));
                }
            }
            others += widest + 2;  // blanks between the columns
        }
        constexpr std::size_t narrowest = 16;
        constexpr std::size_t indent = 2;
        const std::size_t left = width_ == 0 ? 0 : others + narrowest > width_ ? narrowest : width_ - others;
        for (Section& section : table_.sections) {
            std::vector<std::vector<Cell>> rows;
            for (std::vector<Cell>& row : section.rows) {
                const std::vector<std::string> lines = lines_of(row[last].text, left, indent);
                row[last].text = lines.front();
                rows.push_back(std::move(row));
                for (std::size_t i = 1; i < lines.size(); ++i) {
                    rows.emplace_back(last + 1).back().text = lines[i];
                }
            }
            section.rows = std::move(rows);
        }
    }

    // Of each subject and outcome two rows: the least and the greatest value.
    static void add_rows(Section& section, const TestResult& result, bool control) {
        std::map<std::pair<std::string, Outcome>, std::vector<const CellResult*>> groups;
        for (const CellResult& cell : result.cells) {
            groups[{subject_of(*cell.exhibit.measurement), cell.outcome}].push_back(&cell);
        }
        for (const auto& [key, cells] : groups) {
            std::vector<const CellResult*> known;
            std::copy_if(cells.begin(), cells.end(), std::back_inserter(known),
                         [](const CellResult* cell) { return cell->value.has_value(); });
            std::stable_sort(known.begin(), known.end(), [](auto a, auto b) { return *a->value < *b->value; });
            const bool bad = key.second == Outcome::fails;
            std::vector<Cell> row = {{control ? "control" : "claim", Style::faint},
                                     {key.first},
                                     {word_of(key.second, control), bad ? Style::bad : Style::plain},
                                     {fmt::format("{}", cells.size())}};
            if (known.empty()) {
                row.insert(row.end(), {{"-", Style::faint}, {"-", Style::faint}, {}});
            } else {
                add_value(row, *known.front(), known);
            }
            section.rows.push_back(std::move(row));
            if (!known.empty() && *known.front()->value != *known.back()->value) {
                std::vector<Cell> last(4);
                add_value(last, *known.back(), known);
                section.rows.push_back(std::move(last));
            }
        }
    }

    // In which cells: of each subject, type and state the problems.
    void add_failures(Section& section, const TestResult& result) const {
        std::vector<std::pair<std::string, std::vector<std::string>>> failures;
        for (const CellResult& cell : result.cells) {
            if (cell.outcome != Outcome::fails) {
                continue;
            }
            const Measurement& m = *cell.exhibit.measurement;
            const std::string of = fmt::format("{} {} {}", subject_of(m), name_of(m.problem.dtype), name_of(m.state));
            auto known = std::find_if(failures.begin(), failures.end(), [&](const auto& f) { return f.first == of; });
            if (known == failures.end()) {
                known = failures.insert(known, {of, {}});
            }
            known->second.push_back(m.problem.text(' '));
        }
        for (const auto& [of, problems] : failures) {
            section.notes.push_back(wrapped(fmt::format("fails: {}: {}", of, fmt::join(problems, ", ")), width_));
        }
    }

    static void add_value(std::vector<Cell>& row, const CellResult& cell, const std::vector<const CellResult*>& all) {
        row.push_back({number_text(*cell.value)});
        row.push_back({cell.interval
                           ? fmt::format("{} to {}", number_text(cell.interval->low), number_text(cell.interval->high))
                           : std::string()});
        const bool everywhere = all.size() > 1 && *all.front()->value == *all.back()->value;
        row.push_back({everywhere ? "each of them" : place_text(*cell.exhibit.measurement)});
    }

    static std::vector<Cell> row_of(const SeriesResult& series) {
        const auto bytes = [](const std::optional<double>& size) { return size ? format_bytes(*size) : "-"; };
        return {{"claim", Style::faint},
                {subject_of(*series.of)},
                {name_of(series.outcome), series.outcome == Outcome::fails ? Style::bad : Style::plain},
                {"sizes"},
                {series.holds_up_to || series.fails_from
                     ? fmt::format("{} to {}", bytes(series.holds_up_to), bytes(series.fails_from))
                     : "-"},
                {series.crossing ? "at " + format_bytes(*series.crossing) : "-"},
                {fmt::format("{} {}", name_of(series.of->problem.dtype), name_of(series.of->state))}};
    }

    std::size_t width_;
    Table table_;
};

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json json_of(const CellResult& cell, bool control) {
    const Measurement& m = *cell.exhibit.measurement;
    Json json = {{"name", m.name()},
                 {"variant", m.variant},
                 {"shape", m.problem.text('/')},
                 {"dtype", name_of(m.problem.dtype)},
                 {"state", name_of(m.state)},
                 {"working_set_bytes", m.problem.working_set_bytes()},
                 {"outcome", word_of(cell.outcome, control)},
                 {"value", number_or_null(cell.value)}};
    if (cell.interval) {
        json["interval"] = {cell.interval->low, cell.interval->high};
        json["samples"] = cell.samples;
    }
    if (cell.outcome == Outcome::undecided) {
        json["reason"] = cell.reason;
        json["further_samples"] = number_or_null(cell.further);
    }
    return json;
}

Json json_of(const TestResult& result, bool control) {
    const Test& test = *result.test;
    Json json = {{"subjects", test.subjects},
                 {"measure", test.measure.text()},
                 {"relation", test.relation.text},
                 {"must_fail", test.negated},
                 {"where", text_of(test.where)}};
    for (const Outcome outcome : {Outcome::holds, Outcome::fails, Outcome::undecided}) {
        json[word_of(outcome, control)] = result.count(outcome);
    }
    json["cells"] = Json::array();
    for (const CellResult& cell : result.cells) {
        json["cells"].push_back(json_of(cell, control));
    }
    if (!result.series.empty()) {
        json["series"] = Json::array();
        for (const SeriesResult& series : result.series) {
            json["series"].push_back({{"variant", series.of->variant},
                                      {"dtype", name_of(series.of->problem.dtype)},
                                      {"state", name_of(series.of->state)},
                                      {"outcome", name_of(series.outcome)},
                                      {"reason", series.reason},
                                      {"holds_up_to_bytes", number_or_null(series.holds_up_to)},
                                      {"fails_from_bytes", number_or_null(series.fails_from)},
                                      {"crossing_bytes", number_or_null(series.crossing)}});
        }
    }
    return json;
}

}  // namespace

Table verdicts_table(const std::vector<Verdict>& verdicts) {
    Table table;
    table.columns = {{"claim"}, {"verdict"}, {"holds", true}, {"fails", true}, {"undecided", true}, {"control"}};
    Section section;
    for (const Verdict& verdict : verdicts) {
        std::vector<Cell> row = {{verdict.claim->id}, {name_of(verdict.decision), style_of(verdict.decision)}};
        const auto count = [&](Outcome outcome) {
            const std::vector<SeriesResult>& series = verdict.evidence.series;
            return verdict.claim->along_size
                       ? static_cast<std::size_t>(std::count_if(series.begin(), series.end(),
                                                                [&](const auto& s) { return s.outcome == outcome; }))
                       : verdict.evidence.count(outcome);
        };
        for (const Outcome outcome : {Outcome::holds, Outcome::fails, Outcome::undecided}) {
            row.push_back({fmt::format("{}", count(outcome)),
                           outcome == Outcome::fails && count(outcome) > 0 ? Style::bad : Style::plain});
        }
        std::size_t cells = 0;
        std::size_t biting = 0;
        for (const TestResult& control : verdict.controls) {
            cells += control.cells.size();
            biting += control.count(Outcome::holds);
        }
        row.push_back({cells == 0 ? "no evidence" : fmt::format("bites in {} of {}", biting, cells)});
        section.rows.push_back(std::move(row));
    }
    table.sections.push_back(std::move(section));
    return table;
}

Table evidence_table(const std::vector<Verdict>& verdicts, std::size_t width) {
    EvidenceTable table(width);
    for (const Verdict& verdict : verdicts) {
        table.add(verdict);
    }
    return table.take();
}

Table evidence_rows(const std::vector<Verdict>& verdicts) {
    Table table;
    for (const char* title :
         {"claim", "verdict", "part", "name", "variant", "shape", "dtype", "state", "measure", "relation", "must_fail",
          "value", "low", "high", "samples", "outcome", "reason", "further_samples"}) {
        table.columns.push_back({title});
    }
    Section section;
    for (const Verdict& verdict : verdicts) {
        const auto add = [&](const TestResult& result, bool control) {
            for (const CellResult& cell : result.cells) {
                const Measurement& m = *cell.exhibit.measurement;
                const auto plain = [](const std::optional<double>& value) {
                    return Cell{value ? fmt::format("{}", *value) : std::string()};
                };
                const auto end = [&](double Interval::*which) {
                    return plain(cell.interval ? std::optional((*cell.interval).*which) : std::nullopt);
                };
                section.rows.push_back({{verdict.claim->id},
                                        {name_of(verdict.decision)},
                                        {control ? "control" : "claim"},
                                        {m.name()},
                                        {m.variant},
                                        {m.problem.text('/')},
                                        {name_of(m.problem.dtype)},
                                        {name_of(m.state)},
                                        {result.test->measure.text()},
                                        {result.test->relation.text},
                                        {result.test->negated ? "true" : "false"},
                                        plain(cell.value),
                                        end(&Interval::low),
                                        end(&Interval::high),
                                        {cell.interval ? fmt::format("{}", cell.samples) : std::string()},
                                        {word_of(cell.outcome, control)},
                                        {cell.reason},
                                        plain(cell.further)});
            }
        };
        add(verdict.evidence, false);
        for (const TestResult& control : verdict.controls) {
            add(control, true);
        }
    }
    table.sections.push_back(std::move(section));
    return table;
}

std::string to_json(const std::vector<Verdict>& verdicts, const DeviceInfo& device) {
    Json json = {{"device", device.description}, {"confidence", confidence}, {"claims", Json::array()}};
    for (const Verdict& verdict : verdicts) {
        Json claim = {{"id", verdict.claim->id},
                      {"verdict", name_of(verdict.decision)},
                      {"statement", verdict.claim->statement},
                      {"source", verdict.claim->source},
                      {"reasons", verdict.reasons},
                      {"evidence", json_of(verdict.evidence, false)},
                      {"controls", Json::array()}};
        for (const TestResult& control : verdict.controls) {
            claim["controls"].push_back(json_of(control, true));
        }
        json["claims"].push_back(std::move(claim));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkprof
