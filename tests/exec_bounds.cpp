// That the memory is bounded, and that what it leaves out is said; and how fast messages are taken.
#include "exec_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace qkprof::exec {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ExecProfile profile_of(const Collector& collector) { return collector.profile(1'000'000'000'000'000); }

TEST(ExecBounds, ManyNamesOfKernelsAndRangesAreOthers) {
    Collector::Limits limits;
    limits.kernels = 5;
    limits.ranges = 6;
    Collector collector(nullptr, limits);
    MadeUpProcess process(collector);
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t outer = process.push("outer " + std::to_string(i));
        const std::uint64_t inner = process.push("inner", outer);
        process.launch(inner, "kernel " + std::to_string(i), 1000 + static_cast<std::uint64_t>(i) * 100);
        process.pop(inner);
        process.pop(outer);
    }
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.work.kernels.size(), 6U);
    EXPECT_EQ(profile.work.kernels[0].name, others_name);
    EXPECT_EQ(profile.work.kernels[0].count, 15U);
    EXPECT_EQ(profile.work.launches, 20U);
    EXPECT_EQ(profile.ranges.back().name, others_name);
    std::uint64_t outermost = 0;
    for (const RangeRow& row : profile.ranges) {
        outermost += row.inside.empty() ? row.work.launches : 0;
    }
    EXPECT_EQ(outermost, 20U);  // none is counted twice
    EXPECT_THAT(profile.remarks, Contains(HasSubstr("at least 5 distinct kernels")));
    EXPECT_THAT(profile.remarks, Contains(HasSubstr("at least 6 distinct ranges")));
}

TEST(ExecBounds, OfTooManyRangesTheIdleAreCountedTogether) {
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint64_t busy = process.push("busy");
    process.launch(busy, "kernel", 1000);
    process.pop(busy);
    for (int i = 0; i < 5000; ++i) {
        process.pop(process.push("pass " + std::to_string(i)));
    }
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.ranges.size(), 2U);
    EXPECT_EQ(profile.ranges[0].name, "busy");
    EXPECT_EQ(profile.ranges[1].name, others_name);
    EXPECT_EQ(profile.ranges[1].calls, 5000U);
    EXPECT_EQ(profile.ranges[1].most_launches, 0U);
    EXPECT_EQ(parse_exec_profile(to_json(profile), "p").ranges[1].calls, 5000U);
    EXPECT_THAT(profile.remarks, Contains(HasSubstr("Of so many ranges the 5000 in which nothing was submitted")));
    EXPECT_THAT(profile.remarks, Not(Contains(HasSubstr("distinct ranges"))));
}

TEST(ExecBounds, AsManyRangesAsAreKeptApartAreNotTooMany) {
    Collector::Limits limits;
    limits.ranges = 6;
    Collector collector(nullptr, limits);
    MadeUpProcess process(collector);
    for (int i = 0; i < 6; ++i) {
        process.pop(process.push("range " + std::to_string(i)));
    }
    EXPECT_EQ(profile_of(collector).ranges.size(), 6U);
    EXPECT_THAT(profile_of(collector).remarks, testing::IsEmpty());
    process.pop(process.push("one more"));
    EXPECT_THAT(profile_of(collector).remarks, Contains(HasSubstr("at least 6 distinct ranges")));
}

TEST(ExecBounds, RecordsThatComeAfterTheirRangeWasCounted) {
    Collector::Limits limits;
    limits.instances.live = 10;
    limits.instances.counted = 20;
    Collector collector(nullptr, limits);
    MadeUpProcess process(collector);
    std::vector<std::uint32_t> submissions;
    for (int i = 0; i < 50; ++i) {
        const std::uint64_t step = process.push("step");
        submissions.push_back(process.submit(step));
        process.pop(step);
    }
    EXPECT_LE(collector.sizes(process.connection()).live_ranges, 10U);
    EXPECT_LE(collector.sizes(process.connection()).remembered_ranges, 20U);
    std::uint64_t time = 1000;
    for (const std::uint32_t submission : submissions) {
        process.kernel(submission, "kernel", time += 100, 10);
    }
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.work.launches, 50U);
    const RangeRow& row = profile.ranges.at(0);
    EXPECT_EQ(row.calls, 50U);
    EXPECT_EQ(row.work.launches, 30U);  // of the last 10 as it should be, of 20 late, of 20 nobody knows
    EXPECT_EQ(row.late_records, 20U);
    EXPECT_EQ(row.most_launches, 1U);
    EXPECT_EQ(row.least_launches, 0U);
    EXPECT_DOUBLE_EQ(row.work.busy_seconds, 300e-9);
    EXPECT_THAT(profile.processes[0].remarks, Contains(HasSubstr("20 record(s) came when their range had been")));
    EXPECT_THAT(profile.processes[0].remarks, Contains(HasSubstr("20 record(s) or submission(s) came so late")));
}

TEST(ExecBounds, CallsAreKeptInTheOrderOfTheirPushesUpToALimit) {
    Collector collector;
    MadeUpProcess process(collector);
    for (std::uint64_t i = 0; i < 5000; ++i) {
        const std::uint64_t step = process.push("step");
        for (std::uint64_t launch = 0; launch <= i % 3; ++launch) {
            process.launch(step, "kernel", 1000 + i * 100 + launch * 20);
        }
        process.pop(step);
    }
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    const RangeRow& row = profile.ranges.at(0);
    ASSERT_EQ(row.first_calls.size(), most_calls_kept);
    for (std::size_t i = 0; i < row.first_calls.size(); ++i) {
        ASSERT_EQ(row.first_calls[i].launches, i % 3 + 1);
    }
    EXPECT_EQ(row.least_launches, 1U);
    EXPECT_EQ(row.most_launches, 3U);
}

TEST(ExecBounds, RangesThatAreNeverPoppedEndInTheDeepestOne) {
    Collector collector;
    MadeUpProcess process(collector);
    std::uint64_t range = 0;
    for (int i = 0; i < 1000; ++i) {
        range = process.push("leak", range);
        process.launch(range, "kernel", 1000 + static_cast<std::uint64_t>(i) * 100);
    }
    EXPECT_EQ(collector.sizes(process.connection()).live_ranges, 64U);
    process.goodbye();
    process.close();
    const ExecProfile profile = profile_of(collector);
    ASSERT_EQ(profile.ranges.size(), 64U);
    EXPECT_EQ(profile.ranges.front().work.launches, 1000U);
    EXPECT_EQ(profile.ranges.back().work.launches, 1000U - 63U);
    EXPECT_THAT(profile.processes[0].remarks, Contains(HasSubstr("936 range(s) were nested too deep")));
}

TEST(ExecBounds, SubmissionsWhoseRecordsNeverComeAreGivenUp) {
    Collector::Limits limits;
    limits.submissions.waiting = 100;
    Collector collector(nullptr, limits);
    MadeUpProcess process(collector);
    for (int i = 0; i < 1000; ++i) {
        (void)process.submit();
    }
    EXPECT_EQ(collector.sizes(process.connection()).submissions, 100U);
    process.goodbye();
    process.close();
    EXPECT_EQ(profile_of(collector).processes[0].without_record, 1000U);
    EXPECT_THAT(profile_of(collector).processes[0].remarks, Contains(HasSubstr("900 submission(s) waited so long")));
}

TEST(ExecBounds, ManyProcessesThatDoNothingAreCountedAlone) {
    Collector::Limits limits;
    limits.processes = 10;
    Collector collector(nullptr, limits);
    for (int i = 0; i < 30; ++i) {
        MadeUpProcess(collector, 1000 + i, 0).close();
    }
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.processes.size(), 10U);
    EXPECT_THAT(profile.remarks, Contains("20 further process(es) did not use CUDA."));
}

// A program of 300,000 steps, each two nested ranges and three launches, one of which is a graph of two: 3.9 million
// messages. Its records come 5000 steps after their calls.
TEST(ExecBounds, AnHourOfLaunchesTakesNoMoreMemoryThanAMinute) {
    constexpr std::uint64_t steps = 300'000;
    constexpr std::uint64_t behind = 5000;
    Collector collector;
    MadeUpProcess process(collector);
    const std::uint32_t first = process.name("first");
    const std::uint32_t second = process.name("second");
    std::string bytes;
    std::uint64_t messages = 0;
    double seconds = 0;
    const auto put = [&](MessageKind kind, const auto& body) {
        bytes += encoded(kind, body);
        ++messages;
    };
    Collector::Sizes most;
    for (std::uint64_t i = 0; i < steps + behind; ++i) {
        if (i < steps) {
            const std::uint64_t outer = 2 * i + 1;
            const auto correlation = static_cast<std::uint32_t>(3 * i);
            put(MessageKind::push, Push{.time = 1000 * i, .range = outer, .name = first});
            put(MessageKind::submission, Submission{.time = 1000 * i, .range = outer, .correlation = correlation});
            put(MessageKind::push, Push{.time = 1000 * i, .range = outer + 1, .parent = outer, .name = second});
            put(MessageKind::submission,
                Submission{.time = 1000 * i, .range = outer + 1, .correlation = correlation + 1});
            put(MessageKind::pop, Pop{.time = 1000 * i + 10, .range = outer + 1});
            put(MessageKind::submission,
                Submission{
                    .time = 1000 * i, .range = outer, .correlation = correlation + 2, .kind = SubmissionKind::graph});
            put(MessageKind::pop, Pop{.time = 1000 * i + 10, .range = outer});
        }
        if (i >= behind) {
            const std::uint64_t of = i - behind;
            for (std::uint32_t launch = 0; launch < 4; ++launch) {
                const std::uint64_t start = 1000 * (of + 1) + launch * 100;
                put(MessageKind::kernel,
                    Kernel{.start = start,
                           .end = start + 50,
                           .correlation = static_cast<std::uint32_t>(3 * of + std::min(launch, 2U)),
                           .name = launch % 2 == 0 ? first : second});
            }
        }
        if (i % 1000 == 0) {
            const auto begin = std::chrono::steady_clock::now();
            process.tell(bytes);
            seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            bytes.clear();
            const Collector::Sizes sizes = collector.sizes(process.connection());
            most.submissions = std::max(most.submissions, sizes.submissions);
            most.live_ranges = std::max(most.live_ranges, sizes.live_ranges);
            most.remembered_ranges = std::max(most.remembered_ranges, sizes.remembered_ranges);
            most.range_intervals = std::max(most.range_intervals, sizes.range_intervals);
            most.gpu_intervals = std::max(most.gpu_intervals, sizes.gpu_intervals);
        }
    }
    process.tell(bytes);
    process.goodbye();
    process.close();
    std::printf("%.2f million messages a second\n", static_cast<double>(messages) / seconds / 1e6);
    EXPECT_LE(most.submissions, 1'000'000U + 16'384U + 2 * behind + 3000U);
    EXPECT_LE(most.live_ranges, 50'001U);
    EXPECT_LE(most.remembered_ranges, 400'000U);
    EXPECT_LE(most.range_intervals, 500'003U);
    EXPECT_LE(most.gpu_intervals, 100'000U);
    const ExecProfile profile = profile_of(collector);
    EXPECT_EQ(profile.work.launches, 4 * steps);
    EXPECT_DOUBLE_EQ(profile.work.busy_seconds, 4 * steps * 50e-9);
    ASSERT_EQ(profile.ranges.size(), 2U);
    EXPECT_EQ(profile.ranges[0].calls, steps);
    EXPECT_EQ(profile.ranges[0].work.launches, 4 * steps);
    EXPECT_EQ(profile.ranges[0].late_records, 0U);
    EXPECT_EQ(profile.ranges[0].least_launches, 4U);
    EXPECT_EQ(profile.ranges[0].most_launches, 4U);
    EXPECT_EQ(profile.ranges[1].work.launches, steps);
    EXPECT_DOUBLE_EQ(profile.ranges[0].work.busy_seconds, 4 * steps * 50e-9);
    EXPECT_TRUE(profile.processes[0].remarks.empty());
}

}  // namespace
}  // namespace qkprof::exec
