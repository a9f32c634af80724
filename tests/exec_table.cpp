// What people read of an exec profile, and of one call of a range.
#include "exec/exec_table.h"
#include "error.h"
#include "exec/per_call.h"
#include "exec/quantities.h"
#include "sample_exec_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace qkprof::exec {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string text_of_all(const ExecProfile& profile, const TableChoice& choice = {}) {
    std::string text;
    for (const Table& table : exec_tables(profile, choice)) {
        text += to_text(table, false) + "\n";
    }
    return text;
}

TEST(ExecTable, SaysWhatRanAndWhatIsDoubtful) {
    const std::string text = text_of_all(sample_exec_profile());
    EXPECT_THAT(text, HasSubstr("python train.py --name two words; 12.5 s, exit code 3, 2 processes"));
    EXPECT_THAT(text, HasSubstr("14 executions of kernels by 9 submissions, 2 transfers."));
    EXPECT_THAT(text, HasSubstr("busy 25.0 us, 2.5 % of the 1.00 ms"));
    EXPECT_THAT(text, HasSubstr("128x2 .."));  // in several forms
    EXPECT_THAT(text, HasSubstr("\nmodel@layer"));
    EXPECT_THAT(text, HasSubstr("4 to 5"));
    EXPECT_THAT(text, HasSubstr("\n  norm "));
    EXPECT_THAT(text, HasSubstr("copy host to device"));
    EXPECT_THAT(text, HasSubstr("1: NVIDIA H200"));
    EXPECT_THAT(text, HasSubstr("1 further process did nothing on a GPU."));
    EXPECT_THAT(text, HasSubstr("A remark on all."));
    EXPECT_THAT(text, HasSubstr("Process 100: nothing more is recorded: CUPTI is too old."));
    EXPECT_THAT(text, HasSubstr("Process 100: CUPTI dropped 1 record(s)"));
    EXPECT_THAT(text, HasSubstr("Process 100: 3 submission(s) have no record."));
}

// A time that is not known is no 0.
TEST(ExecTable, AKernelWithoutTimesHasQuestionMarks) {
    const std::string text = text_of_all(sample_exec_profile());
    const std::size_t at = text.find("timeless");
    ASSERT_NE(at, std::string::npos);
    const std::string line = text.substr(at, text.find('\n', at) - at);
    EXPECT_THAT(line, HasSubstr("?"));
    EXPECT_THAT(line, Not(HasSubstr(" s ")));
    EXPECT_THAT(line, Not(HasSubstr("0")));
}

TEST(ExecTable, NothingIsSaidAsNothing) {
    ExecProfile profile;
    profile.command = {"true"};
    profile.exit_code = 0;
    EXPECT_THAT(text_of_all(profile), HasSubstr("Nothing ran on a GPU, as far as was seen."));
    EXPECT_THAT(text_of_all(profile), Not(HasSubstr("busy")));
}

TEST(ExecTable, TheRestIsOneLine) {
    ExecProfile profile = sample_exec_profile();
    for (int i = 0; i < 30; ++i) {
        profile.work.kernels.push_back(profile.work.kernels[0]);
    }
    EXPECT_THAT(text_of_all(profile, {.top = 2}), ContainsRegex("30 further kernels +360 +900 us +96.8 %"));
    EXPECT_THAT(text_of_all(profile, {.top = 1}), HasSubstr("1 further range: --top shows more."));
    profile.processes.push_back(profile.processes[0]);
    EXPECT_THAT(text_of_all(profile, {.top = 1}), HasSubstr("1 further process: --top shows more."));
}

TEST(ExecTable, NamesAreShortInTheirMiddleOnATableAlone) {
    ExecProfile profile = sample_exec_profile();
    const std::string name = "begin" + std::string(500, 'x') + "\xc3\xa9nd";
    profile.work.kernels[0].name = name;
    EXPECT_THAT(text_of_all(profile), Not(HasSubstr(name)));
    EXPECT_THAT(text_of_all(profile), HasSubstr("xxx\xc3\xa9nd "));
    EXPECT_THAT(to_csv(exec_rows(profile)), HasSubstr(name));
    EXPECT_EQ(shortened("abcdefghij", 7), "ab...ij");
    EXPECT_EQ(shortened("abcdefg", 7), "abcdefg");
    EXPECT_EQ(width_of(shortened(std::string(3, 'a') + "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 8)), 8U);
}

TEST(ExecTable, RowsForAProgramHoldAllOfIt) {
    const std::string csv = to_csv(exec_rows(sample_exec_profile()));
    EXPECT_THAT(csv, HasSubstr("\nwhole,,,,14,2,9,"));
    EXPECT_THAT(csv, HasSubstr("\nrange,model@layer > norm,norm,200,600,"));
    EXPECT_THAT(csv, HasSubstr("\ntransfer,,fill,,,,,,,,,1,64,,"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 1 + 4 + 1 + 4 + 1 + 1);
}

TEST(ExecTable, QuantitiesHaveThreeDigits) {
    EXPECT_EQ(time_text(0), "0 s");
    EXPECT_EQ(time_text(1.234e-9), "1.23 ns");
    EXPECT_EQ(time_text(9.996e-6), "10.0 us");
    EXPECT_EQ(time_text(999.6e-6), "1.00 ms");
    EXPECT_EQ(time_text(45), "45.0 s");
    EXPECT_EQ(time_text(3600), "60.0 min");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.50 KiB");
    EXPECT_EQ(bytes_text(std::uint64_t{1} << 40U), "1.00 TiB");
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(1234567), "1 234 567");
    EXPECT_EQ(count_text(123), "123");
}

TEST(ExecPerCall, RangesAreMeantByNameDomainOrGlob) {
    const ExecProfile profile = sample_exec_profile();
    const auto meant = [&](const char* text) {
        std::vector<std::string> names;
        for (const RangeRow* range : ranges_of(profile, text)) {
            names.push_back(text_of(*range));
        }
        return names;
    };
    EXPECT_THAT(meant("layer"), ElementsAre("model@layer"));
    EXPECT_THAT(meant("model@layer"), ElementsAre("model@layer"));
    EXPECT_THAT(meant("model@*"), ElementsAre("model@layer"));
    EXPECT_THAT(meant("*"), ElementsAre("model@layer", "norm"));
    EXPECT_THAT(meant("n?rm"), ElementsAre("norm"));
    const auto refusal = [](const ExecProfile& of, const char* text) {
        try {
            (void)ranges_of(of, text);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(refusal(profile, "nrm"),
              "--per-call nrm: there was no such range. Did you mean 'norm'? There were "
              "model@layer and norm.");
    EXPECT_EQ(refusal(ExecProfile(), "norm"), "--per-call norm: the command had no NVTX range.");
}

TEST(ExecPerCall, AnExactTextIsNoGlob) {
    ExecProfile profile = sample_exec_profile();
    profile.ranges[0].name = "n*";
    ASSERT_EQ(ranges_of(profile, "n*").size(), 1U);
    EXPECT_EQ(ranges_of(profile, "n*")[0], &profile.ranges[0]);
}

TEST(ExecPerCall, EqualCallsAreOneNumberAndOthersADistribution) {
    const ExecProfile profile = sample_exec_profile();
    const std::string norm = per_call_text(profile.ranges[1], 60);
    EXPECT_THAT(norm, HasSubstr("norm in model@layer\n  3 launches per call, in each of 200 calls\n"));
    EXPECT_THAT(norm, HasSubstr("\n    3 x norm, median 2.25 us\n"));
    const std::string layer = per_call_text(profile.ranges[0], 60);
    EXPECT_THAT(layer, HasSubstr("\n  4 to 5 launches per call, in 3 calls: 4 in 1, 5 in 2\n"));
    EXPECT_THAT(layer, HasSubstr("\n  GPU busy 10.0 us (median; 0 s to 10.0 us)\n"));
    EXPECT_THAT(layer, HasSubstr("\n  1 call was never popped\n"));
    EXPECT_THAT(layer, HasSubstr("\n  3 submissions in it got no record"));
    EXPECT_THAT(layer, HasSubstr("\n  1 record came after"));
}

TEST(ExecPerCall, OfMoreCallsThanAreKeptTheFirstAreSaidToBeThose) {
    RangeRow range = sample_exec_profile().ranges[1];
    range.calls = 100'000;
    range.most_launches = 4;
    const std::string text = per_call_text(range, 60);
    EXPECT_THAT(text, HasSubstr("3 launches per call, in each of the first 200 of 100 000 calls"));
    EXPECT_THAT(text, HasSubstr("launches over all calls: 3 to 4"));
}

}  // namespace
}  // namespace qkprof::exec
