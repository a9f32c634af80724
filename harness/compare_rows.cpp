#include "compare_rows.h"

#include "compare_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(Exit exit) {
    return exit == Exit::passed         ? "passed"
           : exit == Exit::failed       ? "failed"
           : exit == Exit::wrong_result ? "wrong result"
                                        : "inconclusive";
}

// Of a count, in its unit.
std::optional<double> allowed_count(const Difference& cell) {
    return is_judged(cell) && !is_time(cell) ? std::optional(cell.allowed) : std::nullopt;
}
// Of a time, where the noise is not more.
std::optional<double> allowed_part(const Difference& cell) {
    return is_judged(cell) && is_time(cell) ? std::optional(cell.allowance.relative) : std::nullopt;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json json_of(const Difference& cell) {
    const Measurement& m = *cell.base;
    Json json = {{"verdict", name_of(cell.standing)},
                 {"name", m.name()},
                 {"variant", m.variant},
                 {"shape", m.problem.text('/')},
                 {"dtype", name_of(m.problem.dtype)},
                 {"state", name_of(m.state)},
                 {"metric", cell.metric},
                 {"unit", unit_of(cell.metric)},
                 {"base", number_or_null(cell.base_value)},
                 {"new", number_or_null(cell.now_value)},
                 {"change", number_or_null(cell.change)},
                 {"interval", Json()},
                 {"allowed", number_or_null(allowed_count(cell))},
                 {"relative", number_or_null(allowed_part(cell))},
                 {"noise", number_or_null(cell.noise)},
                 {"noise_measured", cell.noise ? Json(cell.noise_measured) : Json()},
                 {"finds", number_or_null(cell.finds)},
                 {"rule", cell.allowance.place},
                 {"reason", cell.reason}};
    if (cell.interval) {
        json["interval"] = {cell.interval->low, cell.interval->high};
    }
    return json;
}

}  // namespace

bool is_judged(const Difference& cell) {
    return cell.base_value && cell.now_value && cell.standing != Standing::not_comparable;
}
bool is_time(const Difference& cell) { return cell.metric == "real_time" || cell.metric == "copy_fraction"; }

std::string unit_of(const std::string& metric) {
    const auto found =
        std::find_if(metrics().begin(), metrics().end(), [&](const Metric& known) { return known.name == metric; });
    return metric == "real_time" ? "seconds" : found == metrics().end() ? "" : found->unit;
}

Table difference_rows(const Comparison& comparison) {
    Table table;
    for (const char* title :
         {"verdict", "name", "variant", "shape",   "dtype",    "state", "metric",         "unit",  "base", "new",
          "change",  "low",  "high",    "allowed", "relative", "noise", "noise_measured", "finds", "rule", "reason"}) {
        table.columns.push_back({title});
    }
    const auto plain = [](const std::optional<double>& value) {
        return Cell{value ? fmt::format("{}", *value) : std::string()};
    };
    Section& section = table.sections.emplace_back();
    for (const Difference& cell : comparison.differences) {
        const Measurement& m = *cell.base;
        const auto end = [&](double Interval::*which) {
            return plain(cell.interval ? std::optional((*cell.interval).*which) : std::nullopt);
        };
        section.rows.push_back({{name_of(cell.standing)},
                                {m.name()},
                                {m.variant},
                                {m.problem.text('/')},
                                {name_of(m.problem.dtype)},
                                {name_of(m.state)},
                                {cell.metric},
                                {unit_of(cell.metric)},
                                plain(cell.base_value),
                                plain(cell.now_value),
                                plain(cell.change),
                                end(&Interval::low),
                                end(&Interval::high),
                                plain(allowed_count(cell)),
                                plain(allowed_part(cell)),
                                plain(cell.noise),
                                {!cell.noise           ? ""
                                 : cell.noise_measured ? "true"
                                                       : "false"},
                                plain(cell.finds),
                                {cell.allowance.place},
                                {cell.reason}});
    }
    return table;
}

std::string to_json(const Comparison& comparison, bool strict) {
    Json counts;
    for (const Standing standing : standings) {
        counts[name_of(standing)] = comparison.count(standing);
    }
    Json json = {{"verdict", word_of(exit_of(comparison, strict))},
                 {"sentence", verdict_of(comparison, strict)},
                 {"strict", strict},
                 {"confidence", confidence},
                 {"counts", counts},
                 {"notes", comparison.notes},
                 {"only_in_new", comparison.only_in_new},
                 {"cells", Json::array()}};
    for (const Difference& cell : comparison.differences) {
        json["cells"].push_back(json_of(cell));
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkprof
