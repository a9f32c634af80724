#include "json_text.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace qkprof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_quote = 40;  // bytes

// As an editor counts: characters, from 1.
std::string line_and_column(std::string_view text, std::size_t place) {
    const std::string_view before = text.substr(0, place);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::string_view in_line = before.substr(before.find_last_of('\n') + 1);
    const auto column = 1 + std::count_if(in_line.begin(), in_line.end(),
                                          [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
    return fmt::format("line {}, column {}", line, column);
}

constexpr std::string_view between_words = " \t\r\n,:[]{}\"";

std::size_t start_of_word(std::string_view text, std::size_t place) {
    return text.substr(0, place).find_last_of(between_words) + 1;  // npos + 1 is 0
}

std::string word_at(std::string_view text, std::size_t place) {
    return printable(text.substr(place, text.find_first_of(between_words, place) - place), longest_quote);
}

// What nlohmann says in "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
// value - invalid literal; last read: 'N'": "invalid literal".
std::string reason_of(std::string_view message) {
    const std::size_t dash = message.find(" - ");
    message.remove_prefix(dash == std::string_view::npos ? 0 : dash + std::string_view(" - ").size());
    return std::string(message.substr(0, message.find("; last read: ")));
}

bool is_control_character(std::string_view text, std::size_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0xc2U && i + 1 < text.size()) {
        return static_cast<unsigned char>(text[i + 1]) < 0xa0U;  // U+0080 to U+009F in UTF-8
    }
    return (byte < 0x20U && byte != '\n' && byte != '\t') || byte == 0x7fU;
}

bool holds_control_character(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_control_character(text, i)) {
            return true;
        }
    }
    return false;
}

// Makes a value of what the parser reads.
class Builder final : public nlohmann::json_sax<Json> {
  public:
    Builder(std::string_view text, const char* what, const std::string& source)
        : text_(text), what_(what), source_(source) {}

    Json take() { return std::move(root_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
    bool binary(binary_t& value) override { return add(std::move(value)); }  // JSON has none
    bool string(string_t& value) override {
        if (holds_control_character(value)) {
            throw InputError(fmt::format("{} is text with a control character.", place()));
        }
        return add(std::move(value));
    }
    bool key(string_t& name) override {
        if (holds_control_character(name)) {
            throw InputError(fmt::format("{} has a key with a control character.", place_of_open()));
        }
        const auto [item, added] = open_.back()->emplace(name, nullptr);
        if (!added) {
            throw InputError(fmt::format("{} has '{}' twice.", place_of_open(), printable(name, longest_quote)));
        }
        named_ = &*item;
        return true;
    }
    bool start_object(std::size_t /*unknown*/) override { return open(Json::object()); }
    bool start_array(std::size_t /*unknown*/) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    // `position` counts the bytes that were read: until the end of the token, or the one that is wrong.
    bool parse_error(std::size_t position, const std::string& token,
                     const nlohmann::detail::exception& error) override {
        constexpr int number_overflow = 406;
        std::string why = error.id == number_overflow ? "too large a number" : reason_of(error.what());
        std::size_t fault = std::min(position, text_.size() + 1) - std::min<std::size_t>(position, 1);
        const bool unexpected = why.starts_with("unexpected ");
        if (why.starts_with("unexpected string")) {
            fault = position - std::min(position, token.size());
        } else if (unexpected ? why.find(" literal;") != std::string::npos : !why.starts_with("invalid string")) {
            fault = start_of_word(text_, fault);
            why += unexpected ? "" : fmt::format(" '{}'", word_at(text_, fault));
        }
        throw error_at(fault, why);
    }
    InputError error_at(std::size_t fault, const std::string& why) const {
        return InputError(
            fmt::format("The {} {} is not JSON: {}: {}.", what_, source_, line_and_column(text_, fault), why));
    }

  private:
    template <class Value>
    bool add(Value&& value) {
        place_for_next() = std::forward<Value>(value);
        return true;
    }
    bool open(Json&& empty) {
        Json& place = place_for_next();
        place = std::move(empty);
        if (open_.size() == deepest_json) {
            throw InputError(fmt::format("The {} {} is nested deeper than {} levels: it is not read.", what_, source_,
                                         deepest_json));
        }
        open_.push_back(&place);
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    // Pointers to what is open stay valid: a list grows only while nothing in it is open.
    Json& place_for_next() {
        if (++values_ > most_json_values) {
            throw InputError(
                fmt::format("The {} {} holds more than {} values: it is not read.", what_, source_, most_json_values));
        }
        if (open_.empty()) {
            return root_;
        }
        if (open_.back()->is_object()) {
            return *named_;
        }
        return open_.back()->emplace_back(nullptr);
    }

    // As in "p.json, 'benchmarks'[2]", of the innermost object or list that is open.
    std::string place_of_open() const {
        std::string place = source_;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
            place += step(*open_[i], open_[i + 1]);
        }
        return place;
    }
    // Of what comes next.
    std::string place() const {
        if (open_.empty()) {
            return source_;
        }
        const Json& in = *open_.back();
        return place_of_open() + (in.is_object() ? step(in, named_) : fmt::format("[{}]", in.size()));
    }
    static std::string step(const Json& in, const Json* to) {
        if (in.is_array()) {
            return fmt::format("[{}]", in.size() - 1);
        }
        const auto item = std::find_if(in.begin(), in.end(), [&](const Json& value) { return &value == to; });
        return fmt::format(", '{}'", printable(item.key(), longest_quote));
    }

    std::string_view text_;
    const char* what_;
    const std::string& source_;
    Json root_;
    std::vector<Json*> open_;
    Json* named_ = nullptr;  // the value of the key that was read last
    std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const char* what, const std::string& source) {
    Builder builder(text, what, source);
    if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {  // the parser takes it for the end
        throw builder.error_at(zero, "a byte that is 0");
    }
    Json::sax_parse(text, &builder);
    return builder.take();
}

}  // namespace qkprof
