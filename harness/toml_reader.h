// A TOML file that people write: its keys are read one by one, unknown ones are refused with the nearest, and what is
// wrong is said with its line.
#pragma once

#include "error.h"
#include "names.h"
#include "toml_text.h"

#include <fmt/format.h>

// Files such as "[[=" make assertions of toml++ 3.3 fail in builds that have them, before it says in words what is
// wrong (github.com/marzer/tomlplusplus/pull/301).
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace qkprof {

// Throws InputError, naming `source` and the line.
inline toml::table parse_toml(std::string_view text, std::string_view source) {
    check_toml_text(text, source);
    try {
        return toml::parse(text, source);
    } catch (const toml::parse_error& error) {
        throw InputError(fmt::format("{}, line {}: {}", source, error.source().begin.line, error.description()));
    }
}

// A table of the file; `what` it is, as "the claim 'x'", is for the sentences.
class TomlReader {
  public:
    TomlReader(std::string_view source, std::string what, const toml::table& table,
               std::initializer_list<std::string_view> keys)
        : source_(source), what_(std::move(what)), table_(table) {
        const std::vector<std::string> known(keys.begin(), keys.end());
        for (const auto& [key, value] : table) {
            if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
                throw error(value,
                            fmt::format("{} has no key '{}'.{}", what_, key.str(), suggestion(key.str(), known)));
            }
        }
    }

    bool has(std::string_view key) const { return table_.contains(key); }

    std::string text(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            throw error(table_, fmt::format("{} lacks its '{}'.", what_, key));
        }
        return text_of_node(key, *node);
    }

    // One text or a list of them, each read by `read`, which may throw an InputError without a place; none where the
    // key is not there.
    template <class Read>
    auto list(std::string_view key, const Read& read) const {
        std::vector<decltype(read(std::string()))> items;
        const toml::node* node = table_.get(key);
        const auto add = [&](const toml::node& item) {
            const std::string text = text_of_node(key, item);
            items.push_back(at_line(item, [&] { return read(text); }));
        };
        if (node != nullptr && node->is_array()) {
            for (const toml::node& item : *node->as_array()) {
                add(item);
            }
        } else if (node != nullptr) {
            add(*node);
        }
        return items;
    }

    template <class Read>
    auto parsed(std::string_view key, const Read& read) const {
        const std::string value = text(key);
        return at_line(*table_.get(key), [&] { return read(value); });
    }

    const toml::table* table(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node != nullptr && !node->is_table()) {
            throw error(*node, fmt::format("the '{}' of {} must be a table.", key, what_));
        }
        return node == nullptr ? nullptr : node->as_table();
    }

    const toml::node* node(std::string_view key) const { return table_.get(key); }
    const toml::table& all() const { return table_; }
    const std::string& what() const { return what_; }
    std::string_view source() const { return source_; }

    InputError error(const toml::node& place, const std::string& sentence) const {
        return InputError(fmt::format("{}, line {}: {}", source_, place.source().begin.line, sentence));
    }

  private:
    std::string text_of_node(std::string_view key, const toml::node& node) const {
        if (!node.is_string() || node.as_string()->get().empty()) {
            throw error(node, fmt::format("the '{}' of {} must be text, and not empty.", key, what_));
        }
        return node.as_string()->get();
    }
    template <class Function>
    auto at_line(const toml::node& place, const Function& function) const {
        try {
            return function();
        } catch (const InputError& inner) {
            throw error(place, inner.what());
        }
    }

    std::string_view source_;
    std::string what_;
    const toml::table& table_;
};

// The enumerator that a word names, among `all`. Throws InputError, with the nearest, where there is none.
template <class E, class All>
E enumerator_named(const std::string& word, const char* what, const All& all) {
    std::vector<std::string> names;
    for (const E value : all) {
        if (word == name_of(value)) {
            return value;
        }
        names.emplace_back(name_of(value));
    }
    throw InputError(fmt::format("there is no {} '{}'.{}", what, word, suggestion(word, names)));
}

// The glob. Throws InputError, with the nearest, where it matches none of the variants.
inline std::string variant_glob(const std::string& glob, const std::vector<std::string>& variants) {
    if (std::none_of(variants.begin(), variants.end(), [&](const auto& name) { return matches_glob(glob, name); })) {
        throw InputError(fmt::format("no variant matches '{}'.{}", glob, suggestion(glob, variants)));
    }
    return glob;
}

}  // namespace qkprof
