#include "toml_text.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {
namespace {

constexpr std::size_t longest_quote = 40;  // bytes

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80U; }

class Checker {
  public:
    Checker(std::string_view text, std::string_view source) : text_(text), source_(source) {
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        text_.remove_prefix(text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
    }

    void check() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                pass_until(std::min(text_.find('\n', at_), text_.size()));
            } else if ((c == '"' || c == '\'') && begins_a_value()) {
                pass_quoted(c);
            } else if (is_ascii(c)) {
                doubtful_ = c == '"' || c == '\'' ? std::min(doubtful_, at_) : doubtful_;
                ++at_;
            } else {
                check_doubt();
                throw error(at_, fmt::format("'{}' must stand in quotes", word()));
            }
        }
    }

  private:
    // Whether only brackets stand between this place and white space, a comma or the start: elsewhere the parser may
    // take quotes for a part of what it began to read as a number or a word.
    bool begins_a_value() const {
        const std::size_t before = text_.substr(0, at_).find_last_not_of("[{");
        return before == std::string_view::npos ||
               std::string_view(" \t\r\n,").find(text_[before]) < std::string_view::npos;
    }
    void pass_quoted(char quote) {
        const std::string three(3, quote);
        const bool lines = text_.substr(at_, three.size()) == three;
        at_ += lines ? three.size() : 1;
        while (at_ < text_.size()) {
            if (quote == '"' && text_[at_] == '\\') {
                pass_escape(lines);
            } else if (lines && text_.substr(at_, three.size()) == three) {
                at_ += three.size();
                for (int more = 0; more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) {
                    ++at_;  // the text may end with two of them
                }
                return;
            } else if (!lines && (text_[at_] == quote || text_[at_] == '\n')) {
                ++at_;
                return;
            } else {
                pass_until(at_ + 1);
            }
        }
    }
    void pass_escape(bool lines) {
        ++at_;
        if (!lines) {
            pass_until(at_ + (at_ < text_.size() && text_[at_] != '\n' ? 1 : 0));
            return;
        }
        const std::size_t escaped = at_;
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        if (at_ < text_.size() && !is_ascii(text_[at_])) {
            throw error(at_, fmt::format("'{}' stands behind a backslash: write the lines as one", word()));
        }
        at_ += at_ == escaped ? 1 : 0;
    }
    // What stands in quotes or in a comment.
    void pass_until(std::size_t end) {
        for (; at_ < end; ++at_) {
            if (!is_ascii(text_[at_])) {
                check_doubt();
            }
        }
    }
    // Where quotes before this place may be none, nobody knows whether it stands in quotes.
    void check_doubt() const {
        if (doubtful_ < at_) {
            throw error(doubtful_, fmt::format("these quotes need a blank before them, as '{}' follows", word()));
        }
    }

    std::string word() const {
        const auto* const begin = text_.begin() + static_cast<std::ptrdiff_t>(at_);
        const auto* const end = std::find_if(begin, text_.end(), is_ascii);
        return printable(std::string_view(begin, static_cast<std::size_t>(end - begin)), longest_quote);
    }
    InputError error(std::size_t place, const std::string& why) const {
        const std::string_view before = text_.substr(0, place);
        return InputError(
            fmt::format("{}, line {}: {}.", source_, 1 + std::count(before.begin(), before.end(), '\n'), why));
    }

    std::string_view text_;
    std::string_view source_;
    std::size_t at_ = 0;
    std::size_t doubtful_ = std::string_view::npos;  // the first quotes that may be a part of something else
};

}  // namespace

void check_toml_text(std::string_view text, std::string_view source) { Checker(text, source).check(); }

}  // namespace qkprof
