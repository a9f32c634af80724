// What NVML's bits mean, and what becomes of samples that were throttled: no GPU is needed.
#include "clocks.h"

#include "fake_device.h"
#include "profile.h"
#include "rest.h"
#include "results.h"
#include "timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>

namespace qkprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ThrottleReasons, AreHeatPowerAndSlowdowns) {
    for (const std::uint64_t bit : {0x4U, 0x8U, 0x20U, 0x40U, 0x80U}) {
        EXPECT_EQ(throttle_reasons(bit).size(), 1U) << bit;
    }
    EXPECT_THAT(throttle_reasons(0x4 | 0x40), ElementsAre("power cap", "thermal slowdown by the hardware"));
}

TEST(ThrottleReasons, AreNotIdlenessAndSettings) {
    for (const std::uint64_t bit : {0x0U, 0x1U, 0x2U, 0x10U, 0x100U}) {
        EXPECT_TRUE(throttle_reasons(bit).empty()) << bit;
    }
    EXPECT_THAT(clock_reasons(0x1 | 0x2), ElementsAre("idle", "clocks set by an application"));
}

TEST(ThrottleReasons, ABitWithoutAKnownMeaningIsOneAndNamed) {
    EXPECT_THAT(throttle_reasons(0x400 | 0x1), ElementsAre(HasSubstr("0x400")));
}

const ClockReading fast = {.sm_mhz = 1980, .memory_mhz = 3201, .reasons = 0, .failure = {}};
const ClockReading capped = {.sm_mhz = 1600, .memory_mhz = 3201, .reasons = 0x4, .failure = {}};
const ClockReading unread = {.sm_mhz = {}, .memory_mhz = {}, .reasons = {}, .failure = "NVML is not there"};

TEST(SampleBetween, IsThrottledIfEitherEndWas) {
    EXPECT_TRUE(sample_between(fast, 1e-5, fast).throttle_reasons->empty());
    EXPECT_THAT(*sample_between(capped, 1e-5, fast).throttle_reasons, ElementsAre("power cap"));
    const Sample sample = sample_between(fast, 1e-5, capped);
    EXPECT_THAT(*sample.throttle_reasons, ElementsAre("power cap"));
    EXPECT_EQ(sample.sm_mhz, 1790);
    EXPECT_EQ(sample.memory_mhz, 3201);
    EXPECT_EQ(sample.seconds, 1e-5);
}

TEST(SampleBetween, NobodyWatchingIsUnknownAndNotUnthrottled) {
    for (const Sample& sample : {sample_between(fast, 1e-5, unread), sample_between(unread, 1e-5, fast)}) {
        EXPECT_FALSE(sample.throttle_reasons.has_value());
        EXPECT_FALSE(sample.sm_mhz.has_value());
        EXPECT_EQ(sample.failure, "NVML is not there");
    }
}

Measurement measured(const std::vector<Sample>& samples) {
    Measurement m;
    m.variant = "fused";
    m.problem = {.batch = 1, .sequence = 2, .heads = 2, .head_dim = 64};
    m.verification = correct_result();
    m.timer = "graph_events";
    std::vector<TakenSample> taken;
    taken.reserve(samples.size());
    for (const Sample& sample : samples) {
        taken.push_back({sample, 1e-3 * static_cast<double>(taken.size() + 1)});
    }
    store_samples(taken, m);
    return m;
}

Profile profile_of(const Measurement& m) {
    Profile profile;
    FakeDevice device;
    profile.environment = environment_of(device.info(), "qkprof");
    profile.environment.warm_up = "it ran round the block";
    profile.environment.complete = true;
    profile.measurements.push_back(m);
    return profile;
}

const Sample throttled_sample = sample_between(capped, 9e-5, fast);

TEST(StoreSamples, KeepsThrottledOnesApart) {
    const Measurement m = measured({sample_of(1e-5), throttled_sample, sample_of(3e-5)});
    EXPECT_THAT(m.seconds, ElementsAre(1e-5, 3e-5));
    EXPECT_THAT(m.host_seconds, ElementsAre(1e-3, 3e-3));
    ASSERT_EQ(m.throttled.size(), 1U);
    EXPECT_EQ(m.throttled[0].repetition, 1U);
    EXPECT_EQ(m.throttled[0].seconds, 9e-5);
    EXPECT_EQ(m.throttled[0].host_seconds, 2e-3);
    EXPECT_EQ(m.counters.at("sm_clock_mhz").value, 1980);
    EXPECT_EQ(m.counters.at("memory_clock_mhz").value, 3201);
    EXPECT_EQ(m.counters.at("throttled_samples").value, 1);
}

TEST(StoreSamples, NothingButThrottledOnesIsNoTime) {
    const Measurement m = measured({throttled_sample, throttled_sample});
    EXPECT_TRUE(m.seconds.empty());
    EXPECT_EQ(m.no_time_reason, "all 2 samples were taken while the GPU was throttled (power cap)");
    const Profile read = parse_profile(to_json(profile_of(m)), "memory");
    EXPECT_TRUE(read.measurements[0].seconds.empty());
    EXPECT_EQ(read.measurements[0].throttled.size(), 2U);
    EXPECT_EQ(read.measurements[0].no_time_reason, m.no_time_reason);
}

TEST(StoreSamples, UnwatchedOnesAreUsedAndTheNumberOfThrottledIsUnknown) {
    const Measurement m = measured({sample_between(unread, 1e-5, unread)});
    EXPECT_EQ(m.seconds.size(), 1U);
    for (const char* counter : {"sm_clock_mhz", "memory_clock_mhz", "throttled_samples"}) {
        EXPECT_FALSE(m.counters.at(counter).value.has_value()) << counter;
        EXPECT_EQ(m.counters.at(counter).reason, "NVML is not there") << counter;
    }
}

TEST(StoreSamples, ThrottledOnesAreMarkedInTheProfileAndReadBack) {
    const Profile before = profile_of(measured({throttled_sample, sample_of(1e-5), throttled_sample, sample_of(3e-5)}));
    const std::string json = to_json(before);
    EXPECT_THAT(json, HasSubstr("\"throttled\":true"));
    const Profile after = parse_profile(json, "memory");
    EXPECT_EQ(after.environment.warm_up, "it ran round the block");
    const Measurement& m = after.measurements.at(0);
    ASSERT_EQ(m.seconds.size(), 2U);
    EXPECT_DOUBLE_EQ(m.seconds[1], 3e-5);
    ASSERT_EQ(m.throttled.size(), 2U);
    EXPECT_EQ(m.throttled[0].repetition, 0U);
    EXPECT_EQ(m.throttled[1].repetition, 2U);
    EXPECT_DOUBLE_EQ(m.throttled[1].seconds, 9e-5);
    EXPECT_THAT(m.throttled[1].reasons, ElementsAre("power cap"));
    EXPECT_EQ(to_json(after), json);
}

TEST(StoreSamples, TheTableSaysHowManyAreLeftOut) {
    const Table table = results_table(profile_of(measured({throttled_sample, sample_of(1e-5)})));
    EXPECT_THAT(table.sections.at(0).notes, ElementsAre("fused warm: 1 of 2 samples throttled (power cap), left out"));
}

TEST(Rest, FollowsASampleThatWasThrottledAndIsFourTimesAsLong) {
    using std::chrono::nanoseconds;
    Rest rest;
    EXPECT_EQ(rest.after(sample_between(fast, 1e-5, fast), nanoseconds(100)), nanoseconds(0));
    EXPECT_EQ(rest.after(sample_between(unread, 1e-5, unread), nanoseconds(100)), nanoseconds(0));
    EXPECT_EQ(rest.after(throttled_sample, nanoseconds(100)), nanoseconds(400));
    EXPECT_EQ(rest.after(throttled_sample, nanoseconds(100)), nanoseconds(400));
}

TEST(Rest, EndsWhereTheThrottlingDoesNot) {
    Rest rest;
    std::chrono::nanoseconds all(0);
    for (int sample = 0; sample < 1000; ++sample) {
        all += rest.after(throttled_sample, std::chrono::milliseconds(30));
    }
    EXPECT_EQ(all, std::chrono::seconds(10));
}

// Takes 2 ms and knows when it was asked.
class SlowTiming : public Timing {
  public:
    explicit SlowTiming(Sample sample) : sample_(std::move(sample)) {}
    Sample sample() override {
        asked.push_back(std::chrono::steady_clock::now());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return sample_;
    }
    const char* timer() const override { return "graph_events"; }
    std::vector<std::chrono::steady_clock::time_point> asked;

  private:
    Sample sample_;
};

TEST(Rest, IsTakenBetweenTheSamples) {
    SlowTiming timing(throttled_sample);
    Measurement m;
    m.variant = "fused";
    std::vector<TimingJob> jobs = {{timing, m}};
    configure_benchmark({});
    run_timing(jobs, 3, [] { return false; });
    ASSERT_EQ(timing.asked.size(), 3U);
    for (std::size_t i = 1; i < timing.asked.size(); ++i) {
        EXPECT_GE(timing.asked[i] - timing.asked[i - 1], std::chrono::milliseconds(2 + 4 * 2));
    }
}

}  // namespace
}  // namespace qkprof
