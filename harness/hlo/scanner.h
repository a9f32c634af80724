// Walks through HLO text, which may be anything, and knows the line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkprof::hlo {

class Scanner {
  public:
    Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

    // Blanks, ends of lines, comments, and the + of a diff at the start of a line.
    void skip_blank();
    // Blanks and comments of this line.
    void skip_in_line();
    void skip_line();

    bool at_end() const { return at_ >= text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    std::size_t at() const { return at_; }
    void back_to(std::size_t at) { at_ = at; }
    std::size_t line() const { return line_at(at_); }

    bool take(char expected);
    bool take(std::string_view expected);
    // `what`: what stands in it, for the sentence.
    void expect(char expected, const char* what);
    // Letters, digits, '_', '.', '-' and '$'; may be empty.
    std::string_view word();
    // Digits with a sign; fails for what is no number of 63 bits.
    long long number(const char* what);
    // Text until one of `stops` outside of brackets and strings, which is not taken.
    std::string_view until(std::string_view stops, const char* what);

    [[noreturn]] void fail(const std::string& what) const { fail_at(line(), what); }
    // Throws InputError.
    [[noreturn]] void fail_at(std::size_t line, const std::string& what) const;
    // What stands here, quoted, for a sentence.
    std::string here() const;

  private:
    std::size_t line_at(std::size_t place) const;
    bool skip_comment();
    void skip_string(const char* what);

    std::string_view text_;
    const std::string& source_;
    std::size_t at_ = 0;
    mutable std::size_t counted_until_ = 0;  // lines are counted once
    mutable std::size_t counted_line_ = 1;
};

}  // namespace qkprof::hlo
