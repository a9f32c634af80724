// What is kept from the TOML parser, and that nothing else is.
#include "toml_text.h"

#include "error.h"
#include "toml_reader.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

std::string refusal(std::string_view text) {
    try {
        parse_toml(text, "f.toml");
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

TEST(TomlText, CharactersBeyondAsciiStandInQuotesAndComments) {
    for (const char* text :
         {"a = \"\u00e9\"", "a = 1 # \u00e9 \"", "# \u00e9", "a = '\u00e9'",
          "a = [\"\u00e9\", '\u00e9']\nb = {\"\u00e9\" = 1}", "\"\u00e9\" = 1", "[\"\u00e9\"]\n[[\"\u00e8\"]]",
          "a = \"\"\"\n\u00e9 \" \\\n  e \u00e9\"\"\"", "a = '''\n\u00e9 \\ \u00e9'''",
          "a = \"\"\"\u00e9\"\"\"\"\" # \u00e9", "a = \"\\\"\u00e9\"", "a = \"\\\\\" # \u00e9", "\xef\xbb\xbf# \u00e9",
          "a = [\n  \"\u00e9\"\n]", "a = '\\'\nb = '\u00e9'"}) {
        EXPECT_EQ(refusal(text), "no error") << text;
    }
    EXPECT_EQ(parse_toml("a = \"\"\"\\\n  e\u00e9\"\"\"", "f.toml")["a"].value<std::string>(), "e\u00e9");
}

TEST(TomlText, ElsewhereTheyAreRefusedWithTheLine) {
    const auto says = [](const char* text, const std::string& sentence) { EXPECT_EQ(refusal(text), sentence) << text; };
    const std::string outside = "f.toml, line 1: '\u00e9' must stand in quotes.";
    says("\u00e9 = 1", outside);
    says("a = \u00e9", outside);
    says("[\u00e9]", outside);
    says("a = 1\u00e9", outside);
    says("a = \"\" \u00e9", outside);
    says("a = 1\nb = 2\nc = \u2003", "f.toml, line 3: '\u2003' must stand in quotes.");
    says("a = 1\n\u00a7\u00a7 = 2", "f.toml, line 2: '\u00a7\u00a7' must stand in quotes.");
    says("a = \"b\n\u00e9 = 1", "f.toml, line 2: '\u00e9' must stand in quotes.");
    says("a = \"\"\"\n\\\n \t\u00e9\"\"\"",
         "f.toml, line 3: '\u00e9' stands behind a backslash: write the lines as one.");
    says("a = \"b\\\n\u00e9 = 1", "f.toml, line 2: '\u00e9' must stand in quotes.");
    says("a = \"\"\"\\\u00e9\"\"\"", "f.toml, line 1: '\u00e9' stands behind a backslash: write the lines as one.");
}

// Some of these may stand so in TOML; which, is the parser's secret.
TEST(TomlText, QuotesWithoutABlankBeforeThemAreDoubtful) {
    for (const char* text :
         {"a=\"\u00e9\"", "a=\"\" # \u00e9", "a = 0x7\"\u00e9\"", "a = 1=\"\u00e9\"", "a = 1[\"\u00e9\"",
          "a.\"b\" = 1\nc = \"\u00e9\"", "\"\".\"b = \"\u00e9", "a='''\n''' \u00e9"}) {
        EXPECT_EQ(refusal(text), "f.toml, line 1: these quotes need a blank before them, as '\u00e9' follows.") << text;
    }
    EXPECT_EQ(refusal("a=\"b\"\nb=['c']"), "no error");  // all of it is ASCII
}

TEST(TomlText, WhatTheParserTakesForImpossibleIsSaidInWords) {
    EXPECT_NE(refusal("[[=").find("f.toml, line 1: Error while parsing"), std::string::npos) << refusal("[[=");
    EXPECT_NE(refusal("[[\x01").find("f.toml, line 1: Error while parsing"), std::string::npos);
    EXPECT_NE(refusal("[[[a]]]").find("f.toml, line 1: Error while parsing"), std::string::npos);
    EXPECT_NE(refusal("a = \"\xff\"").find("f.toml, line 1: "), std::string::npos);
    EXPECT_EQ(refusal("a = 1\x1b").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace qkprof
