// When counters cannot be had: each fault is survived, said in words that help, and costs no more than it must. On a
// CUPTI of the test's own: no GPU is needed.
#include "cuda/activity_recorder.h"
#include "cuda/resources.h"
#include "cuda/traffic.h"
#include "fake_cupti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkprof::cuda {
namespace {

using testing::HasSubstr;

class Faults : public testing::Test {
  protected:
    // Jobs that only count how often they ran.
    std::vector<TrafficJob> jobs(std::size_t count) {
        std::vector<TrafficJob> all(count);
        for (TrafficJob& job : all) {
            job.run = [this](const TrafficJob::Counted& counted) { counted([this] { ++runs_; }); };
        }
        return all;
    }
    static std::vector<Counters> count(const std::vector<TrafficJob>& all) {
        return count_traffic({}, all, {"x__y.sum"});
    }

    static void expect_unknown(const Counters& counters, const std::string& reason) {
        EXPECT_EQ(counters.size(), traffic_counters().size() + 1);
        for (const auto& [name, counter] : counters) {
            EXPECT_FALSE(counter.value.has_value()) << name;
            EXPECT_THAT(counter.reason, HasSubstr(reason)) << name;
        }
    }

    FakeCupti cupti_;
    int runs_ = 0;
};

TEST_F(Faults, WithoutAnyAllJobsAreCountedInOneSession) {
    const std::vector<Counters> counted = count(jobs(3));
    EXPECT_EQ(runs_, 3 * 2);
    EXPECT_EQ(cupti_.called("enable"), 1);
    EXPECT_EQ(cupti_.called("disable"), 1);
    EXPECT_EQ(cupti_.calls.back(), "finalize");  // nothing is timed while CUPTI is attached
    ASSERT_EQ(counted.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const double base = 100 * static_cast<double>(i);
        EXPECT_EQ(counted[i].at("dram_read_bytes").value, base);
        EXPECT_EQ(counted[i].at("dram_write_bytes").value, base + 1);
        EXPECT_EQ(counted[i].at("shared_wavefronts").value, 2 * base + 6 + 7);
        EXPECT_EQ(counted[i].at("x__y.sum").value, base + 12);
    }
}

TEST_F(Faults, OnlyCallsWithBulkCopiesAreCountedOnceMore) {
    std::vector<TrafficJob> all = jobs(3);
    all[1].bulk_copies = true;
    const std::vector<Counters> counted = count(all);
    EXPECT_EQ(runs_, 3 * 2 + 2);
    EXPECT_EQ(counted[0].at("global_load_sectors").value, 4.0);
    EXPECT_EQ(counted[1].at("global_load_sectors").value, 104.0 + 0.0);  // alone in its second collection
    EXPECT_EQ(counted[1].at("global_store_sectors").value, 105.0 + 1.0);
    // A second set of metrics in one session crashes CUPTI 13.0.
    EXPECT_EQ(cupti_.called("set_configuration"), 2);
    EXPECT_EQ(cupti_.called("enable"), 2);
    EXPECT_EQ(cupti_.called("finalize"), 2);
}

TEST_F(Faults, NoPermissionIsSaidWithHowItIsLifted) {
    for (const char* where : {"initialize", "get_availability", "enable", "start"}) {
        SCOPED_TRACE(where);
        cupti_.failures = {{where, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES}};
        const std::vector<Counters> counted = count(jobs(2));
        ASSERT_EQ(counted.size(), 2U);
        expect_unknown(counted[0], "(error 35)");
        expect_unknown(counted[1], "NVreg_RestrictProfilingToAdminUsers=0");
        expect_unknown(counted[1], "CAP_SYS_ADMIN");
    }
    EXPECT_EQ(runs_, 0);
}

TEST_F(Faults, AnotherProfilerIsSaid) {
    for (const char* where : {"subscribe", "initialize"}) {
        cupti_.failures = {{where, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED}};
        expect_unknown(count(jobs(1))[0], "(error 39); another profiler");
    }
    cupti_.failures = {{"enable", CUPTI_ERROR_HARDWARE_BUSY}};
    expect_unknown(count(jobs(1))[0], "(error 26); another profiler");
    EXPECT_EQ(cupti_.calls.back(), "finalize");
    cupti_.failures = {{"enable_activity", CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED}};
    const Activities activities = ActivityRecorder().record([this] { ++runs_; });
    EXPECT_THAT(activities.failure, HasSubstr("(error 39); another profiler"));
    EXPECT_EQ(runs_, 0);
    EXPECT_EQ(cupti_.calls.back(), "finalize");
}

TEST_F(Faults, ADriverThatIsTooOldIsSaid) {
    cupti_.failures = {{"initialize", CUPTI_ERROR_NOT_INITIALIZED}};
    expect_unknown(count(jobs(1))[0], "is the driver too old");
}

TEST(MissingLibraries, AreSaid) {
    CuptiLibrary none;
    none.failure = "CUPTI is not installed";
    const CuptiSubstitute instead(none);
    std::vector<TrafficJob> all(1);
    EXPECT_EQ(count_traffic({}, all, {})[0].at("dram_read_bytes").reason, "CUPTI is not installed");
    EXPECT_EQ(ActivityRecorder().record([] {}).failure, "CUPTI is not installed");
    CuptiLibrary half;
    half.metrics_failure = "libnvperf_host.so was not found";
    const CuptiSubstitute then(half);
    EXPECT_EQ(count_traffic({}, all, {})[0].at("dram_read_bytes").reason, "libnvperf_host.so was not found");
    EXPECT_THROW(chip_of({}), CannotMeasure);
}

TEST_F(Faults, DroppedRangesMakeAllUnknown) {
    cupti_.dropped = 1;
    const std::vector<Counters> counted = count(jobs(2));
    expect_unknown(counted[0], "CUPTI dropped 1 of the measured ranges");
    expect_unknown(counted[1], "CUPTI dropped 1 of the measured ranges");
}

TEST_F(Faults, ARangeThatIsMissingMakesItsCallUnknownAlone) {
    cupti_.lost = "1";
    const std::vector<Counters> counted = count(jobs(3));
    expect_unknown(counted[1], "CUPTI gave no values");
    EXPECT_EQ(counted[0].at("dram_read_bytes").value, 0.0);
    EXPECT_EQ(counted[2].at("dram_read_bytes").value, 100.0);
}

TEST_F(Faults, ACallThatFailsIsUnknownAloneAndEveryPassHasTheSameRanges) {
    for (const bool inside : {false, true}) {
        SCOPED_TRACE(inside);
        std::vector<TrafficJob> all = jobs(3);
        int tries = 0;
        all[1].run = [&](const TrafficJob::Counted& counted) {
            ++tries;
            if (inside) {
                counted([] { throw LaunchError("The launch was refused."); });
            }
            throw CannotMeasure("The L2 was not set aside.");
        };
        const std::vector<Counters> counted = count(all);
        EXPECT_EQ(tries, 1);
        EXPECT_EQ(cupti_.ranges, (std::vector<std::string>{"0", "1", "2"}));
        EXPECT_EQ(cupti_.called("push"), cupti_.called("pop"));
        expect_unknown(counted[1], inside ? "The launch was refused" : "The L2 was not set aside");
        EXPECT_EQ(counted[0].at("dram_read_bytes").value, 0.0);
        EXPECT_EQ(counted[2].at("dram_read_bytes").value, 200.0);
    }
}

TEST_F(Faults, AFailureOfTheBulkCountersLeavesTheOthers) {
    std::vector<TrafficJob> all = jobs(1);
    all[0].bulk_copies = true;
    int passes = 0;
    all[0].run = [&](const TrafficJob::Counted& counted) {
        counted([&] {
            if (++passes == 2) {
                cupti_.failures = {{"set_configuration", CUPTI_ERROR_OUT_OF_MEMORY}};
            }
        });
    };
    const Counters counters = count(all)[0];
    EXPECT_EQ(counters.at("dram_read_bytes").value, 0.0);
    EXPECT_FALSE(counters.at("global_load_sectors").value.has_value());
    EXPECT_THAT(counters.at("global_load_sectors").reason, HasSubstr("configuring the counters"));
}

TEST_F(Faults, ALostDeviceEndsTheCounting) {
    std::vector<TrafficJob> all = jobs(2);
    all[0].run = [](const TrafficJob::Counted& counted) { counted([] { throw DeviceLost("The GPU is lost."); }); };
    EXPECT_THROW(count(all), DeviceLost);
    EXPECT_EQ(cupti_.called("push"), cupti_.called("pop"));
    EXPECT_EQ(cupti_.called("start"), cupti_.called("stop"));
    EXPECT_EQ(cupti_.calls.back(), "finalize");
    EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace qkprof::cuda
