// An object of a JSON file that may be damaged, foreign or made up: each field is checked as it is read, and what is
// wrong is said with its place.
#pragma once

#include "error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace qkprof {

class JsonObject {
  public:
    JsonObject(const nlohmann::json& json, std::string place) : json_(json), place_(std::move(place)) {
        if (!json.is_object()) {
            throw InputError(place_ + " is not a JSON object.");
        }
    }

    const nlohmann::json& json() const { return json_; }
    const std::string& place() const { return place_; }
    bool has(const char* key) const { return json_.contains(key); }
    InputError error(const char* key, const char* what) const {
        constexpr std::size_t longest_key = 100;
        return InputError(fmt::format("{}: '{}' is {}.", place_, printable(key, longest_key), what));
    }

    const nlohmann::json& at(const char* key) const {
        const auto found = json_.find(key);
        if (found == json_.end()) {
            throw error(key, "missing");
        }
        return *found;
    }
    std::string text(const char* key) const {
        if (!at(key).is_string()) {
            throw error(key, "not text");
        }
        return at(key).get<std::string>();
    }
    std::string text_or_empty(const char* key) const { return has(key) ? text(key) : std::string(); }
    bool flag(const char* key) const {
        if (!at(key).is_boolean()) {
            throw error(key, "neither true nor false");
        }
        return at(key).get<bool>();
    }
    double number(const char* key) const {
        if (!at(key).is_number()) {
            throw error(key, "not a number");
        }
        return at(key).get<double>();
    }
    // null stands for a value that is not finite.
    double number_or_nan(const char* key) const {
        return at(key).is_null() ? std::numeric_limits<double>::quiet_NaN() : number(key);
    }
    template <class T>
    T whole(const char* key) const {
        return whole<T>(key, at(key));
    }
    template <class T>
    T whole(const char* key, const nlohmann::json& value) const {
        const bool in_range = value.is_number_unsigned() ? value.get<std::uint64_t>() <=
                                                               static_cast<std::uint64_t>(std::numeric_limits<T>::max())
                              : value.is_number_integer() ? std::in_range<T>(value.get<std::int64_t>())
                                                          : false;
        if (!in_range) {
            throw error(key, "not a whole number in its range");
        }
        return value.get<T>();
    }
    // Of something that is counted: from `least` on.
    template <class T>
    T count(const char* key, T least = 0) const {
        return count<T>(key, at(key), least);
    }
    template <class T>
    T count(const char* key, const nlohmann::json& value, T least = 0) const {
        const T number = whole<T>(key, value);
        if (number < least) {
            throw error(key, number < 0 ? "negative" : "0");
        }
        return number;
    }
    // Of something that need not be whole.
    double amount(const char* key) const {
        if (number(key) < 0) {
            throw error(key, "negative");
        }
        return number(key);
    }
    JsonObject object(const char* key) const { return {at(key), fmt::format("{}, '{}'", place_, key)}; }
    std::vector<JsonObject> objects(const char* key) const {
        if (!at(key).is_array()) {
            throw error(key, "not a list");
        }
        std::vector<JsonObject> all;
        for (const nlohmann::json& item : at(key)) {
            all.emplace_back(item, fmt::format("{}, '{}'[{}]", place_, key, all.size()));
        }
        return all;
    }

  private:
    const nlohmann::json& json_;
    std::string place_;
};

// The enumerator among `all` whose name_of is the text under `key`.
template <class E, std::size_t N>
E enumerator(const JsonObject& object, const char* key, const std::array<E, N>& all) {
    const std::string text = object.text(key);
    for (const E value : all) {
        if (text == name_of(value)) {
            return value;
        }
    }
    throw object.error(key, "a word that this qkprof does not know");
}

}  // namespace qkprof
