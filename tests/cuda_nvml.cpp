// NVML where it is not, and where it is: no GPU is needed.
#include "cuda/gpu_monitor.h"

#include <gtest/gtest.h>

namespace qkprof::cuda {
namespace {

TEST(Nvml, ALibraryThatIsNotThereIsAReason) {
    const NvmlLibrary library = open_nvml("libqkprof-no-such-library.so.1");
    EXPECT_NE(library.failure.find("libqkprof-no-such-library.so.1 was not found"), std::string::npos)
        << library.failure;
}

TEST(Nvml, AnotherLibraryUnderItsNameLacksItsFunctions) {
    const NvmlLibrary library = open_nvml("libm.so.6");
    EXPECT_NE(library.failure.find("has no function nvml"), std::string::npos) << library.failure;
    EXPECT_NE(library.path.find('/'), std::string::npos) << library.path;
}

TEST(GpuMonitor, OfAGpuThatIsNotThereReadsNothingAndSaysWhy) {
    const GpuMonitor monitor("GPU-00000000-0000-0000-0000-000000000000");
    EXPECT_NE(monitor.failure().find("NVML"), std::string::npos) << monitor.failure();
    const ClockReading reading = monitor.read();
    EXPECT_FALSE(reading.sm_mhz || reading.memory_mhz || reading.reasons);
    EXPECT_EQ(reading.failure, monitor.failure());
    ASSERT_EQ(monitor.condition().size(), 1U);
    EXPECT_EQ(monitor.condition()[0].second, monitor.failure());
}

}  // namespace
}  // namespace qkprof::cuda
