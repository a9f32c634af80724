#include "module.h"

#include <algorithm>
#include <charconv>

namespace qkprof::hlo {
namespace {

std::int64_t count_of(const Module& module, std::string_view key) {
    const auto found = module.attributes.find(key);
    std::int64_t count = 1;
    if (found != module.attributes.end()) {
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
    }
    return std::max<std::int64_t>(count, 1);
}

}  // namespace

std::string_view Instruction::attribute(std::string_view key) const {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const auto& attribute) { return attribute.first == key; });
    return found == attributes.end() ? std::string_view() : found->second;
}

std::string Instruction::text(std::string_view key) const {
    const std::string_view value = attribute(key);
    const bool quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
    return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

const Called* Instruction::find_called(std::string_view role) const {
    const auto found = std::find_if(called.begin(), called.end(), [&](const Called& c) { return c.role == role; });
    return found == called.end() ? nullptr : &*found;
}

std::int64_t Module::partitions() const { return count_of(*this, "num_partitions"); }
std::int64_t Module::replicas() const { return count_of(*this, "replica_count"); }

}  // namespace qkprof::hlo
