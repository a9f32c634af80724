#include "thresholds.h"

#include "toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qkprof {
namespace {

template <class T>
bool is_about(const std::vector<T>& chosen, const T& value) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), value) != chosen.end();
}

// A number from 0 on: none where the key is not there.
std::optional<double> amount(const TomlReader& reader, std::string_view key) {
    const toml::node* node = reader.node(key);
    if (node == nullptr) {
        return {};
    }
    const std::optional<double> number = node->is_number() ? node->value<double>() : std::nullopt;
    if (!number || !(*number >= 0) || *number > 1e18) {
        throw reader.error(*node, fmt::format("the '{}' of {} must be a number from 0 on.", key, reader.what()));
    }
    return number;
}

Threshold parse_threshold(std::string_view source, const toml::table& table, const std::vector<std::string>& variants) {
    const TomlReader reader(source, "a threshold", table,
                            {"metrics", "variants", "dtypes", "states", "sources", "compared", "relative",
                             "relative_to", "absolute", "noise_without_aa"});
    Threshold threshold;
    threshold.place = fmt::format("{}, line {}", source, table.source().begin.line);
    threshold.metrics = reader.list("metrics", [](const std::string& word) {
        const std::vector<std::string>& known = comparable_metrics();
        if (std::find(known.begin(), known.end(), word) == known.end()) {
            throw InputError(fmt::format("there is no metric '{}' that is compared{}.{}", word,
                                         is_own_metric(word) ? ", as it follows from others" : "",
                                         suggestion(word, known)));
        }
        return word;
    });
    if (threshold.metrics.empty()) {
        throw reader.error(table, "a threshold lacks its 'metrics'.");
    }
    threshold.variants = reader.list("variants", [&](const std::string& glob) { return variant_glob(glob, variants); });
    threshold.dtypes = reader.list("dtypes", [](const std::string& word) {
        return enumerator_named<DataType>(word, "type", std::array{DataType::f32, DataType::bf16, DataType::f16});
    });
    threshold.states = reader.list("states", [](const std::string& word) {
        return enumerator_named<CacheState>(word, "cache state", std::array{CacheState::cold, CacheState::warm});
    });
    threshold.sources = reader.list("sources", [](const std::string& word) {
        return enumerator_named<Source>(word, "source",
                                        std::array{Source::counted, Source::emulated, Source::modelled});
    });
    if (const toml::node* node = reader.node("compared")) {
        threshold.compared = node->value_exact<bool>();
        if (!threshold.compared) {
            throw reader.error(*node, "the 'compared' of a threshold must be true or false.");
        }
    }
    threshold.relative = amount(reader, "relative");
    if (reader.has("relative_to")) {
        threshold.relative_to = reader.parsed("relative_to", [](const std::string& word) {
            std::vector<std::string> known = comparable_metrics();
            known.emplace_back(compulsory_bytes_metric);
            if (std::find(known.begin(), known.end(), word) == known.end()) {
                throw InputError(
                    fmt::format("there is no metric '{}' to be relative to.{}", word, suggestion(word, known)));
            }
            return word;
        });
    }
    threshold.absolute = amount(reader, "absolute");
    threshold.noise_without_aa = amount(reader, "noise_without_aa");
    if (threshold.relative && *threshold.relative > 1) {
        throw reader.error(
            *reader.node("relative"),
            fmt::format("the 'relative' of a threshold is {}, and 1 is 100 %: 0.02 is 2 %.", *threshold.relative));
    }
    const auto is_time = [](const std::string& metric) { return metric == "real_time" || metric == "copy_fraction"; };
    if (std::any_of(threshold.metrics.begin(), threshold.metrics.end(), is_time)) {
        if (threshold.absolute || threshold.relative_to) {
            throw reader.error(*reader.node(threshold.absolute ? "absolute" : "relative_to"),
                               "a time has no 'absolute' and no 'relative_to': it is compared by a ratio.");
        }
    } else if (threshold.noise_without_aa) {
        throw reader.error(*reader.node("noise_without_aa"),
                           "'noise_without_aa' is of times alone: real_time and copy_fraction.");
    }
    if (!threshold.compared && !threshold.relative && !threshold.absolute && !threshold.noise_without_aa) {
        throw reader.error(table,
                           "a threshold says nothing: give it relative, absolute, noise_without_aa or compared.");
    }
    return threshold;
}

}  // namespace

const std::vector<std::string>& comparable_metrics() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names = {"real_time", "copy_fraction", "error_norm"};
        for (const Metric& metric : metrics()) {
            if (!metric.derived) {
                names.emplace_back(metric.name);
            }
        }
        return names;
    }();
    return all;
}

Allowance Thresholds::of(std::string_view metric, const Measurement& m, Source source) const {
    Allowance allowance;
    allowance.compared = false;
    for (const Threshold& t : entries_) {
        const bool of_variant =
            t.variants.empty() || std::any_of(t.variants.begin(), t.variants.end(),
                                              [&](const std::string& glob) { return matches_glob(glob, m.variant); });
        if (!of_variant || !is_about(t.metrics, std::string(metric)) || !is_about(t.dtypes, m.problem.dtype) ||
            !is_about(t.states, m.state) || !is_about(t.sources, source)) {
            continue;
        }
        allowance.compared = t.compared.value_or(true);
        allowance.relative = t.relative.value_or(allowance.relative);
        allowance.relative_to = t.relative_to.value_or(t.relative ? std::string() : allowance.relative_to);
        allowance.absolute = t.absolute.value_or(allowance.absolute);
        allowance.noise_without_aa = t.noise_without_aa.value_or(allowance.noise_without_aa);
        allowance.place = t.place;
    }
    return allowance;
}

std::vector<Threshold> parse_thresholds(std::string_view toml, std::string_view source,
                                        const std::vector<std::string>& variants) {
    const toml::table root = parse_toml(toml, source);
    const TomlReader reader(source, "the file", root, {"threshold"});
    const toml::array* list = root["threshold"].as_array();
    if (list == nullptr || list->empty()) {
        throw InputError(fmt::format("{} has no [[threshold]].", source));
    }
    std::vector<Threshold> thresholds;
    for (const toml::node& node : *list) {
        if (!node.is_table()) {
            throw reader.error(node, "a threshold must be a table.");
        }
        thresholds.push_back(parse_threshold(source, *node.as_table(), variants));
    }
    return thresholds;
}

}  // namespace qkprof
