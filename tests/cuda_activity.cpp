// What activity records say of a call, decided on made-up records: no GPU is needed.
#include "cuda/activity.h"
#include "cuda/activity_recorder.h"

#include <gtest/gtest.h>

namespace qkprof::cuda {
namespace {

constexpr const char* sentinel = "sentinel";

KernelRecord kernel(const std::string& name, std::uint64_t start, std::uint32_t submission) {
    KernelRecord record;
    record.name = name;
    record.start = start;
    record.end = start + 5;
    record.submission = submission;
    record.registers = 32;
    record.dynamic_shared = 1024;
    return record;
}

// Two calls of two kernels each between the sentinels, out of order as CUPTI may hand them over; and one kernel before.
Activities two_calls() {
    Activities activities;
    activities.kernels = {kernel("rotate", 40, 5), kernel(sentinel, 90, 9),  kernel("mean", 30, 4),
                          kernel(sentinel, 20, 2), kernel("warm_up", 10, 1), kernel("mean", 50, 6),
                          kernel("rotate", 60, 7)};
    return activities;
}

void expect_unknown(const Activities& activities, const std::string& reason) {
    for (const auto& [name, counter] : launch_counters(activities, sentinel, 2)) {
        EXPECT_FALSE(counter.value.has_value()) << name;
        EXPECT_NE(counter.reason.find(reason), std::string::npos) << name << ": " << counter.reason;
    }
    EXPECT_EQ(launch_counters(activities, sentinel, 2).size(), 6U);
}

TEST(LaunchCounters, CountsOnlyWhatIsBetweenTheSentinels) {
    Activities activities = two_calls();
    activities.kernels[0].registers = 40;
    activities.kernels[5].local_bytes = 16;
    activities.kernels[1].local_bytes = 64;  // a sentinel's
    activities.kernels[2].dynamic_shared = 4096;
    const Counters counters = launch_counters(activities, sentinel, 2);
    EXPECT_EQ(counters.at("launches").value, 2.0);
    EXPECT_EQ(counters.at("submissions").value, 2.0);
    EXPECT_EQ(counters.at("transfers").value, 0.0);
    EXPECT_EQ(counters.at("registers").value, 40.0);
    EXPECT_EQ(counters.at("local_bytes").value, 16.0);
    EXPECT_EQ(counters.at("shared_bytes").value, 4096.0);
    EXPECT_EQ(counters.at("launches").source, Source::counted);
}

TEST(LaunchCounters, NodesOfOneGraphLaunchAreOneSubmission) {
    Activities activities;
    activities.kernels = {kernel(sentinel, 1, 1), kernel("a", 10, 2), kernel("b", 20, 2),
                          kernel("c", 30, 2),     kernel("d", 40, 2), kernel(sentinel, 50, 3)};
    const Counters counters = launch_counters(activities, sentinel, 1);
    EXPECT_EQ(counters.at("launches").value, 4.0);
    EXPECT_EQ(counters.at("submissions").value, 1.0);
}

TEST(LaunchCounters, ACountThatIsNotWholeIsShownAsItIs) {
    Activities activities = two_calls();
    activities.kernels.push_back(kernel("once", 70, 8));
    EXPECT_EQ(launch_counters(activities, sentinel, 2).at("launches").value, 2.5);
}

TEST(LaunchCounters, CopiesAndFillsAreCountedBesideTheKernels) {
    Activities activities = two_calls();
    activities.transfers = {{TransferRecord::Kind::copy, 35, 36, 100, 20},
                            {TransferRecord::Kind::fill, 55, 56, 100, 21},
                            {TransferRecord::Kind::copy, 5, 6, 100, 22},
                            {TransferRecord::Kind::copy, 95, 96, 100, 23}};
    const Counters counters = launch_counters(activities, sentinel, 2);
    EXPECT_EQ(counters.at("transfers").value, 1.0);
    EXPECT_EQ(counters.at("launches").value, 2.0);
    EXPECT_EQ(counters.at("submissions").value, 3.0);
}

TEST(LaunchCounters, ACallWithoutKernelsHasNoRegisters) {
    Activities activities;
    activities.kernels = {kernel(sentinel, 1, 1), kernel(sentinel, 50, 3)};
    const Counters counters = launch_counters(activities, sentinel, 2);
    EXPECT_EQ(counters.at("launches").value, 0.0);
    EXPECT_FALSE(counters.at("registers").value.has_value());
    EXPECT_FALSE(counters.at("registers").reason.empty());
    EXPECT_FALSE(counters.at("shared_bytes").value.has_value());
    EXPECT_FALSE(counters.at("local_bytes").value.has_value());
    EXPECT_FALSE(counters.at("local_bytes").reason.empty());
}

TEST(LaunchCounters, AMissingSentinelMakesTheCountUnknown) {
    Activities activities = two_calls();
    activities.kernels.erase(activities.kernels.begin() + 3);
    expect_unknown(activities, "1 of the 2 sentinel");
    expect_unknown({}, "0 of the 2 sentinel");
}

TEST(LaunchCounters, DroppedRecordsMakeTheCountUnknown) {
    Activities activities = two_calls();
    activities.dropped = 3;
    expect_unknown(activities, "dropped 3");
}

TEST(LaunchCounters, ARecordWithoutTimesMakesTheCountUnknown) {
    Activities activities = two_calls();
    activities.kernels[2].start = activities.kernels[2].end = 0;
    expect_unknown(activities, "no time");
    activities = two_calls();
    activities.transfers.push_back({TransferRecord::Kind::fill, 30, 0, 100, 20});
    expect_unknown(activities, "no time");
}

TEST(LaunchCounters, AFailureToRecordIsTheReason) {
    Activities activities = two_calls();
    activities.failure = "CUPTI is not installed";
    expect_unknown(activities, "CUPTI is not installed");
}

TEST(KernelsOf, AreThoseOfOneCallByTheirNamesInTheSource) {
    Activities activities = two_calls();
    for (KernelRecord& record : activities.kernels) {
        record.name = record.name == "mean" ? "_ZN1a4meanIfEEvi" : record.name;
        record.grid = {7, 1, 1};
        record.block = {64, 1, 1};
    }
    const std::vector<KernelUse> kernels = kernels_of(activities, sentinel, 2);
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_EQ(kernels[0].name, "void a::mean<float>(int)");
    EXPECT_EQ(kernels[1].name, "rotate");
    for (const KernelUse& kernel : kernels) {
        EXPECT_EQ(kernel.launches, 1.0);
        EXPECT_EQ(kernel.grid, (std::array<std::int64_t, 3>{7, 1, 1}));
        EXPECT_EQ(kernel.block, (std::array<std::int64_t, 3>{64, 1, 1}));
        EXPECT_EQ(kernel.registers, 32);
        EXPECT_EQ(kernel.dynamic_shared, 1024);
    }
}

TEST(KernelsOf, LaunchedOtherwiseIsAnotherAndUnknownIsNone) {
    Activities activities = two_calls();
    activities.kernels[0].grid = {9, 1, 1};
    EXPECT_EQ(kernels_of(activities, sentinel, 2).size(), 3U);
    activities.dropped = 1;
    EXPECT_TRUE(kernels_of(activities, sentinel, 2).empty());
}

TEST(BetweenSentinels, IsInOrderOfTime) {
    const Between between = between_sentinels(two_calls(), sentinel);
    ASSERT_EQ(between.kernels.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(between.kernels[i].name, i % 2 == 0 ? "mean" : "rotate");
    }
}

TEST(AddRecord, TakesEachFieldOfAKernelRecord) {
    CUpti_ActivityKernel10 raw = {};
    raw.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    raw.name = "fused";
    raw.start = 100;
    raw.end = 200;
    raw.gridX = 2000000000;
    raw.gridY = 2;
    raw.gridZ = 3;
    raw.blockX = 256;
    raw.blockY = 1;
    raw.blockZ = 1;
    raw.registersPerThread = 42;
    raw.localMemoryPerThread = 24;
    raw.staticSharedMemory = 16;
    raw.dynamicSharedMemory = 65536;
    raw.correlationId = 7;
    raw.graphId = 8;
    raw.streamId = 9;
    Activities activities;
    add_record(reinterpret_cast<const CUpti_Activity&>(raw), activities);
    ASSERT_EQ(activities.kernels.size(), 1U);
    const KernelRecord& plain = activities.kernels.front();
    EXPECT_EQ(plain.name, "fused");
    EXPECT_EQ(plain.start, 100U);
    EXPECT_EQ(plain.end, 200U);
    EXPECT_EQ(plain.grid, (std::array<std::int64_t, 3>{2000000000, 2, 3}));
    EXPECT_EQ(plain.block, (std::array<std::int64_t, 3>{256, 1, 1}));
    EXPECT_EQ(plain.registers, 42);
    EXPECT_EQ(plain.local_bytes, 24);
    EXPECT_EQ(plain.static_shared, 16);
    EXPECT_EQ(plain.dynamic_shared, 65536);
    EXPECT_EQ(plain.submission, 7U);
    EXPECT_EQ(plain.graph, 8U);
    EXPECT_EQ(plain.stream, 9U);
}

TEST(AddRecord, TakesCopiesAndFillsAndLeavesOtherKindsOut) {
    CUpti_ActivityMemcpy6 copy = {};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.bytes = 4096;
    copy.start = 10;
    copy.end = 20;
    copy.correlationId = 3;
    CUpti_ActivityMemset4 fill = {};
    fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    fill.bytes = 512;
    fill.start = 30;
    fill.end = 40;
    fill.correlationId = 4;
    CUpti_Activity other = {};
    other.kind = CUPTI_ACTIVITY_KIND_NAME;
    Activities activities;
    add_record(reinterpret_cast<const CUpti_Activity&>(copy), activities);
    add_record(reinterpret_cast<const CUpti_Activity&>(fill), activities);
    add_record(other, activities);
    EXPECT_TRUE(activities.kernels.empty());
    ASSERT_EQ(activities.transfers.size(), 2U);
    EXPECT_EQ(activities.transfers[0].kind, TransferRecord::Kind::copy);
    EXPECT_EQ(activities.transfers[0].bytes, 4096);
    EXPECT_EQ(activities.transfers[0].start, 10U);
    EXPECT_EQ(activities.transfers[0].submission, 3U);
    EXPECT_EQ(activities.transfers[1].kind, TransferRecord::Kind::fill);
    EXPECT_EQ(activities.transfers[1].end, 40U);
}

}  // namespace
}  // namespace qkprof::cuda
