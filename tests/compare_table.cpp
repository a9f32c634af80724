// What qkprof compare prints of a made-up comparison, against golden files (tests/golden/), and what is in no golden
// file: what many cells, and text that is anything, become. QKPROF_UPDATE_GOLDEN=1 build/tests/compare_table writes
// them anew.
#include "compare_table.h"

#include "annotations.h"
#include "compare_rows.h"
#include "golden.h"
#include "junit.h"
#include "sample_profile.h"
#include "thresholds_table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <pugixml.hpp>
#include <sstream>

namespace qkprof {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Measurements and the cells that compare them.
class MadeUp {
  public:
    const Measurement& measurement(const std::string& variant, CacheState state = CacheState::warm) {
        Measurement& m = measurements_.emplace_back();
        m.variant = variant;
        m.problem = {.batch = 128, .sequence = 1024, .heads = 16, .head_dim = 128, .dtype = DataType::bf16};
        m.state = state;
        m.verification = correct_result();
        return m;
    }
    Difference& add(Standing standing, const std::string& metric, const Measurement& of, std::string reason = {}) {
        Difference& d = comparison.differences.emplace_back();
        d.base = d.now = &of;
        d.metric = metric;
        d.standing = standing;
        d.reason = std::move(reason);
        d.allowance.place = "profiles/thresholds.toml, line 17";
        return d;
    }
    Difference& add(Standing standing, const std::string& metric, const Measurement& of, double base, double now) {
        Difference& d = add(standing, metric, of);
        d.base_value = base;
        d.now_value = now;
        if (base != 0) {
            d.change = now / base - 1;
        }
        return d;
    }
    Difference& add_time(Standing standing, const Measurement& of, double base, double now, std::string reason = {}) {
        Difference& d = add(standing, "real_time", of, base, now);
        d.interval = {*d.change - 0.01, *d.change + 0.015};
        d.allowance.relative = 0.015;
        d.allowance.place = "mine.toml, line 3";
        d.noise = 0.04;
        d.finds = 0.055;
        d.reason = std::move(reason);
        return d;
    }

    Comparison comparison;

  private:
    std::deque<Measurement> measurements_;  // their places stay
};

// A cell of each kind.
class OneOfEach : public MadeUp {
  public:
    OneOfEach() {
        const Measurement& register_cold = measurement("fused_register_paired", CacheState::cold);
        const Measurement& register_warm = measurement("fused_register_paired");
        Difference& conflicts = add(Standing::worse, "bank_conflicts", register_cold, 0, 14);
        conflicts.allowance.relative_to = "shared_wavefronts";
        conflicts.allowance.relative = 0.1;
        conflicts.allowed = 13;
        add_time(Standing::worse, register_warm, 1e-4, 1.2e-4).noise_measured = true;
        Difference& dram = add(Standing::worse, "dram_read_bytes", register_warm, 1 << 26, (1 << 26) + (8 << 20));
        dram.allowance.relative = 0.06;
        dram.allowance.absolute = 131072;
        dram.allowed = 0.06 * (1 << 26);
        add(Standing::worse, "global_load_sectors", register_warm, 4096, 4160);
        add(Standing::worse, "global_store_sectors", register_warm, 17179869184, 17179869185);

        Difference& gone = add(Standing::missing, "result", measurement("naive_primitives"), "NEW does not hold it");
        gone.now = nullptr;
        gone.allowance = {};
        Difference& unknown = add(Standing::missing, "dram_write_bytes", register_warm,
                                  "unknown in NEW: the user <nobody> may not read it");
        unknown.base_value = 12000;
        unknown.allowance.absolute = 131072;

        for (int i = 0; i < 5; ++i) {
            Difference& clock = add(Standing::not_comparable, "real_time",
                                    measurement("fused_tile_bulk", i % 2 == 0 ? CacheState::cold : CacheState::warm),
                                    fmt::format("the SM clock was 1980 MHz in BASE and {} in NEW", 1500 + i));
            clock.allowance.relative = 0.015;
        }
        add_time(Standing::inconclusive, register_cold, 5.41e-6, 5.46e-6,
                 "the interval reaches over the 1.5 % allowed");

        Difference& error = add(Standing::better, "error_norm", register_cold, 2e-7, 1e-7);
        error.allowance.relative = 0.1;
        error.allowed = 2e-8;
        add(Standing::same, "launches", register_warm, 1, 1);
        Difference& l2 = add(Standing::same, "l2_read_sectors", register_warm, 0.5, 0.5);
        l2.allowance.relative = 0.05;
        l2.allowance.absolute = l2.allowed = 256;
        comparison.notes = {"BASE has the driver 570.86 and NEW 575.57 | beta."};
        comparison.only_in_new = {"new_variant/128x1024x16x128/bf16/cold", "new_variant/128x1024x16x128/bf16/warm"};
    }
};

std::string text_of(const MadeUp& made_up, const CompareView& view, bool colour = false) {
    return to_text(differences_table(made_up.comparison, view), colour);
}

TEST(CompareTable, Text) { expect_golden("compare.txt", text_of(OneOfEach(), {})); }
TEST(CompareTable, All) { expect_golden("compare_all.txt", text_of(OneOfEach(), {.all = true})); }
TEST(CompareTable, Explained) { expect_golden("compare_explain.txt", text_of(OneOfEach(), {.explain = true})); }
TEST(CompareTable, Colours) { expect_golden("compare_colour.txt", text_of(OneOfEach(), {}, true)); }
TEST(CompareTable, Markdown) { expect_golden("compare.md", to_markdown(OneOfEach().comparison, {})); }
TEST(CompareTable, Csv) { expect_golden("compare.csv", to_csv(difference_rows(OneOfEach().comparison))); }
TEST(CompareTable, Json) { expect_golden("compare.json", to_json(OneOfEach().comparison, false)); }
TEST(CompareTable, Junit) { expect_golden("compare.xml", to_junit(OneOfEach().comparison, false)); }

// With the longest name of the first form and a count of eleven digits; without times, as on the emulated device, less.
TEST(CompareTable, LinesAreAboutAsLongAsATerminalIsWide) {
    const auto longest = [](const std::string& text) {
        std::istringstream lines(text);
        std::size_t most = 0;
        for (std::string line; std::getline(lines, line);) {
            most = std::max(most, width_of(line));
        }
        return most;
    };
    OneOfEach each;
    EXPECT_LE(longest(text_of(each, {})), 130U);
    for (Difference& cell : each.comparison.differences) {
        cell.interval.reset();
    }
    EXPECT_LE(longest(text_of(each, {})), 120U);
}

TEST(CompareTable, TheVerdictIsASentence) {
    MadeUp one;
    const Measurement& m = one.measurement("x");
    one.add(Standing::same, "launches", m, 1, 1);
    EXPECT_EQ(verdict_of(one.comparison, true), "Passed: of 1 cell none is worse.");
    one.add(Standing::inconclusive, "real_time", m, "why");
    EXPECT_EQ(verdict_of(one.comparison, false), "Inconclusive: of 2 cells none is worse, but 1 is inconclusive.");
    one.add(Standing::missing, "launches", m, "why");
    one.add(Standing::missing, "registers", m, "why");
    EXPECT_EQ(verdict_of(one.comparison, true),
              "Failed: of 4 cells none is worse, but 2 are missing and 1 inconclusive, which --strict does not let "
              "pass.");
    one.add(Standing::worse, "launches", m, 1, 2);
    EXPECT_EQ(verdict_of(one.comparison, false), "Worse: 1 of 5 cells.");
    one.add(Standing::worse, "result", m, "wrong result");
    EXPECT_EQ(verdict_of(one.comparison, false), "Wrong: NEW computes 1 wrong result; 2 of 6 cells are worse.");
}

TEST(CompareTable, OfManyCellsForOneReasonTheFirstIsShown) {
    MadeUp many;
    for (int i = 0; i < 1000; ++i) {
        many.add(Standing::missing, "launches", many.measurement(fmt::format("v{}", i)), "NEW does not hold it");
    }
    many.add(Standing::missing, "launches", many.measurement("other"), "CUPTI may not");
    const Section section = differences_table(many.comparison, {}).sections.at(0);
    EXPECT_EQ(section.heading, "missing: 1001 cells");
    EXPECT_THAT(section.rows, SizeIs(2));
    EXPECT_THAT(section.notes,
                testing::ElementsAre("- v0/128x1024x16x128/bf16/warm launches and 999 alike: NEW does not hold it",
                                     "- other/128x1024x16x128/bf16/warm launches: CUPTI may not"));
    EXPECT_THAT(differences_table(many.comparison, {.all = true}).sections.at(0).rows, SizeIs(1001));
    EXPECT_THAT(to_markdown(many.comparison, {}), HasSubstr("| of this and 999 alike: NEW does not hold it |"));
    // What each cell's reason says of its own numbers is no other reason.
    MadeUp clocks;
    for (int i = 0; i < 10; ++i) {
        clocks.add(Standing::not_comparable, "real_time", clocks.measurement("x"), fmt::format("{}.5 MHz", i * 100));
    }
    EXPECT_THAT(by_reason(clocks.comparison, Standing::not_comparable), SizeIs(1));
}

TEST(CompareTable, TheWorstOfManyAreShown) {
    MadeUp many;
    for (int i = 0; i < 1000; ++i) {
        many.add(Standing::worse, "launches", many.measurement(i % 4 == 0 ? "a" : "b"), 1, 1001 - i);
    }
    const Section section = differences_table(many.comparison, {}).sections.at(0);
    ASSERT_THAT(section.rows, SizeIs(40));
    EXPECT_EQ(section.rows[39][3].text, "962");
    EXPECT_EQ(section.notes.front(), "and 960 more, which --all shows: 240 of a and 720 of b");
    const std::string markdown = to_markdown(many.comparison, {});
    EXPECT_THAT(markdown, HasSubstr("<details><summary>The 200 rows</summary>\n\n| verdict |"));
    EXPECT_THAT(markdown, HasSubstr("|\n\n</details>\n\n- and 800 more, which --all shows: 200 of a and 600 of b\n"));
    EXPECT_LT(markdown.size(), 65536U);
    EXPECT_THAT(differences_table(many.comparison, {.all = true}).sections.at(0).rows, SizeIs(1000));
}

TEST(CompareTable, MarkdownIsFoldedFromTwentyOneRowsOn) {
    MadeUp twenty;
    for (int i = 0; i < 20; ++i) {
        twenty.add(Standing::worse, "launches", twenty.measurement("a"), 1, 2);
    }
    EXPECT_THAT(to_markdown(twenty.comparison, {}), Not(HasSubstr("<details>")));
    twenty.add(Standing::worse, "launches", twenty.measurement("a"), 1, 2);
    EXPECT_THAT(to_markdown(twenty.comparison, {}), HasSubstr("<details>"));
}

TEST(CompareTable, OfWhatWasNotHeldAgainstNothingIsSaidToBeAllowed) {
    MadeUp other;
    other.add(Standing::not_comparable, "launches", other.measurement("x"), 1, 2).reason = "another device";
    EXPECT_EQ(differences_table(other.comparison, {}).sections.at(0).rows.at(0).at(5).text, "");
    const auto json = nlohmann::json::parse(to_json(other.comparison, false));
    EXPECT_TRUE(json.at("cells").at(0).at("allowed").is_null());
}

TEST(CompareTable, ANameThatIsAnythingStaysInItsLine) {
    MadeUp odd;
    odd.add(Standing::missing, "launches", odd.measurement("a\n::error::`|<b>"), "its\n<reason>");
    EXPECT_THAT(text_of(odd, {}), HasSubstr("a\\x0a::error::`|<b>/128x1024x16x128/bf16/warm"));
    EXPECT_THAT(text_of(odd, {}), Not(HasSubstr("\n::")));
    EXPECT_THAT(to_markdown(odd.comparison, {}),
                HasSubstr("| `a\\x0a::error::'\\|<b>/128x1024x16x128/bf16/warm` | launches | - | - | - |  | "
                          "its\\\\x0a\\<reason\\> |"));
}

TEST(CompareTable, JsonHoldsNoNumberThatIsNone) {
    MadeUp one;
    one.add(Standing::worse, "error_norm", one.measurement("x\xff"), 1e-7, std::numeric_limits<double>::quiet_NaN());
    const auto json = nlohmann::json::parse(to_json(one.comparison, false));
    EXPECT_TRUE(json.at("cells").at(0).at("new").is_null());
    EXPECT_EQ(json.at("verdict"), "failed");
    EXPECT_EQ(json.at("counts").at("worse"), 1);
}

pugi::xml_document read(const std::string& xml) {
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_string(xml.c_str(), pugi::parse_full);
    EXPECT_TRUE(result) << result.description() << "\n" << xml;
    return document;
}

TEST(Junit, CountsWhatItHolds) {
    for (const bool strict : {false, true}) {
        const pugi::xml_document document = read(to_junit(OneOfEach().comparison, strict));
        const pugi::xml_node root = document.child("testsuites");
        EXPECT_EQ(root.select_nodes("testsuite").size(), 3U);
        EXPECT_EQ(root.select_nodes("testsuite/testcase/failure").size(), strict ? 13U : 5U);
        for (const pugi::xpath_node& node : document.select_nodes("//testsuites | //testsuite")) {
            const auto within = [&](const char* path) { return node.node().select_nodes(path).size(); };
            EXPECT_EQ(node.node().attribute("tests").as_uint(), within(".//testcase"));
            EXPECT_EQ(node.node().attribute("failures").as_uint(), within(".//failure"));
            EXPECT_EQ(node.node().attribute("skipped").as_uint(), within(".//skipped"));
        }
    }
}

TEST(Junit, AnyTextBecomesXml) {
    MadeUp odd;
    const std::string name = "a<&>\"'\x01\x1b[31m\n\xff\xef\xbf\xbf\xc3\xa9";
    odd.add(Standing::worse, "launches", odd.measurement(name), "]]> \x02");
    const std::string xml = to_junit(odd.comparison, false);
    for (const char c : xml) {
        EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
    }
    EXPECT_THAT(xml, Not(HasSubstr("&#1;")));
    const pugi::xml_document document = read(xml);
    const pugi::xml_node test = document.child("testsuites").child("testsuite").child("testcase");
    const std::string unknown = "\xef\xbf\xbd";
    EXPECT_EQ(test.attribute("classname").value(), "a<&>\"'\\x01\\x1b[31m\\x0a\\xff" + unknown + "\xc3\xa9");
    EXPECT_THAT(test.child("failure").text().get(), HasSubstr("]]> \\x02"));
    EXPECT_STREQ(test.attribute("name").value(), "128x1024x16x128/bf16/warm: launches");
}

TEST(Annotations, OfEachKind) {
    std::string text;
    for (const std::string& line : annotations(OneOfEach().comparison)) {
        text += line + "\n";
    }
    expect_golden("compare_annotations.txt", text);
}

TEST(Annotations, OfMoreThanTenTheTenthSaysHowMany) {
    MadeUp many;
    for (int i = 0; i < 10; ++i) {
        many.add(Standing::worse, "launches", many.measurement(fmt::format("v{}", i)), 1, 2);
    }
    EXPECT_THAT(annotations(many.comparison), SizeIs(10));
    EXPECT_THAT(annotations(many.comparison).back(), HasSubstr("v9/"));
    for (int i = 0; i < 15; ++i) {
        many.add(Standing::worse, "launches", many.measurement("w"), 1, 2);
        many.add(Standing::missing, "launches", many.measurement("w"), std::string(1, static_cast<char>('a' + i)));
    }
    const std::vector<std::string> lines = annotations(many.comparison);
    ASSERT_THAT(lines, SizeIs(20));
    EXPECT_EQ(lines[9], "::error title=qkprof compare::And 16 more, which the output of this step holds.");
    EXPECT_THAT(lines[10], HasSubstr("::warning title=qkprof%3A missing::w/"));
    EXPECT_EQ(lines[19], "::warning title=qkprof compare::And 6 more, which the output of this step holds.");
}

TEST(Annotations, NoTextEndsOne) {
    MadeUp odd;
    odd.add(Standing::worse, "launches", odd.measurement("100%\r\n::error::x"), 1, 2);
    EXPECT_THAT(annotations(odd.comparison).at(0), HasSubstr("::100%25%0D%0A::error::x/128x"));
}

TEST(ThresholdsTable, SaysOfEachEntryWhatItIsAboutAndAllows) {
    const Thresholds thresholds(parse_thresholds(R"(
[[threshold]]
metrics = ["launches", "submissions", "global_load_sectors"]
relative = 0
absolute = 0
[[threshold]]
metrics = ["dram_read_bytes"]
variants = "fused_*"
dtypes = ["bf16", "f16"]
states = "cold"
sources = "counted"
relative = 0.06
relative_to = "compulsory_bytes"
absolute = 131072
[[threshold]]
metrics = ["real_time"]
relative = 0.015
noise_without_aa = 0.12
[[threshold]]
metrics = ["real_time"]
states = "warm"
noise_without_aa = 0.04
[[threshold]]
metrics = ["registers"]
compared = false
)",
                                                 "mine.toml", {"fused_x"}));
    expect_golden("compare_thresholds.txt", to_text(thresholds_table(thresholds, 24), false));
    expect_golden("compare_thresholds.csv", to_csv(threshold_rows(thresholds)));
}

}  // namespace
}  // namespace qkprof
