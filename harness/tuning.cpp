#include "tuning.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace qkprof {
namespace {

using Entries = std::vector<TuningEntry>;

constexpr const char* no_table =
    "no table says how it is tuned: measure one with `qkprof tune`, or give its parameters with --sweep";

// Null where no table has any of the variant.
const TuningTable* table_for(std::string_view device, const std::string& variant,
                             const std::vector<TuningTable>& tables) {
    const auto has_entries = [&](const TuningTable& table) {
        const auto found = table.entries.find(variant);
        return found != table.entries.end() && !found->second.empty();
    };
    auto found = std::find_if(tables.begin(), tables.end(),
                              [&](const TuningTable& table) { return table.device == device && has_entries(table); });
    if (found == tables.end()) {
        found = std::find_if(tables.begin(), tables.end(), has_entries);
    }
    return found == tables.end() ? nullptr : &*found;
}

// How far apart two numbers are, by their ratio; an empty problem's bytes count as one.
double ratio(std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a, 1))) -
                    std::log2(static_cast<double>(std::max<std::int64_t>(b, 1))));
}

auto distance(const Problem& a, const Problem& b) {
    return std::tuple(!is_tuned_alike(a, b), ratio(a.element_bytes(), b.element_bytes()), a.is_plain() != b.is_plain(),
                      ratio(a.head_dim, b.head_dim), (a.key_heads > 0) != (b.key_heads > 0), a.in_place != b.in_place,
                      ratio(a.compulsory_bytes(), b.compulsory_bytes()));
}

// Those that are for no other given parameters than these; the nearest first, of one problem those for most of them.
std::vector<const TuningEntry*> by_distance(const Entries& entries, const Problem& problem, const Parameters& given) {
    std::vector<std::pair<decltype(distance(problem, problem)), const TuningEntry*>> all;
    for (const TuningEntry& entry : entries) {
        const auto is_given = [&](const std::string& name) {
            const auto found = given.find(name);
            return found != given.end() && found->second == entry.parameters.at(name);
        };
        if (!std::all_of(entry.given.begin(), entry.given.end(), is_given)) {
            continue;
        }
        all.emplace_back(distance(entry.problem, problem), &entry);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first, b.second->given.size()) < std::pair(b.first, a.second->given.size());
    });
    std::vector<const TuningEntry*> sorted(all.size());
    std::transform(all.begin(), all.end(), sorted.begin(), [](const auto& item) { return item.second; });
    return sorted;
}

}  // namespace

bool is_tuned_alike(const Problem& a, const Problem& b) {
    Problem same = b;
    same.seed = a.seed;
    same.values = a.values;
    same.eps = a.eps;
    same.rotary_base = a.rotary_base;
    return a == same;
}

bool is_tuned_alike(const TuningEntry& a, const TuningEntry& b) {
    return is_tuned_alike(a.problem, b.problem) && a.given == b.given &&
           std::all_of(a.given.begin(), a.given.end(),
                       [&](const std::string& name) { return a.parameters.at(name) == b.parameters.at(name); });
}

std::string tuning_text(const Problem& problem) { return problem.text(' ') + ' ' + name_of(problem.dtype); }

Resolved resolve(const Variant& variant, const Parameters& parameters, const Problem& problem, const Limits& limits,
                 std::string_view device, const std::vector<TuningTable>& tables) {
    Resolved result = {
        .request = {.problem = problem, .parameters = parameters, .limits = limits}, .tuned_from = {}, .refusal = {}};
    std::vector<std::string> open;
    for (const auto& [name, value] : parameters) {
        if (value == as_tuned) {
            open.push_back(name);
        }
    }
    if (open.empty()) {
        result.refusal = variant.refusal(result.request);
        return result;
    }
    const TuningTable* table = table_for(device, variant.name, tables);
    if (table == nullptr) {
        std::erase_if(result.request.parameters, [](const auto& parameter) { return parameter.second == as_tuned; });
        result.refusal = no_table;
        return result;
    }
    std::optional<Resolved> first;
    for (const TuningEntry* entry : by_distance(table->entries.find(variant.name)->second, problem, parameters)) {
        for (const std::string& name : open) {
            result.request.parameters[name] = entry->parameters.at(name);
        }
        result.tuned_from = {.device = table->device,
                             .problem = tuning_text(entry->problem),
                             .own = is_tuned_alike(entry->problem, problem),
                             .parameters = open};
        result.refusal = variant.refusal(result.request);
        if (result.refusal.empty()) {
            return result;
        }
        first = first ? first : result;
    }
    if (!first) {  // every entry is for parameters that are not given
        std::erase_if(result.request.parameters, [](const auto& parameter) { return parameter.second == as_tuned; });
        result.refusal = no_table;
        return result;
    }
    if (!first->tuned_from->parameters.empty()) {
        std::string values;
        for (const std::string& name : first->tuned_from->parameters) {
            values += (values.empty() ? "" : ", ") + name + ' ' + std::to_string(first->request.parameters.at(name));
        }
        first->refusal +=
            " (with " + values + ", as tuned for " + first->tuned_from->problem + "; --sweep gives other values)";
    }
    return *first;
}

}  // namespace qkprof
