// What the CUDA device says where it cannot be had, and where CUPTI is: no GPU is needed.
#include "cuda/activity_recorder.h"
#include "cuda/cuda_device.h"
#include "cuda/cupti_library.h"
#include "error.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

TEST(CudaDiscovery, NamesTheGpusOrSaysWhyThereIsNone) {
    const Discovery discovery = discover_cuda_gpus();
    EXPECT_EQ(discovery.gpus.empty(), !discovery.no_gpu_reason.empty());
    for (const auto& [id, description] : discovery.gpus) {
        EXPECT_EQ(id.rfind("cuda:", 0), 0U);
        EXPECT_FALSE(description.empty());
    }
}

TEST(CudaDiscovery, AGpuThatIsNotThereCannotBeOpened) {
    const Discovery discovery = discover_cuda_gpus();
    for (const int ordinal : {-1, 1000}) {
        try {
            open_cuda_device(ordinal);
            FAIL() << "cuda:" << ordinal << " was opened";
        } catch (const CannotMeasure& error) {
            const std::string reason = discovery.gpus.empty() ? discovery.no_gpu_reason : "this machine has";
            const std::string expected = "cuda:" + std::to_string(ordinal) + " cannot be opened: " + reason;
            EXPECT_EQ(std::string(error.what()).rfind(expected, 0), 0U) << error.what();
        }
    }
}

TEST(CuptiLibrary, HasEveryFunctionOrSaysWhyNot) {
    const cuda::CuptiLibrary& library = cuda::cupti_library();
    if (library.failure.empty()) {
        EXPECT_FALSE(library.path.empty());
        EXPECT_NE(library.activity.enable, nullptr);
        EXPECT_NE(library.activity.get_dropped, nullptr);
    } else {
        EXPECT_NE(library.failure.find("CUPTI"), std::string::npos) << library.failure;
    }
}

TEST(CuptiLibrary, AFailureNamesTheActAndTheNumberAndWhatToDo) {
    if (!cuda::cupti_library().failure.empty()) {
        GTEST_SKIP() << cuda::cupti_library().failure;
    }
    const std::string said =
        cuda::cupti_failure(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "switching activity records on");
    EXPECT_EQ(said.rfind("CUPTI failed while switching activity records on: ", 0), 0U) << said;
    EXPECT_NE(said.find("(error 39)"), std::string::npos) << said;
    EXPECT_NE(said.find("another profiler"), std::string::npos) << said;
    EXPECT_NE(cuda::cupti_failure(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "x").find("NVreg_Restrict"), std::string::npos);
}

// Without a driver there is nothing to record, and that is said instead of counted as nothing.
TEST(RecordActivities, WithoutAGpuFailsWithTheReason) {
    if (!discover_cuda_gpus().gpus.empty()) {
        GTEST_SKIP() << "this machine has a GPU";
    }
    bool ran = false;
    const cuda::Activities activities = cuda::ActivityRecorder().record([&] { ran = true; });
    EXPECT_FALSE(activities.failure.empty());
    EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace qkprof
