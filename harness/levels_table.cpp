// The table of `qkprof run --levels`: what each variant moved at each level of memory, and what bounds it.
#include "cells.h"
#include "results.h"
#include "roofline.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {
namespace {

class LevelsTable {
  public:
    explicit LevelsTable(const Profile& profile) : profile_(profile), roofline_(profile) {}

    Table build() {
        table_.columns = {{"variant"}, {"state"}};
        for (const Level level : levels) {
            table_.columns.push_back({name_of(level), true});
        }
        table_.columns.push_back({"bound by"});
        table_.columns.push_back({"of bound", true});
        for (const auto& group : by_problem(profile_.measurements)) {
            add_section(group);
        }
        table_.notes = reasons_.notes();
        if (modelled_) {
            table_.notes.emplace_back("~ modelled, not counted");
        }
        table_.notes.emplace_back("x: times the bytes that the operation must move there; bytes where it need not");
        add_ceiling("DRAM", roofline_.dram());
        add_ceiling("L2", roofline_.l2());
        return std::move(table_);
    }

  private:
    void add_section(const std::vector<const Measurement*>& group) {
        const Problem& p = group.front()->problem;
        Section section;
        section.heading = fmt::format("{} {} against the floor{}", p.shape_text(), name_of(p.dtype), form_text(p));
        for (const Measurement* m : group) {
            if (m->right()) {  // the table of results has the others
                section.rows.push_back(row_of(*m));
            }
        }
        if (!section.rows.empty()) {
            table_.sections.push_back(std::move(section));
        }
    }

    std::vector<Cell> row_of(const Measurement& m) {
        std::vector<Cell> row = {{variant_text(m), m.family == Family::ceiling ? Style::faint : Style::plain},
                                 {name_of(m.state)}};
        for (const Level level : levels) {
            row.push_back(traffic_cell(name_of(level), roofline_.traffic(m, level)));
        }
        const Bound bound = roofline_.bound_of(m);
        if (!bound.fraction.value) {
            row.push_back(reasons_.unknown_cell("bound by", bound.fraction.reason));
            row.push_back(reasons_.unknown_cell("of bound", bound.fraction.reason));
            return row;
        }
        row.push_back({bound.by});
        row.push_back({fmt::format("{:.1f}%", *bound.fraction.value * 100),
                       roofline_.errors_of(m).empty() ? Style::plain : Style::bad});
        return row;
    }

    Cell traffic_cell(const char* column, const Traffic& traffic) {
        if (!traffic.bytes.value) {
            return reasons_.unknown_cell(column, traffic.bytes.reason);
        }
        const bool modelled = traffic.bytes.source == Source::modelled;
        modelled_ = modelled_ || modelled;
        const Counter ratio = traffic.ratio();
        return {fmt::format("{}{}", modelled ? "~" : "",
                            ratio.value ? fmt::format("{:.2f}x", *ratio.value) : format_bytes(*traffic.bytes.value))};
    }

    void add_ceiling(const char* level, const Ceiling& ceiling) {
        if (ceiling.rate) {
            table_.notes.push_back(
                fmt::format("ceiling of the {}: {:.0f} GB/s ({})", level, *ceiling.rate / 1e9, ceiling.source));
        }
    }

    const Profile& profile_;
    Roofline roofline_;
    Reasons reasons_;
    Table table_;
    bool modelled_ = false;
};

}  // namespace

Table levels_table(const Profile& profile) { return LevelsTable(profile).build(); }

}  // namespace qkprof
