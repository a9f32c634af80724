#include "expression.h"

#include "error.h"
#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace qkprof {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::array times = {"real_time", "stream_time"};

// Beside the metrics, of the problem and the device.
constexpr std::array further_quantities = {"tensor_bytes", "working_set_bytes", "l2_bytes"};

// Metrics that are made of times, or no numbers: what to write instead.
constexpr std::array<std::pair<std::string_view, const char*>, 3> unusable = {
    std::pair{"copy_fraction", "it has no samples of its own: write real_time[copy] / real_time"},
    std::pair{"bound_fraction", "it has no samples of its own: write what it is made of"},
    std::pair{"bound_by", "it is no number"}};

std::vector<std::string> quantities() {
    std::vector<std::string> names(times.begin(), times.end());
    names.insert(names.end(), further_quantities.begin(), further_quantities.end());
    for (const Metric& metric : metrics()) {
        const bool usable = std::none_of(unusable.begin(), unusable.end(),
                                         [&](const auto& other) { return other.first == metric.name; });
        if (usable && std::find(names.begin(), names.end(), metric.name) == names.end()) {
            names.emplace_back(metric.name);
        }
    }
    return names;
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// To be quoted in a sentence: the beginning alone of what is long.
std::string quotable(std::string_view text) {
    constexpr std::size_t most = 80;
    return printable(text, most);
}

// Reads text from the left.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    void skip_blanks() {
        while (at_ < text_.size() && text_[at_] == ' ') {
            ++at_;
        }
    }
    bool at_end() {
        skip_blanks();
        return at_ == text_.size();
    }
    char next() {
        skip_blanks();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(std::string_view word) {
        skip_blanks();
        if (text_.substr(at_, word.size()) != word) {
            return false;
        }
        at_ += word.size();
        return true;
    }
    std::string name() {
        skip_blanks();
        const std::size_t first = at_;
        while (at_ < text_.size() && is_name_character(text_[at_])) {
            ++at_;
        }
        return std::string(text_.substr(first, at_ - first));
    }
    std::optional<double> number() {
        skip_blanks();
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc() || !std::isfinite(value)) {  // from_chars knows the words inf and nan
            return {};
        }
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    std::size_t place() const { return at_; }
    std::string_view text() const { return text_; }
    std::string_view passed() const { return text_.substr(0, at_); }
    std::string_view rest() const { return text_.substr(at_); }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
};

// The comparison that the text goes on with, and its number.
std::optional<Relation> comparison(Reader& reader) {
    constexpr std::array words = {"<=", ">=", "<", ">", "="};  // the longer ones first
    for (const char* const word : words) {
        if (!reader.take(word)) {
            continue;
        }
        const std::optional<double> number = reader.number();
        if (!number) {
            return {};
        }
        Relation relation = {.text = {}, .allowed = {-infinity, infinity}};
        (word[0] == '<' ? relation.allowed.high : relation.allowed.low) = *number;
        if (word[0] == '=') {
            relation.allowed = {*number, *number};
        }
        relation.without_high = word == std::string_view("<");
        relation.without_low = word == std::string_view(">");
        return relation;
    }
    return {};
}

}  // namespace

bool is_time(std::string_view quantity) { return std::find(times.begin(), times.end(), quantity) != times.end(); }

class ExpressionParser {
  public:
    ExpressionParser(std::string_view text, const std::vector<std::string>& variants)
        : reader_(text), variants_(variants) {}

    // Leaves what follows the expression unread.
    Expression parse() {
        sum();
        result_.text_ = reader_.passed();
        result_.text_.erase(result_.text_.find_last_not_of(' ') + 1);
        return std::move(result_);
    }
    Reader& reader() { return reader_; }
    InputError error(const std::string& why) const {
        return InputError(fmt::format("the expression '{}' is malformed at character {}: {}", quotable(reader_.text()),
                                      reader_.place() + 1, why));
    }

  private:
    using Kind = Expression::Step::Kind;

    void push(Kind kind, double number = 0, std::size_t term = 0) {
        result_.steps_.push_back({kind, number, term});
        const bool operand = kind == Kind::number || kind == Kind::term;
        height_ += operand ? 1 : kind == Kind::negate ? 0 : -1;
        result_.depth_ = std::max(result_.depth_, static_cast<std::size_t>(height_));
    }
    void sum() {
        product();
        for (char c = reader_.next(); c == '+' || c == '-'; c = reader_.next()) {
            reader_.take({&c, 1});
            product();
            push(c == '+' ? Kind::add : Kind::subtract);
        }
    }
    void product() {
        factor();
        for (char c = reader_.next(); c == '*' || c == '/'; c = reader_.next()) {
            reader_.take({&c, 1});
            factor();
            push(c == '*' ? Kind::multiply : Kind::divide);
        }
    }
    void factor() {
        constexpr int deepest = 100;  // of parentheses and signs: a file must not exhaust the stack
        if (++nesting_ > deepest) {
            throw error("it is nested too deeply");
        }
        const char c = reader_.next();
        if (reader_.take("(")) {
            sum();
            if (!reader_.take(")")) {
                throw error("a ) is missing");
            }
        } else if (reader_.take("-")) {
            factor();
            push(Kind::negate);
        } else if ((c >= '0' && c <= '9') || c == '.') {
            const std::optional<double> number = reader_.number();
            if (!number) {
                throw error("this is no number");
            }
            push(Kind::number, *number);
        } else {
            term();
        }
        --nesting_;
    }
    void term() {
        reader_.skip_blanks();
        const InputError here = error("a number, a quantity or a ( must stand here");
        Term term;
        term.quantity = reader_.name();
        if (term.quantity.empty()) {
            throw here;
        }
        for (const auto& [name, why] : unusable) {
            if (term.quantity == name) {
                throw InputError(fmt::format("'{}' cannot be part of an expression: {}", name, why));
            }
        }
        const std::vector<std::string> known = quantities();
        if (std::find(known.begin(), known.end(), term.quantity) == known.end()) {
            throw InputError(fmt::format("there is no quantity '{}' (qkprof list metrics).{}", term.quantity,
                                         suggestion(term.quantity, known)));
        }
        if (reader_.take("[")) {
            do {
                choose(term);
            } while (reader_.take(","));
            if (!reader_.take("]")) {
                throw error("a , or ] is missing");
            }
        }
        auto& terms = result_.terms_;
        auto place = std::find(terms.begin(), terms.end(), term);
        if (place == terms.end()) {
            place = terms.insert(place, term);
        }
        push(Kind::term, 0, static_cast<std::size_t>(place - terms.begin()));
    }
    // One word of the brackets.
    void choose(Term& term) {
        std::string word = reader_.name();
        if (reader_.take("/")) {  // a parameter
            const std::string parameter = reader_.name();
            word = fmt::format("{}/{}", word, parameter);
            if (reader_.take(":")) {
                word = fmt::format("{}:{}", word, reader_.name());
            }
        }
        if (reader_.next() == '*' || reader_.next() == '?') {
            throw error("the brackets name one variant, and not by * or ?");
        }
        const auto only_one = [&](bool first, const char* what) {
            if (!first) {
                throw error(fmt::format("the brackets already name a {}, before '{}'", what, word));
            }
        };
        std::vector<std::string> known = variants_;
        if (std::find(known.begin(), known.end(), word) != known.end()) {
            only_one(term.variant.empty(), "variant");
            term.variant = word;
            return;
        }
        const auto is = [&](const char* name) {
            known.emplace_back(name);
            return word == name;
        };
        bool found = false;
        for (const CacheState state : {CacheState::cold, CacheState::warm}) {
            if (is(name_of(state))) {
                only_one(!term.state, "state");
                term.state = state;
                found = true;
            }
        }
        for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
            if (is(name_of(dtype))) {
                only_one(!term.dtype, "type");
                term.dtype = dtype;
                found = true;
            }
        }
        for (const auto& [name, size] : {std::pair{"smallest", SizeOf::smallest}, {"largest", SizeOf::largest}}) {
            if (is(name)) {
                only_one(term.size == SizeOf::cell, "size");
                term.size = size;
                found = true;
            }
        }
        if (!found) {
            throw InputError(fmt::format("'[{}]' in the expression '{}' is no variant, state, type or size.{}", word,
                                         quotable(reader_.text()), suggestion(word, known)));
        }
    }

    Reader reader_;
    const std::vector<std::string>& variants_;
    Expression result_;
    int height_ = 0;
    int nesting_ = 0;
};

bool Expression::timed() const {
    return std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return is_time(term.quantity); });
}

double Expression::value(std::span<const double> of_terms) const {
    constexpr std::size_t usual_depth = 16;
    std::array<double, usual_depth> small = {};
    std::vector<double> large(depth_ > usual_depth ? depth_ : 0);
    double* const stack = large.empty() ? small.data() : large.data();
    std::size_t height = 0;
    for (const Step& step : steps_) {
        using Kind = Step::Kind;
        if (step.kind == Kind::number || step.kind == Kind::term) {
            stack[height++] = step.kind == Kind::number ? step.number : of_terms[step.term];
            continue;
        }
        if (step.kind == Kind::negate) {
            stack[height - 1] = -stack[height - 1];
            continue;
        }
        const double right = stack[--height];
        double& left = stack[height - 1];
        left = step.kind == Kind::add        ? left + right
               : step.kind == Kind::subtract ? left - right
               : step.kind == Kind::multiply ? left * right
                                             : left / right;
    }
    return stack[0];
}

Expression parse_expression(std::string_view text, const std::vector<std::string>& variants) {
    ExpressionParser parser(text, variants);
    Expression expression = parser.parse();
    if (!parser.reader().at_end()) {
        throw parser.error("an operator or the end must stand here");
    }
    return expression;
}

// A value that must be exact is made of counts and of the constants of an expression, and those are rounded, as 0.1 is,
// and their products: as "0.1 * 3 * launches = 0.3". Counts themselves differ by far more than this.
bool Relation::holds(double value) const {
    if (is_exact()) {
        constexpr double rounding = 1e-12;  // relative
        return std::abs(value - allowed.low) <= rounding * std::max(std::abs(value), std::abs(allowed.low));
    }
    return (without_low ? value > allowed.low : value >= allowed.low) &&
           (without_high ? value < allowed.high : value <= allowed.high);
}

bool Relation::overlaps(const Relation& other) const {
    const double low = std::max(allowed.low, other.allowed.low);
    const double high = std::min(allowed.high, other.allowed.high);
    return low < high || (low == high && holds(low) && other.holds(low));
}

Relation parse_relation(std::string_view text) {
    Reader reader(text);
    std::optional<Relation> relation;
    if (reader.take("within ")) {
        const std::optional<double> percent = reader.number();
        if (percent && *percent >= 0 && reader.take("%") && reader.take("of")) {
            if (const std::optional<double> centre = reader.number(); centre && *centre > 0) {
                relation = {.text = {}, .allowed = {*centre * (1 - *percent / 100), *centre * (1 + *percent / 100)}};
            }
        }
    } else if (reader.take("from ")) {
        const std::optional<double> low = reader.number();
        if (low && reader.take("to")) {
            if (const std::optional<double> high = reader.number(); high && *low <= *high) {
                relation = {.text = {}, .allowed = {*low, *high}};
            }
        }
    } else {
        relation = comparison(reader);
    }
    if (!relation || !reader.at_end()) {
        throw InputError(
            fmt::format("'{}' is no relation; relations are written \"= 1\", \"<= 1.02\", \"< 1\", "
                        "\">= 0.98\", \"> 1\", \"within 5 % of 1\" and \"from 0.9 to 1.1\".",
                        text));
    }
    relation->text = text;
    return *relation;
}

Condition parse_condition(std::string_view text, const std::vector<std::string>& variants) {
    ExpressionParser parser(text, variants);
    Expression measure = parser.parse();
    if (parser.reader().at_end()) {
        throw InputError(fmt::format("the condition '{}' lacks its relation, as of \"launches = 1\".", quotable(text)));
    }
    return {std::move(measure), parse_relation(parser.reader().rest())};
}

BytesLimit parse_bytes_limit(std::string_view text) {
    Reader reader(text);
    if (std::optional<Relation> relation = comparison(reader)) {
        const std::string unit = reader.name();
        constexpr std::array<std::pair<std::string_view, double>, 5> units = {
            std::pair{"B", 1.0}, std::pair{"KiB", 0x1p10}, std::pair{"MiB", 0x1p20}, std::pair{"GiB", 0x1p30},
            std::pair{"L2", 0.0}};
        for (const auto& [name, bytes] : units) {
            if (unit == name && reader.at_end()) {
                const Interval& allowed = relation->allowed;
                if ((std::isfinite(allowed.low) ? allowed.low : allowed.high) < 0) {
                    throw InputError(fmt::format("'{}' limits bytes by a negative number.", text));
                }
                relation->text = text;
                return {.text = std::string(text), .relation = *relation, .unit = bytes, .in_l2 = unit == "L2"};
            }
        }
    }
    throw InputError(
        fmt::format("'{}' is no limit of bytes; limits are written \"<= 0.25 L2\" (of the device) or "
                    "\">= 64 MiB\" (also B, KiB, GiB).",
                    text));
}

}  // namespace qkprof
