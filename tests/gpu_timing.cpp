// Times on a GPU: below what the memory can do, and undisturbed by other samples and by counting.
#include "gpu_fixture.h"

#include <functional>

namespace qkprof {
namespace {

// Bytes a second that the memory cannot exceed, from its clock and width as the device states them; two transfers a
// clock.
double peak_bandwidth(const DeviceInfo& info) {
    double megahertz = 0;
    double bits = 0;
    for (const auto& [name, text] : info.facts) {
        if (name == "memory_clock_mhz") {
            megahertz = std::stod(text);
        } else if (name == "memory_bus_bits") {
            bits = std::stod(text);
        }
    }
    return megahertz * 1e6 * bits / 8 * 2;
}

double median_sample(const std::function<double()>& sample) {
    std::array<double, 9> seconds;
    std::generate(seconds.begin(), seconds.end(), sample);
    std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
    return seconds[4];
}

using GpuTiming = Gpu;

TEST_F(GpuTiming, CopyOfOneGibibyteRunsBelowThePeakAndNotFarBelow) {
    const Problem problem = {.batch = 64, .sequence = 1024, .heads = 16};  // 512 MiB in, 512 MiB out
    const Variant& copy = variant_named("copy");
    const double peak = peak_bandwidth(device().info());
    ASSERT_GT(peak, 1e11);
    const auto workload = load_for(copy, problem);
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        const auto timing = workload->timing(copy, copy.standard_parameters(), state);
        const double rate = 2.0 * static_cast<double>(problem.tensor_bytes()) / timing->sample().seconds;
        EXPECT_LT(rate, peak) << name_of(state);
        EXPECT_GT(rate, 0.6 * peak) << name_of(state);
    }
}

// A problem that fits the L2 runs from it when warm, also when another variant's samples come between.
TEST_F(GpuTiming, WarmIsFasterThanColdAndSamplesDoNotDisturbOneAnother) {
    const Problem problem = {.batch = 1, .sequence = 512, .heads = 16};  // 8.4 MB in all
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    const auto warm = workload->timing(copy, copy.standard_parameters(), CacheState::warm);
    const auto cold = workload->timing(copy, copy.standard_parameters(), CacheState::cold);
    const double alone = median_sample([&] { return warm->sample().seconds; });
    const double mixed = median_sample([&] {
        EXPECT_GT(cold->sample().seconds, alone);
        return warm->sample().seconds;
    });
    EXPECT_NEAR(mixed / alone, 1.0, 0.1);
}

// Activity records slow the nodes of a graph: none may be left on when times are taken.
TEST_F(GpuTiming, CountingLeavesNoTraceInTheTimes) {
    const Problem problem = {.batch = 1, .sequence = 64, .heads = 16};
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    const auto before = workload->timing(copy, copy.standard_parameters(), CacheState::warm);
    const double uncounted = median_sample([&] { return before->sample().seconds; });
    workload->count(copy, copy.standard_parameters(), CacheState::warm);
    const auto after = workload->timing(copy, copy.standard_parameters(), CacheState::warm);
    EXPECT_NEAR(median_sample([&] { return before->sample().seconds; }) / uncounted, 1.0, 0.1);
    EXPECT_NEAR(median_sample([&] { return after->sample().seconds; }) / uncounted, 1.0, 0.1);
}

// Nor a part of the L2 that was set aside: resetting its lines once made each later launch a sixth slower.
TEST_F(GpuTiming, AnL2SetAsideLeavesNoTraceInTheTimes) {
    const Problem problem = {.batch = 1, .sequence = 64, .heads = 16};
    const Variant& copy = variant_named("copy");
    const Variant& persisting = variant_named("cache_aware_persist");
    const auto workload = load_for(copy, problem);
    const auto warm = workload->timing(copy, copy.standard_parameters(), CacheState::warm);
    const double before = median_sample([&] { return warm->sample().seconds; });
    const auto between = workload->timing(persisting, persisting.standard_parameters(), CacheState::warm);
    const double behind = median_sample([&] {
        between->sample();
        return warm->sample().seconds;
    });
    EXPECT_NEAR(behind / before, 1.0, 0.1);
}

TEST_F(GpuTiming, AnEmptyCallHasNoTime) {
    const Problem problem = {.batch = 0, .sequence = 4, .heads = 4};
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    for (const CacheState state : {CacheState::warm, CacheState::cold}) {
        EXPECT_THROW(workload->timing(copy, copy.standard_parameters(), state), CannotMeasure);
    }
}

}  // namespace
}  // namespace qkprof
