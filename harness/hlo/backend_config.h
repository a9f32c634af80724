// The JSON that XLA's backend leaves at an instruction.
#pragma once

#include "module.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace qkprof::hlo {

// Null where there is none, or where it is no JSON: some targets have one of their own. Also of text that is quoted.
nlohmann::json backend_config(const Instruction& instruction);

// What lies under the keys, one within the other; null where there is none.
const nlohmann::json& within(const nlohmann::json& json, std::initializer_list<const char*> keys);

// A whole number, which XLA writes as one or as text.
std::optional<std::int64_t> whole(const nlohmann::json& json);

// Of a while: null where the text does not say how often it turns.
std::optional<std::int64_t> known_trip_count(const Instruction& instruction);
// What the text says of it, where that is no such number: negative, or too large. Empty: it says nothing, or a number.
std::string refused_trip_count(const Instruction& instruction);

}  // namespace qkprof::hlo
