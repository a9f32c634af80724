#include "scanner.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

namespace qkprof::hlo {
namespace {

constexpr std::size_t deepest_brackets = 64;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Bytes of the blank that the text begins with; documents indent with ones that break no line. 0: it begins with none.
std::size_t blank_length(std::string_view text) {
    return text.empty() ? 0 : is_blank(text.front()) ? 1 : text.starts_with("\xc2\xa0") ? 2 : 0;
}

char closing(char opening) { return opening == '(' ? ')' : opening == '[' ? ']' : '}'; }

}  // namespace

bool Scanner::skip_comment() {
    if (!text_.substr(at_).starts_with("/*")) {
        return false;
    }
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
        fail("a comment is not closed with */: the text is cut short");
    }
    at_ = end + 2;
    return true;
}

void Scanner::skip_blank() {
    bool line_start = at_ == 0;
    while (!at_end()) {
        const char c = peek();
        if (c == '\n') {
            line_start = true;
            ++at_;
        } else if (const std::size_t length = blank_length(text_.substr(at_)); length > 0) {
            at_ += length;
        } else if (c == '+' && line_start && at_ + 1 < text_.size() && is_blank(text_[at_ + 1])) {
            ++at_;
        } else if (!skip_comment()) {
            return;
        }
    }
}

void Scanner::skip_in_line() {
    for (std::size_t length = 1; length > 0 || skip_comment();) {
        length = blank_length(text_.substr(std::min(at_, text_.size())));
        at_ += length;
    }
}

void Scanner::skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

bool Scanner::take(char expected) {
    if (peek() != expected || at_end()) {
        return false;
    }
    ++at_;
    return true;
}

bool Scanner::take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) {
        return false;
    }
    at_ += expected.size();
    return true;
}

void Scanner::expect(char expected, const char* what) {
    if (!take(expected)) {
        fail(fmt::format("in {}, '{}' is expected where {} stands", what, expected, here()));
    }
}

std::string_view Scanner::word() {
    const std::size_t start = at_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(peek())) != 0 ||
                         std::string_view("_.-$").find(peek()) != std::string_view::npos)) {
        if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') {
            break;  // an arrow
        }
        ++at_;
    }
    return text_.substr(start, at_ - start);
}

long long Scanner::number(const char* what) {
    long long value = 0;
    const char* start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), value);
    if (error != std::errc()) {
        fail(fmt::format("in {}, a whole number is expected where {} stands", what, here()));
    }
    at_ += static_cast<std::size_t>(end - start);
    return value;
}

void Scanner::skip_string(const char* what) {
    for (++at_; !at_end() && peek() != '"'; ++at_) {
        at_ += peek() == '\\' ? 1 : 0;
    }
    if (at_end()) {
        at_ = text_.size();
        fail(fmt::format("in {}, a text is not closed: the file is cut short", what));
    }
    ++at_;
}

std::string_view Scanner::until(std::string_view stops, const char* what) {
    const std::size_t start = at_;
    std::vector<char> open;
    while (!at_end()) {
        const char c = peek();
        if (open.empty() && stops.find(c) != std::string_view::npos) {
            break;
        }
        if (c == '"') {
            skip_string(what);
            continue;
        }
        if (c == '(' || c == '[' || c == '{') {
            if (open.size() == deepest_brackets) {
                fail(fmt::format("in {}, brackets are nested deeper than {} levels: it is not read", what,
                                 deepest_brackets));
            }
            open.push_back(closing(c));
        } else if (c == ')' || c == ']' || c == '}') {
            if (open.empty() || open.back() != c) {
                fail(fmt::format("in {}, '{}' closes what is not open", what, c));
            }
            open.pop_back();
        }
        ++at_;
    }
    if (!open.empty()) {
        fail(fmt::format("in {}, '{}' is missing: the text is cut short", what, open.back()));
    }
    return text_.substr(start, at_ - start);
}

std::size_t Scanner::line_at(std::size_t place) const {
    if (place < counted_until_) {
        counted_until_ = 0;
        counted_line_ = 1;
    }
    const auto from = text_.begin() + static_cast<std::ptrdiff_t>(counted_until_);
    const auto to = text_.begin() + static_cast<std::ptrdiff_t>(std::min(place, text_.size()));
    counted_line_ += static_cast<std::size_t>(std::count(from, to, '\n'));
    counted_until_ = std::min(place, text_.size());
    return counted_line_;
}

void Scanner::fail_at(std::size_t line, const std::string& what) const {
    throw InputError(
        fmt::format("{}, line {}: {}. It is to be HLO text, as compile().as_text() or --xla_dump_to write it.", source_,
                    line, what));
}

std::string Scanner::here() const {
    constexpr std::size_t longest = 24;
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    const std::string_view in_line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    return rest.empty()      ? "the end of the text"
           : in_line.empty() ? "the end of the line"
                             : fmt::format("'{}'", printable(in_line, longest));
}

}  // namespace qkprof::hlo
