#include "cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qkprof {

std::string variant_text(const Measurement& measurement) {
    std::string text = measurement.variant;
    for (const auto& [name, value] : measurement.non_standard) {
        text += fmt::format(" {}={}", name, value);
    }
    return measurement.family == Family::ceiling ? text + " (ceiling)" : text;
}

std::string form_text(const Problem& problem) {
    std::string text;
    for (const char letter : problem.text('/').substr(problem.shape_text().size())) {
        text += letter == '/' ? ", " : letter == ':' ? " " : std::string(1, letter);
    }
    return text;
}

std::vector<std::vector<const Measurement*>> by_problem(const std::vector<Measurement>& measurements) {
    std::vector<std::vector<const Measurement*>> groups;
    for (const Measurement& m : measurements) {
        if (groups.empty() || groups.back().front()->problem != m.problem) {
            groups.emplace_back();
        }
        groups.back().push_back(&m);
    }
    for (auto& group : groups) {
        std::stable_sort(group.begin(), group.end(),
                         [](const Measurement* a, const Measurement* b) { return a->state < b->state; });
    }
    return groups;
}

Cell Reasons::unknown_cell(const std::string& column, const std::string& reason) {
    auto known = std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& r) { return r.first == reason; });
    if (known == reasons_.end()) {
        known = reasons_.insert(known, {reason, {}});
    }
    std::vector<std::string>& columns = known->second;
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
    }
    return {"-", Style::faint};
}

std::vector<std::string> Reasons::notes() const {
    std::vector<std::string> notes;
    for (const auto& [reason, columns] : reasons_) {
        notes.push_back(fmt::format("- {}: {}", fmt::join(columns, ", "), reason));
    }
    return notes;
}

}  // namespace qkprof
