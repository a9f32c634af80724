// What an error quotes is shown as text, whatever it is.
#include "error.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

std::string shown(std::string_view text) { return printable(text, 1000); }

TEST(Printable, TextStaysAsItIs) {
    for (const char* text : {"", "a word", "10 \u00b5s, \u2264 2", "\u00a0", "\u4e2d\u6587", "\U0001F600", "~"}) {
        EXPECT_EQ(shown(text), text);
    }
}

TEST(Printable, ControlCharactersAreWrittenOut) {
    EXPECT_EQ(shown("\x1b[31mred"), R"(\x1b[31mred)");
    EXPECT_EQ(shown("a\nb\tc\r"), R"(a\x0ab\x09c\x0d)");
    EXPECT_EQ(shown(std::string_view("\0", 1)), R"(\x00)");
    EXPECT_EQ(shown("\x7f"), R"(\x7f)");
    EXPECT_EQ(shown("\u009b31m"), R"(\xc2\x9b31m)");  // of 8 bits: a terminal obeys it, too
}

TEST(Printable, BytesThatAreNoUtf8AreWrittenOut) {
    EXPECT_EQ(shown("\xff"), R"(\xff)");
    EXPECT_EQ(shown("\xc3"), R"(\xc3)");
    EXPECT_EQ(shown("\xc3("), R"(\xc3()");
    EXPECT_EQ(shown("\xc0\xaf"), R"(\xc0\xaf)");                  // a slash in two bytes
    EXPECT_EQ(shown("\xe0\x80\xaf"), R"(\xe0\x80\xaf)");          // in three
    EXPECT_EQ(shown("\xf0\x80\x80\xaf"), R"(\xf0\x80\x80\xaf)");  // in four
    EXPECT_EQ(shown("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
    EXPECT_EQ(shown("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond U+10FFFF
    EXPECT_EQ(shown("\xe2\x82"), R"(\xe2\x82)");
    EXPECT_EQ(shown("\xf0\x9f\x98"), R"(\xf0\x9f\x98)");
    EXPECT_EQ(shown("\x80"), R"(\x80)");
}

TEST(Printable, WhatIsLongEndsWithinTheLimitAndNotInACharacter) {
    EXPECT_EQ(printable("12345", 5), "12345");
    EXPECT_EQ(printable("123456", 5), "12345...");
    EXPECT_EQ(printable("1234\u00b5", 5), "1234...");
    EXPECT_EQ(printable("12\x1b", 5), "12...");
}

TEST(InputError, IsOneLineWhateverItQuotes) {
    EXPECT_STREQ(InputError("There is no '\x1b[2J\n\xff'.").what(), R"(There is no '\x1b[2J\x0a\xff'.)");
    const std::string long_one = InputError(std::string(1U << 20U, 'x')).what();
    EXPECT_EQ(long_one.size(), longest_sentence + 3);
}

}  // namespace
}  // namespace qkprof
