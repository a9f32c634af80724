// `qkprof exec` with a real GPU: a program with known launches and ranges (exec_target.cu), and every way to end.
#include "program.h"

#include "device.h"
#include "exec/exec_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace qkprof::exec {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Way {
    const char* how;
    int exit_code;
    bool all_sent = true;
};

class ExecOnGpu : public Program {
  protected:
    void SetUp() override {
        if (const std::string reason = discover_gpus().no_gpu_reason; !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
    Result exec(const std::string& options, const std::string& how) {
        return qkprof("exec --quiet --out exec.json " + options + " -- " QKPROF_EXEC_TARGET " " + how);
    }
    ExecProfile profile() const { return read_exec_profile(folder_ / "exec.json"); }
};

const RangeRow& range_of(const ExecProfile& profile, const std::string& text) {
    const auto found = std::find_if(profile.ranges.begin(), profile.ranges.end(),
                                    [&](const RangeRow& range) { return text_of(range) == text; });
    EXPECT_NE(found, profile.ranges.end()) << text;
    static const RangeRow none;
    return found == profile.ranges.end() ? none : *found;
}

constexpr std::uint64_t launches = 53;
constexpr std::uint64_t transfers = 20;
constexpr std::uint64_t submissions = 57;

TEST_F(ExecOnGpu, EachLaunchCopyAndRangeIsCounted) {
    const Result result = exec("", "return");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const ExecProfile seen = profile();
    EXPECT_EQ(seen.work.launches, launches);
    EXPECT_EQ(seen.work.transfers, transfers);
    EXPECT_EQ(seen.work.submissions, submissions);
    ASSERT_EQ(seen.processes.size(), 1U);
    EXPECT_EQ(seen.processes[0].without_record, 0U);
    EXPECT_EQ(seen.processes[0].without_submission, 0U);
    EXPECT_TRUE(seen.processes[0].all_sent);
    EXPECT_THAT(seen.remarks, IsEmpty());
    const RangeRow& outer = range_of(seen, "outer");
    EXPECT_EQ(outer.calls, 1U);
    EXPECT_EQ(outer.work.launches, 30U);
    EXPECT_EQ(outer.work.transfers, transfers);
    const RangeRow& step = range_of(seen, "target@step");
    EXPECT_EQ(step.calls, 10U);
    EXPECT_EQ(step.inside, std::vector<std::string>{"outer"});
    for (const RangeCall& call : step.first_calls) {
        EXPECT_EQ(call.launches, 3U);
        EXPECT_EQ(call.transfers, 2U);
        EXPECT_EQ(call.submissions, 5U);
    }
    EXPECT_EQ(range_of(seen, "inner").work.launches, 10U);
    EXPECT_EQ(range_of(seen, "capture").work.launches, 0U);
    EXPECT_EQ(range_of(seen, "capture").work.submissions, 0U);
    EXPECT_EQ(range_of(seen, "replay").work.launches, 20U);
    EXPECT_EQ(range_of(seen, "replay").work.submissions, 4U);
}

TEST_F(ExecOnGpu, HoweverItEndsAllIsThere) {
    for (const Way& way : {Way{"exit7", 7}, Way{"_exit", 3}, Way{"quick_exit", 4}, Way{"abort", 128 + 6},
                           Way{"terminate", 128 + 15}, Way{"segv", 128 + 11}}) {
        const Result result = exec("", way.how);
        EXPECT_EQ(result.exit_code, way.exit_code) << way.how << ": " << result.err;
        EXPECT_EQ(profile().work.launches, launches) << way.how;
        EXPECT_EQ(profile().work.transfers, transfers) << way.how;
    }
}

TEST_F(ExecOnGpu, WhatAKillLostIsSaid) {
    const Result result = exec("", "kill");
    EXPECT_EQ(result.exit_code, 128 + 9);
    const ExecProfile seen = profile();
    ASSERT_EQ(seen.processes.size(), 1U);
    EXPECT_FALSE(seen.processes[0].all_sent);
    EXPECT_THAT(seen.processes[0].remarks, testing::Not(IsEmpty()));
    EXPECT_LE(seen.work.launches, launches);
}

TEST_F(ExecOnGpu, EachProcessOfAForkIsWatched) {
    const Result result = exec("", "fork");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(profile().work.launches, 2 * launches);
    EXPECT_EQ(range_of(profile(), "target@step").calls, 20U);
}

TEST_F(ExecOnGpu, ASecondUserOfCuptiIsSaid) {
    const Result result = exec("", "cupti");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ASSERT_EQ(profile().processes.size(), 1U);
    EXPECT_THAT(profile().processes[0].remarks, testing::Contains(HasSubstr("CUPTI itself")));
}

}  // namespace
}  // namespace qkprof::exec
