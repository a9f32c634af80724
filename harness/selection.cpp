#include "selection.h"

#include "error.h"
#include "names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

namespace qkprof {
namespace {

std::vector<const Variant*> chosen_by(const std::vector<Variant>& all, const std::vector<std::string>& globs) {
    std::vector<std::string> names(all.size());
    std::transform(all.begin(), all.end(), names.begin(), [](const Variant& variant) { return variant.name; });
    std::vector<bool> chosen(all.size(), false);
    for (const std::string& glob : globs) {
        bool any = false;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (matches_glob(glob, names[i])) {
                chosen[i] = true;
                any = true;
            }
        }
        if (!any) {
            throw InputError(fmt::format("There is no variant '{}'.{}", glob, suggestion(glob, names)));
        }
    }
    std::vector<const Variant*> variants;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (chosen[i]) {
            variants.push_back(&all[i]);
        }
    }
    return variants;
}

const Parameter* parameter_of(const Variant& variant, const std::string& name) {
    const auto found = std::find_if(variant.parameters.begin(), variant.parameters.end(),
                                    [&](const Parameter& parameter) { return parameter.name == name; });
    return found == variant.parameters.end() ? nullptr : &*found;
}

void check_sweep(const std::vector<const Variant*>& variants, const Sweep& sweep) {
    bool any = false;
    std::set<std::string> known;
    for (const Variant* variant : variants) {
        for (const Parameter& parameter : variant->parameters) {
            known.insert(parameter.name);
        }
        const Parameter* parameter = parameter_of(*variant, sweep.parameter);
        if (parameter == nullptr) {
            continue;
        }
        any = true;
        for (const int value : sweep.values) {
            const auto& values = parameter->values;
            if (std::find(values.begin(), values.end(), value) == values.end()) {
                throw InputError(
                    fmt::format("{} has no {}={}: its values are {}. Narrow the sweep or, with --variants, "
                                "the variants.",
                                variant->name, sweep.parameter, value, fmt::join(values, ", ")));
            }
        }
    }
    if (!any) {
        const std::vector<std::string> names(known.begin(), known.end());
        throw InputError(fmt::format("None of the chosen variants has a parameter '{}'.{}", sweep.parameter,
                                     suggestion(sweep.parameter, names)));
    }
}

}  // namespace

Sweep parse_sweep(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        throw InputError(fmt::format("--sweep '{}' is not of the form parameter=v1,v2.", text));
    }
    Sweep sweep = {.parameter = text.substr(0, equals), .values = {}};
    for (const std::string& item : split_list(text.substr(equals + 1), "--sweep " + sweep.parameter)) {
        const auto value =
            static_cast<int>(parse_integer(item, "--sweep " + sweep.parameter + ": the value",
                                           std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
        if (std::find(sweep.values.begin(), sweep.values.end(), value) == sweep.values.end()) {
            sweep.values.push_back(value);
        }
    }
    return sweep;
}

Candidate standard_candidate(const Variant& variant) {
    return {.variant = &variant, .parameters = variant.standard_parameters(), .non_standard = {}};
}

std::vector<Candidate> select(const std::vector<Variant>& all, const std::vector<std::string>& globs,
                              const std::vector<Sweep>& sweeps) {
    const std::vector<const Variant*> variants = chosen_by(all, globs);
    for (std::size_t i = 0; i < sweeps.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (sweeps[j].parameter == sweeps[i].parameter) {
                throw InputError(
                    fmt::format("--sweep names '{}' twice: write its values in one list.", sweeps[i].parameter));
            }
        }
        check_sweep(variants, sweeps[i]);
    }
    std::vector<Candidate> candidates;
    for (const Variant* variant : variants) {
        std::vector<Candidate> combinations = {standard_candidate(*variant)};
        for (const Sweep& sweep : sweeps) {
            const Parameter* parameter = parameter_of(*variant, sweep.parameter);
            if (parameter == nullptr) {
                continue;
            }
            std::vector<Candidate> extended;
            for (const Candidate& combination : combinations) {
                for (const int value : sweep.values) {
                    Candidate next = combination;
                    next.parameters[sweep.parameter] = value;
                    if (value != parameter->standard) {
                        next.non_standard[sweep.parameter] = value;
                    }
                    extended.push_back(std::move(next));
                }
            }
            combinations = std::move(extended);
        }
        candidates.insert(candidates.end(), combinations.begin(), combinations.end());
    }
    return candidates;
}

}  // namespace qkprof
