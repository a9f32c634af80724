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
    Checker(std::string_view text, std::string_view source) : text_(text), source_(source) {}

    void check() {
        constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
        text_.remove_prefix(text_.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
        while (at_ < text_.size()) {
            if (text_[at_] == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if ((text_[at_] == '"' || text_[at_] == '\'') && begins_a_value()) {
                pass_quoted(text_[at_]);
            } else if (is_ascii(text_[at_])) {
                ++at_;
            } else {
                throw error("must stand in quotes with a blank before them");
            }
        }
    }

  private:
    // Whether only brackets stand between this place and white space, a comma or the start: elsewhere the parser takes
    // quotes for a part of what it began to read as a number or a word.
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
                ++at_;
            }
        }
    }
    void pass_escape(bool lines) {
        ++at_;
        if (!lines) {
            ++at_;
            return;
        }
        const std::size_t escaped = at_;
        at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
        if (at_ < text_.size() && !is_ascii(text_[at_])) {
            throw error("stands behind a backslash: write the lines as one");
        }
        at_ += at_ == escaped ? 1 : 0;
    }
    InputError error(const char* why) const {
        const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
        const auto* const end = std::find_if(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.end(), is_ascii);
        const std::string_view word = text_.substr(at_, static_cast<std::size_t>(end - text_.begin()) - at_);
        return InputError(fmt::format("{}, line {}: '{}' {}.", source_, line, printable(word, longest_quote), why));
    }

    std::string_view text_;
    std::string_view source_;
    std::size_t at_ = 0;
};

}  // namespace

void check_toml_text(std::string_view text, std::string_view source) { Checker(text, source).check(); }

}  // namespace qkprof
