// JSON that is damaged or made up to exhaust the memory: one sentence, with the place.
#include "json_text.h"

#include "error.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

std::string refusal(std::string_view text) {
    try {
        parse_json(text, "profile", "p.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

TEST(ParseJson, ReadsWhatTheLibraryReads) {
    for (const char* text :
         {"{}", "[]", " [1, -2, 2.5e3, true, false, null, \"a\\n\\u00b5\", {\"b\": {\"c\": [[]]}}]\n", "0", "\"text\"",
          "\xef\xbb\xbf{\"after\": \"a byte order mark\"}", "[18446744073709551615]", "[\"tab\\tand line\\n\"]",
          "[1e-999]"}) {
        EXPECT_EQ(parse_json(text, "profile", "p.json"), nlohmann::json::parse(text)) << text;
    }
}

TEST(ParseJson, SaysWhatIsNoJsonWithItsPlace) {
    const auto says = [](std::string_view text, const std::string& sentence) {
        EXPECT_EQ(refusal(text), "The profile p.json is not JSON: " + sentence) << text;
    };
    says("", "line 1, column 1: unexpected end of input; expected '[', '{', or a literal.");
    says("{\"a\":\n [1, 2", "line 2, column 7: unexpected end of input; expected ']'.");
    says("{\"a\": NaN}", "line 1, column 7: invalid literal 'NaN'.");
    says("{\"a\":\n\n  [Infinity]}", "line 3, column 4: invalid literal 'Infinity'.");
    says("[1,-Infinity,2]", "line 1, column 4: invalid number; expected digit after '-' '-Infinity'.");
    says("[tru]", "line 1, column 2: invalid literal 'tru'.");
    says("[1.e5]", "line 1, column 2: invalid number; expected digit after '.' '1.e5'.");
    says("[1e999]", "line 1, column 2: too large a number '1e999'.");
    says("[0, -1e999]", "line 1, column 5: too large a number '-1e999'.");
    says("[1" + std::string(1000, '0') + "]",
         "line 1, column 2: too large a number '1" + std::string(39, '0') + "...'.");
    says("{\"\u00b5\u00b5\": nul}", "line 1, column 8: invalid literal 'nul'.");  // characters, not bytes
    says("[1 \"two\"]", "line 1, column 4: unexpected string literal; expected ']'.");
    says("[1] [2]", "line 1, column 5: unexpected '['; expected end of input.");
    says("{1: 2}", "line 1, column 2: unexpected number literal; expected string literal.");
    says("{'a': 2}", "line 1, column 2: invalid literal ''a''.");
    says("[\"\xff\"]", "line 1, column 3: invalid string: ill-formed UTF-8 byte.");
    says("[\"a\x1b[2J\"]",
         "line 1, column 4: invalid string: control character U+001B (ESC) must be escaped to \\u001B.");
    says("[\"" + std::string(100000, 'x'), "line 1, column 100003: invalid string: missing closing quote.");
    says("\x1b[2J", R"(line 1, column 1: invalid literal '\x1b'.)");
    says(std::string(3, '\0'), "line 1, column 1: a byte that is 0.");
    says(std::string_view("{}\n\0", 4), "line 2, column 1: a byte that is 0.");  // a file that was cut and filled up
    says("\xff\xfe{", R"(line 1, column 1: invalid literal '\xff\xfe'.)");       // in 16 bits
    says("[1 true]", "line 1, column 4: unexpected true literal; expected ']'.");
    says("\xef\xbb", "line 1, column 1: invalid BOM; must be 0xEF 0xBB 0xBF if given '\\xef\\xbb'.");
}

TEST(ParseJson, AKeyThatStandsTwiceIsRefused) {
    EXPECT_EQ(refusal("{\"a\": 1, \"a\": 1}"), "p.json has 'a' twice.");
    EXPECT_EQ(refusal("{\"all\": [{}, {\"a\": {\"b\": 1, \"c\": [], \"b\": 2}}]}"),
              "p.json, 'all'[1], 'a' has 'b' twice.");
    EXPECT_EQ(refusal("[{\"a\": 1}, {\"a\": 1}]"), "no error");
}

TEST(ParseJson, ControlCharactersAreRefused) {
    EXPECT_EQ(refusal(R"({"a": [0, "\u001b[2J"]})"), "p.json, 'a'[1] is text with a control character.");
    EXPECT_EQ(refusal(R"({"a": "\u009b"})"), "p.json, 'a' is text with a control character.");
    EXPECT_EQ(refusal(R"("\u007f")"), "p.json is text with a control character.");
    EXPECT_EQ(refusal(R"({"a": {"b\u0000": 1}})"), "p.json, 'a' has a key with a control character.");
    EXPECT_EQ(refusal(R"(["\u00a0\u00e9"])"), "no error");
}

TEST(ParseJson, WhatIsNestedTooDeeplyIsNotRead) {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_EQ(refusal(nested(deepest_json)), "no error");
    const std::string sentence = "The profile p.json is nested deeper than 32 levels: it is not read.";
    EXPECT_EQ(refusal(nested(deepest_json + 1)), sentence);
    EXPECT_EQ(refusal(std::string(1U << 20U, '[')), sentence);
    std::string objects;
    for (std::size_t i = 0; i <= deepest_json; ++i) {
        objects += "{\"a\":";
    }
    EXPECT_EQ(refusal(objects), sentence);
}

TEST(ParseJson, MoreValuesThanAnyProfileHasAreNotRead) {
    const auto list = [](std::size_t values) {  // the list itself is one
        std::string text = "[0";
        for (std::size_t i = 2; i < values; ++i) {
            text += ",0";
        }
        return text + "]";
    };
    EXPECT_EQ(refusal(list(most_json_values)), "no error");
    EXPECT_EQ(refusal(list(most_json_values + 1)),
              "The profile p.json holds more than 4194304 values: it is not read.");
}

}  // namespace
}  // namespace qkprof
