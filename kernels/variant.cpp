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
    constexpr std::array names = {"ceiling", "naive", "split", "register", "shared", "cache-aware"};
    return names.at(static_cast<std::size_t>(family));
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
