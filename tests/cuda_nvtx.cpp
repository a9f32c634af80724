// The NVTX ranges as a profiler sees them. Needs no GPU.
#include "nvtx_recorder.h"

#include "cuda/nvtx.h"

#include <gmock/gmock.h>

namespace qkprof {
namespace {

using testing::ElementsAre;

TEST(Nvtx, ARangeIsPushedAndPoppedInTheDomainUnderTheNameOfTheCall) {
    nvtx_calls.clear();
    {
        const cuda::Range cold(range_name("fused_register", CacheState::cold));
        EXPECT_THAT(nvtx_calls, ElementsAre("+qkprof@fused_register.cold"));
    }
    const auto name = range_name("copy", CacheState::warm);
    { const cuda::Range warm(name); }
    { const cuda::Range verify(verify_range_name("copy")); }
    EXPECT_THAT(nvtx_calls, ElementsAre("+qkprof@fused_register.cold", "-qkprof", "+qkprof@copy.warm", "-qkprof",
                                        "+qkprof@copy.verify", "-qkprof"));
}

TEST(Nvtx, ARangeEndsWhereTheCallThrows) {
    nvtx_calls.clear();
    try {
        const cuda::Range range("a.cold");
        throw 1;
    } catch (int) {
        nvtx_calls.emplace_back("caught");
    }
    EXPECT_THAT(nvtx_calls, ElementsAre("+qkprof@a.cold", "-qkprof", "caught"));
}

}  // namespace
}  // namespace qkprof
