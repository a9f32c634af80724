#include "backend_config.h"

#include "error.h"
#include "json_text.h"

#include <charconv>

namespace qkprof::hlo {
namespace {

nlohmann::json json_or_null(std::string_view text) {
    try {
        return parse_json(text, "backend config", "of the instruction");
    } catch (const InputError&) {
        return nullptr;
    }
}

}  // namespace

nlohmann::json backend_config(const Instruction& instruction) {
    const std::string_view text = instruction.attribute("backend_config");
    if (text.empty()) {
        return nullptr;
    }
    const nlohmann::json json = json_or_null(text);
    return json.is_string() ? json_or_null(json.get_ref<const std::string&>()) : json;
}

const nlohmann::json& within(const nlohmann::json& json, std::initializer_list<const char*> keys) {
    static const nlohmann::json null;
    const nlohmann::json* inner = &json;
    for (const char* key : keys) {
        const auto found = inner->is_object() ? inner->find(key) : inner->end();
        if (found == inner->end()) {
            return null;
        }
        inner = &*found;
    }
    return *inner;
}

std::optional<std::int64_t> whole(const nlohmann::json& json) {
    if (json.is_number_integer() && (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX)) {
        return json.get<std::int64_t>();
    }
    if (!json.is_string()) {
        return {};
    }
    const auto& text = json.get_ref<const std::string&>();
    std::int64_t value = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    return error == std::errc() && end == last ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> known_trip_count(const Instruction& instruction) {
    const nlohmann::json config = backend_config(instruction);
    const auto turns = whole(within(config, {"known_trip_count", "n"}));
    return turns && *turns >= 0 ? turns : std::nullopt;
}

std::string refused_trip_count(const Instruction& instruction) {
    const nlohmann::json config = backend_config(instruction);
    const nlohmann::json& turns = within(config, {"known_trip_count", "n"});
    if (turns.is_null() || known_trip_count(instruction)) {
        return {};
    }
    constexpr std::size_t longest = 40;
    const std::string text = turns.is_string() ? turns.get<std::string>()
                                               : turns.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return printable(text, longest);
}

}  // namespace qkprof::hlo
