#include "promise_table.h"

#include "error.h"
#include "opcodes.h"
#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace qkprof::hlo {
namespace {

constexpr std::size_t width = 120;  // of lines on a terminal
constexpr std::size_t longest_name = 100;

std::string one_line(const std::string& text) { return printable(text, longest_name); }

std::string size_text(std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::string bytes_text(const Row& row) {
    if (row.verdict.kind == Class::nothing || row.verdict.kind == Class::control) {
        return "";
    }
    const auto bytes = row.traffic.total();
    return bytes ? size_text(*bytes) : "-";
}

bool is_shown(const Row& row) { return row.verdict.kind != Class::nothing; }

std::string number_text(double value) {
    return value == std::round(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

Cell observed_cell(const Row& row, const Observation& observation) {
    if (!observation.kernels) {
        const bool launches = row.verdict.kind != Class::control && !row.kernels().none();
        return {launches ? "-" : "", Style::faint};
    }
    if (row.kernels().none() && *observation.kernels == 0) {
        return {"0"};
    }
    return {number_text(*observation.kernels), row.kernels().holds(*observation.kernels) ? Style::good : Style::bad};
}

std::vector<Cell> cells_of(const Row& row, const Observation* observation) {
    const bool launches = row.verdict.kind != Class::control || !row.kernels().none();
    std::vector<Cell> cells = {{std::string(2 * row.depth, ' ') + one_line(row.instruction->name)},
                               {one_line(row.verdict.what), row.verdict.blocked ? Style::bad : Style::plain},
                               {launches ? text_of(row.kernels()) : ""}};
    if (observation != nullptr) {
        cells.push_back(observed_cell(row, *observation));
    }
    cells.push_back({row.transfers().none() ? "" : text_of(row.transfers())});
    cells.push_back({bytes_text(row)});
    cells.push_back({detail_of(row), Style::faint});
    return cells;
}

// "1 kernel", "at least 1 kernel", "2 kernels", "no kernel", "an unknown number of kernels".
std::string amount(const Count& count, const std::string& one, const std::string& many) {
    if (count.none()) {
        return "no " + one;
    }
    if (count == unknown_times || count.beyond()) {
        return fmt::format("{} {}", count.beyond() ? "more than can be counted," : "an unknown number of", many);
    }
    return fmt::format("{} {}", text_of(count), count.least == 1 && (count.exact() || !count.most) ? one : many);
}

std::string plural(std::size_t count, const std::string& one, const std::string& many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

void add_lines(std::vector<std::string>& notes, const std::string& text) {
    for (std::string& line : lines_of(text, width, 2)) {
        notes.push_back(std::move(line));
    }
}

std::string nothing_text(const Promise& promise) {
    std::map<std::string, std::size_t> counts;
    for (const Row& row : promise.rows) {
        if (!is_shown(row)) {
            ++counts[row.verdict.what];
        }
    }
    std::vector<std::string> parts;
    for (const auto& [what, count] : counts) {
        parts.push_back(fmt::format("{} {}", count, what));
    }
    return counts.empty() ? "" : fmt::format("Nothing is launched for {}.", fmt::join(parts, ", "));
}

std::string total_text(const Promise& promise) {
    struct Part {
        Class kind;
        const char* one;
        const char* many;
    };
    constexpr Part parts[] = {{Class::fusion, "fusion", "fusions"},
                              {Class::custom_call, "custom call", "custom calls"},
                              {Class::library, "library call", "library calls"},
                              {Class::unfused, "operation outside of fusions", "operations outside of fusions"},
                              {Class::collective, "collective", "collectives"},
                              {Class::transfer, "transfer", "transfers"}};
    const bool of_cpu = promise.platform == Platform::cpu;
    std::vector<std::string> texts;
    for (const Part& part : parts) {
        const ClassTotal& total = promise.classes.at(part.kind);
        if (total.instructions > 0) {
            const bool transfer = part.kind == Class::transfer;
            const Count& count = transfer ? total.transfers : total.kernels;
            texts.push_back(fmt::format("{}: {}", plural(total.instructions, part.one, part.many),
                                        transfer ? amount(count, "copy or fill", "copies or fills")
                                        : of_cpu ? amount(count, "call", "calls")
                                                 : amount(count, "kernel", "kernels")));
        }
    }
    if (texts.empty()) {
        return nothing_text(promise).empty() ? "Nothing is launched." : "";  // else it is said already
    }
    return fmt::format("{}.", fmt::join(texts, "; "));
}

std::string promise_text(const Promise& promise) {
    const bool of_cpu = promise.platform == Platform::cpu;
    const char* each = promise.module->partitions() * promise.module->replicas() > 1 ? " on each device" : "";
    const char* unit = of_cpu ? "call" : "kernel";
    const auto units = [&](std::uint64_t count) { return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s"); };
    const Count& count = promise.kernels;
    if (count.none()) {
        return fmt::format("Promises no {}{}.", unit, each);
    }
    if (count.beyond()) {
        return fmt::format("Promises more {}s{} an execution than can be counted.", unit, each);
    }
    if (count.exact()) {
        return fmt::format("Promises exactly {}{} an execution.", units(count.least), each);
    }
    if (count.least == 0) {
        return count.most
                   ? fmt::format("Promises at most {}{} an execution, and perhaps none.", units(*count.most), each)
                   : fmt::format("Promises any number of {}s{} an execution: it is not known.", unit, each);
    }
    return fmt::format("Promises at least {}{} an execution, and at most {}.", units(count.least), each,
                       count.most ? fmt::format("{}", *count.most) : "an unknown number");
}

std::string bytes_text(const Promise& promise) {
    const auto text = [](std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
    const auto range = [&](const std::string& least, const std::string& most) {
        return least == most ? least : fmt::format("{} to {}", least, most);
    };
    std::string moved = promise.bytes.beyond()  ? "more bytes than can be counted"
                        : promise.bytes.exact() ? text(promise.bytes.least)
                        : promise.bytes.most    ? range(text(promise.bytes.least), text(*promise.bytes.most))
                                                : fmt::format("at least {}", text(promise.bytes.least));
    if (!promise.bytes_complete) {
        moved += " and what has no known size";
    }
    const std::string ideal = promise.ideal_bytes ? size_text(*promise.ideal_bytes) : "an unknown number of bytes";
    return fmt::format("By its shapes it moves {}; a single fusion of it all would move {}.", moved, ideal);
}

std::string intermediates_text(const Promise& promise) {
    constexpr std::size_t few = 5;
    std::vector<std::string> parts;
    for (const Intermediate& value : promise.intermediates) {
        if (parts.size() == few) {
            parts.push_back(fmt::format("and {} more", promise.intermediates.size() - few));
            break;
        }
        parts.push_back(fmt::format(
            "{} {}{}", one_line(value.row->instruction->name), size_text(value.bytes),
            value.row->executions == once ? "" : fmt::format(" (executions: {})", text_of(value.row->executions))));
    }
    return parts.empty() ? "" : fmt::format("Between instructions, through memory: {}.", fmt::join(parts, ", "));
}

std::string blocked_text(const Promise& promise) {
    std::vector<std::string> names;
    for (const Row& row : promise.rows) {
        if (row.verdict.blocked) {
            names.push_back(fmt::format("{} ({})", one_line(row.instruction->name),
                                        row.verdict.kind == Class::fusion
                                            ? row.verdict.fusion->operations.begin()->first + " alone"
                                            : row.verdict.what));
        }
    }
    constexpr std::size_t few = 12;
    if (names.size() > few) {
        const std::size_t more = names.size() - few;
        names.resize(few);
        names.push_back(fmt::format("and {} more", more));
    }
    return names.empty() ? "" : fmt::format("Fusion was blocked at: {}.", fmt::join(names, ", "));
}

std::vector<std::string> sentences_of(const Observed& observed) {
    if (!observed.of_others.empty()) {
        return {others_sentence(observed)};
    }
    if (observed.nothing_joined()) {
        return {"Nothing that ran could be joined with an instruction."};
    }
    std::vector<std::string> all;
    const auto number = [](double value, const char* unit) {
        return fmt::format("{} {}{}", number_text(value), unit, value == 1 ? "" : "s");
    };
    all.push_back(fmt::format("Ran: {} ({}), {} each{}.", number(observed.executions, "execution"), observed.how,
                              number(observed.kernels, "kernel"),
                              observed.scoped ? "" : ", of the whole profile: other modules' among them"));
    constexpr std::size_t few = 8;
    std::vector<std::string> strays;
    for (const Stray& stray : observed.strays) {
        if (strays.size() < few) {
            strays.push_back(fmt::format("{} {}", one_line(stray.name), number_text(stray.launches)));
        }
    }
    if (!strays.empty() && !observed.strays_of.empty()) {
        all.push_back(fmt::format("Of one of {}, not told apart: {}{}.", observed.strays_of, fmt::join(strays, ", "),
                                  observed.strays.size() > few ? ", and more" : ""));
    }
    all.insert(all.end(), observed.differences.begin(), observed.differences.end());
    if (observed.differences.empty()) {
        all.emplace_back(observed.doubts.empty()
                             ? "What could be joined ran as promised."
                             : "What is recorded of it ran as promised, but the profile may hold less than ran.");
    }
    return all;
}

std::vector<std::string> notes_of(const Promise& promise) {
    std::vector<std::string> notes;
    for (const std::string& text : {nothing_text(promise), total_text(promise), promise_text(promise),
                                    bytes_text(promise), intermediates_text(promise), blocked_text(promise)}) {
        if (!text.empty()) {
            add_lines(notes, text);
        }
    }
    const auto scheduled = promise.module->attributes.find("is_scheduled");
    if (!promise.module->is_excerpt && scheduled == promise.module->attributes.end()) {
        add_lines(notes,
                  "The text is not scheduled: it is no optimised HLO, and what XLA makes of it launches something "
                  "else.");
    }
    if (promise.platform == Platform::cpu) {
        add_lines(notes, "It was compiled for a CPU: a fusion is a call of a function and launches nothing on a GPU.");
    }
    return notes;
}

std::string whole_text(const std::optional<std::uint64_t>& value) { return value ? fmt::format("{}", *value) : ""; }

}  // namespace

std::string name_of(const Row& row) {
    return row.path.empty() ? row.instruction->name : fmt::format("{} ({})", row.instruction->name, row.path);
}

std::string others_sentence(const Observed& observed) {
    std::vector<std::string> names;
    constexpr std::size_t few = 8;
    for (const std::string& name : observed.of_others) {
        if (names.size() == few) {
            names.push_back(fmt::format("and {} more", observed.of_others.size() - few));
            break;
        }
        names.push_back(one_line(name));
    }
    return fmt::format("The profile has XLA's ranges of the {} {} alone: nothing that ran is this module's.",
                       observed.of_others.size() == 1 ? "module" : "modules", fmt::join(names, ", "));
}

std::string detail_of(const Row& row) {
    std::vector<std::string> parts;
    const Verdict& verdict = row.verdict;
    if (verdict.kind == Class::custom_call || verdict.kind == Class::library) {
        const std::string target = row.instruction->text("custom_call_target");
        if (!target.empty()) {
            parts.push_back(one_line(target));
        }
    }
    if (verdict.fusion) {
        const std::string config = config_text(*verdict.fusion);
        if (!config.empty()) {
            parts.push_back(one_line(config));
        }
        parts.push_back(verdict.fusion->body_known
                            ? plural(verdict.fusion->operation_count(), "operation", "operations")
                            : std::string("its body is not in the excerpt"));
    }
    if (verdict.kind == Class::collective) {
        std::int64_t bytes = 0;
        for (const Shape* result : results_of(*row.instruction)) {
            bytes += bytes_of(*result).value_or(0);
        }
        parts.push_back(fmt::format("yields {}", size_text(bytes)));
        for (const char* key : {"replica_groups", "source_target_pairs"}) {
            const std::string_view groups = row.instruction->attribute(key);
            if (!groups.empty()) {
                parts.push_back(one_line(
                    fmt::format("{} {}", key == std::string_view("replica_groups") ? "groups" : "pairs", groups)));
            }
        }
    }
    if (!verdict.reason.empty()) {
        parts.push_back(verdict.reason);
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string heading_of(const Promise& promise) {
    const Module& module = *promise.module;
    std::string text = module.is_excerpt ? fmt::format("An excerpt, {}", one_line(module.entry_computation().name))
                                         : one_line(module.name);
    text += promise.platform == Platform::gpu   ? ", compiled for a GPU"
            : promise.platform == Platform::cpu ? ", compiled for a CPU"
                                                : "";
    if (module.partitions() > 1 || module.replicas() > 1) {
        text += fmt::format(", {} partitions", module.partitions());
        text += module.replicas() > 1 ? fmt::format(", {} replicas", module.replicas()) : "";
    }
    return text;
}

Table promise_table(const Promise& promise, const Observed* observed, const std::vector<std::string>& more) {
    Table table;
    table.columns = {{"instruction"}, {"what"}, {promise.platform == Platform::cpu ? "calls" : "launches", true}};
    if (observed != nullptr) {
        table.columns.push_back({"ran", true});
    }
    table.columns.insert(table.columns.end(), {{"copies", true}, {"moves", true}, {"detail"}});
    Section section;
    section.heading = heading_of(promise);
    for (std::size_t i = 0; i < promise.rows.size(); ++i) {
        if (is_shown(promise.rows[i])) {
            section.rows.push_back(cells_of(promise.rows[i], observed != nullptr ? &observed->rows[i] : nullptr));
        }
    }
    section.notes = notes_of(promise);
    for (const std::string& sentence : observed != nullptr ? sentences_of(*observed) : std::vector<std::string>()) {
        add_lines(section.notes, sentence);
    }
    for (const std::string& sentence : more) {
        add_lines(section.notes, sentence);
    }
    table.sections.push_back(std::move(section));
    return table;
}

Table promise_rows(const Promise& promise, const Observed* observed) {
    Table table;
    table.columns = {{"instruction"},       {"within"},          {"opcode"},        {"class"},
                     {"least_executions"},  {"most_executions"}, {"least_kernels"}, {"most_kernels"},
                     {"least_transfers"},   {"most_transfers"},  {"read_bytes"},    {"written_bytes"},
                     {"fusion_operations"}, {"detail"}};
    Section section;
    for (const Row& row : promise.rows) {
        const auto bytes = [&](const std::optional<std::int64_t>& value) {
            const bool moves = row.verdict.kind != Class::nothing && row.verdict.kind != Class::control;
            return moves && value ? fmt::format("{}", *value) : std::string();
        };
        section.rows.push_back({{row.instruction->name},
                                {row.path},
                                {row.instruction->opcode},
                                {name_of(row.verdict.kind)},
                                {fmt::format("{}", row.executions.least)},
                                {whole_text(row.executions.most)},
                                {fmt::format("{}", row.kernels().least)},
                                {whole_text(row.kernels().most)},
                                {fmt::format("{}", row.transfers().least)},
                                {whole_text(row.transfers().most)},
                                {bytes(row.traffic.read())},
                                {bytes(row.traffic.written)},
                                {row.verdict.fusion && row.verdict.fusion->body_known
                                     ? fmt::format("{}", row.verdict.fusion->operation_count())
                                     : ""},
                                {detail_of(row)}});
    }
    if (observed != nullptr) {
        table.columns.push_back({"observed_kernels"});
        for (std::size_t i = 0; i < section.rows.size(); ++i) {
            const auto& kernels = observed->rows[i].kernels;
            section.rows[i].push_back({kernels ? fmt::format("{}", *kernels) : ""});
        }
    }
    table.sections.push_back(std::move(section));
    return table;
}

}  // namespace qkprof::hlo
