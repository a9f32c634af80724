#include "variant.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace qkprof {
namespace {

std::vector<Variant>& registry(Backend backend) {
    static std::array<std::vector<Variant>, 2> registries;
    return registries.at(static_cast<std::size_t>(backend));
}

}  // namespace

const char* name_of(Family family) {
    constexpr std::array names = {"ceiling", "naive", "split", "register", "shared", "cache-aware", "framework"};
    return names.at(static_cast<std::size_t>(family));
}

const char* name_of(Feature feature) {
    constexpr std::array names = {"key heads",   "packed",         "padding",       "in place",     "positions",
                                  "interleaved", "partial rotary", "narrow tables", "narrow gamma", "gemma"};
    return names.at(static_cast<std::size_t>(feature));
}

std::vector<Feature> features_of(const Problem& p) {
    std::vector<Feature> asked;
    const auto add = [&](bool asks, Feature feature) {
        if (asks) {
            asked.push_back(feature);
        }
    };
    add(p.key_heads > 0, Feature::key_heads);
    add(p.layout == Layout::packed && p.key_heads > 0, Feature::packed);  // else it is not to be told from separate
    add(p.row_padding > 0, Feature::padding);
    add(p.in_place, Feature::in_place);
    add(p.positions.type != PositionType::implicit, Feature::positions);
    add(p.pairing == Pairing::interleaved, Feature::interleaved);
    add(p.rotary() < p.head_dim, Feature::partial_rotary);
    add(p.table_dtype != DataType::f32, Feature::narrow_tables);
    add(p.gamma_dtype != DataType::f32, Feature::narrow_gamma);
    add(p.gemma, Feature::gemma);
    return asked;
}

bool Variant::has(Feature feature) const {
    return std::find(features.begin(), features.end(), feature) != features.end();
}

bool Variant::tuned() const {
    return std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.tuned(); });
}

std::string Variant::refusal(const Request& request) const {
    std::string missing;
    for (const Feature feature : features_of(request.problem)) {
        if (!has(feature)) {
            missing += (missing.empty() ? "" : ", ") + std::string(name_of(feature));
        }
    }
    return missing.empty() ? refuses(request) : "it has no way to do: " + missing;
}

Parameters Variant::standard_parameters() const {
    Parameters standard;
    for (const Parameter& parameter : parameters) {
        standard[parameter.name] = parameter.standard;
    }
    return standard;
}

const std::vector<Variant>& variants(Backend backend) { return registry(backend); }

Registration::Registration(Backend backend, Variant variant) {
    std::vector<Variant>& all = registry(backend);
    const auto before = [](const Variant& a, const Variant& b) {
        return std::tie(a.family, a.name) < std::tie(b.family, b.name);
    };
    all.insert(std::upper_bound(all.begin(), all.end(), variant, before), std::move(variant));
}

}  // namespace qkprof
