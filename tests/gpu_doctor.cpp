// The instrument on known traffic, and the clocks, on a GPU.
#include "cuda/context.h"
#include "doctor.h"
#include "gpu_fixture.h"

#include <chrono>

namespace qkprof {
namespace {

using GpuDoctor = Gpu;

TEST_F(GpuDoctor, EveryNumberThatIsKnownIsReadRightly) {
    const Calibration& calibration = device().calibrate();
    EXPECT_EQ(calibration.failure, "");
    EXPECT_FALSE(calibration.rows.empty());
    for (const CalibrationRow& row : calibration.rows) {
        if (row.reason.find("NVreg_Restrict") != std::string::npos) {
            GTEST_SKIP() << row.reason;
        }
        EXPECT_EQ(agreement_of(row), Agreement::ok)
            << row.counter << ", " << row.what << ": expected " << row.expected << ", read " << row.read.value_or(-1)
            << " (" << deviation_text(row) << ") " << row.reason;
    }
    RecordProperty("seconds", std::to_string(calibration.seconds));
}

TEST_F(GpuDoctor, IsDoneOnce) {
    const std::string date = device().calibrate().date;
    EXPECT_EQ(&device().calibrate(), &device().calibrate());
    EXPECT_EQ(device().calibrate().date, date);
}

TEST_F(GpuDoctor, TheDiagnosisNamesTheGpuAndItsLibraries) {
    const Diagnosis diagnosis = diagnose("cuda");
    EXPECT_EQ(diagnosis.no_gpu, "");
    std::string all;
    for (const auto& [heading, facts] : diagnosis.sections) {
        for (const auto& [what, found] : facts) {
            EXPECT_FALSE(found.empty()) << what;
            all += what;
            all += found;
        }
    }
    EXPECT_NE(all.find(device().info().description), std::string::npos) << all;
    EXPECT_NE(all.find("GPU-"), std::string::npos) << all;
    EXPECT_NE(all.find("libcuda.so"), std::string::npos) << all;
}

TEST_F(GpuDoctor, ClocksAreUpAfterTheWarmUp) {
    const cuda::Context context(0);
    if (!context.monitor().failure().empty()) {
        GTEST_SKIP() << context.monitor().failure();
    }
    const std::string done = context.warm_up();
    EXPECT_NE(done.find("MHz"), std::string::npos) << done;
    const ClockReading reading = context.monitor().read();
    EXPECT_EQ(reading.failure, "");
    EXPECT_GT(reading.sm_mhz.value_or(0), 500) << done;
    EXPECT_GT(reading.memory_mhz.value_or(0), 500);
    EXPECT_TRUE(reading.reasons.has_value());
}

// Samples of a millisecond would not bear a reading that takes many.
TEST_F(GpuDoctor, ReadingTheClocksCostsLittle) {
    const cuda::Context context(0);
    if (!context.monitor().failure().empty()) {
        GTEST_SKIP() << context.monitor().failure();
    }
    constexpr int readings = 100;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < readings; ++i) {
        context.monitor().read();
    }
    const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
    RecordProperty("microseconds", std::to_string(taken.count() / readings));
    EXPECT_LT(taken.count() / readings, 2000);
}

TEST_F(GpuDoctor, SamplesCarryTheirClocks) {
    const Problem problem = {.batch = 1, .sequence = 256, .heads = 16};
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, problem);
    device().warm_up();
    const Sample sample = workload->timing(copy, copy.standard_parameters(), CacheState::warm)->sample();
    EXPECT_GT(sample.seconds, 0);
    if (!sample.failure.empty()) {
        GTEST_SKIP() << sample.failure;
    }
    EXPECT_GT(sample.sm_mhz.value_or(0), 500);
    ASSERT_TRUE(sample.throttle_reasons.has_value());
}

}  // namespace
}  // namespace qkprof
