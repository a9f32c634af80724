// Lists, globs, the nearest name, numbers.
#include "names.h"

#include "error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qkprof {
namespace {

const std::vector<std::string> variants = {"copy", "fused_register", "fused_tile_bulk", "naive_primitives"};

TEST(SplitList, TakesBlanksOffAndRefusesEmptyItems) {
    EXPECT_EQ(split_list("a, b ,c", "--x"), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(split_list("a", "--x"), (std::vector<std::string>{"a"}));
    for (const char* bad : {"", "a,", ",a", "a,,b", " "}) {
        EXPECT_THROW(split_list(bad, "--x"), InputError) << bad;
    }
}

TEST(Glob, MatchesTheWholeName) {
    EXPECT_TRUE(matches_glob("fused_*", "fused_register"));
    EXPECT_TRUE(matches_glob("*", ""));
    EXPECT_TRUE(matches_glob("*_tile_*", "fused_tile_bulk"));
    EXPECT_TRUE(matches_glob("cop?", "copy"));
    EXPECT_TRUE(matches_glob("*a*ab", "aaab"));
    EXPECT_FALSE(matches_glob("fused", "fused_register"));
    EXPECT_FALSE(matches_glob("*register?", "fused_register"));
    EXPECT_FALSE(matches_glob("", "copy"));
}

TEST(Glob, IsNotExponential) {
    std::string pattern;
    for (int i = 0; i < 40; ++i) {
        pattern += "*a";
    }
    EXPECT_FALSE(matches_glob(pattern + "b", std::string(2000, 'a')));
}

TEST(NearestName, IsNearOrNone) {
    EXPECT_EQ(nearest_name("fused_regster", variants), "fused_register");
    EXPECT_EQ(nearest_name("cpoy", variants), "copy");
    EXPECT_EQ(nearest_name("rnu", std::vector<std::string>{"run"}), "run");  // a swap is one step
    EXPECT_EQ(nearest_name("zzzzzzzz", variants), "");
    EXPECT_EQ(nearest_name("", variants), "");
    EXPECT_EQ(suggestion("naive_primitive", variants), " Did you mean 'naive_primitives'?");
    EXPECT_EQ(suggestion("qqqqqqqqqqqqqqqqq", std::vector<std::string>{"a", "b", "c"}), " There are a, b and c.");
}

TEST(ParseInteger, SaysWhatIsWrong) {
    EXPECT_EQ(parse_integer("-7", "it", -10, 10), -7);
    for (const char* bad : {"", "1.5", "x", "1x", "+1", " 1", "0x10"}) {
        EXPECT_THROW(parse_integer(bad, "it", -10, 100), InputError) << bad;
    }
    for (const char* bad : {"11", "-11", "99999999999999999999"}) {
        EXPECT_THROW(parse_integer(bad, "it", -10, 10), InputError) << bad;
    }
}

TEST(ParseBytes, KnowsItsSuffixes) {
    EXPECT_EQ(parse_bytes("50M", "it"), 50LL << 20);
    EXPECT_EQ(parse_bytes("512K", "it"), 512LL << 10);
    EXPECT_EQ(parse_bytes("2G", "it"), 2LL << 30);
    EXPECT_EQ(parse_bytes("4096", "it"), 4096);
    for (const char* bad : {"", "M", "0", "-1", "1.5M", "1T", "9223372036854775807K", "50MB"}) {
        EXPECT_THROW(parse_bytes(bad, "it"), InputError) << bad;
    }
}

}  // namespace
}  // namespace qkprof
