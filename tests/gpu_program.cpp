// On a GPU from outside: the noise between runs of the program, and that no two of them measure the same GPU at once.
#include "device.h"
#include "gpu_lock.h"
#include "noise.h"
#include "program.h"

#include <gmock/gmock.h>

namespace qkprof {
namespace {

class ProgramOnGpu : public Program {
  protected:
    void SetUp() override {
        if (const std::string reason = discover_gpus().no_gpu_reason; !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
};

TEST_F(ProgramOnGpu, FurtherRunsAreKeptBesideTheFirst) {
    const Result r = qkprof("run --shapes 1x64x16x128 --variants fused_register --aa 3 --samples 12 --out aa.json");
    ASSERT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, testing::HasSubstr(" A/A "));
    const Profile profile = read_profile(folder_ / "aa.json");
    const RunTimes times(profile, Timed::real_time);
    for (const Measurement& m : profile.measurements) {
        EXPECT_EQ(m.aa_seconds.size(), 3U) << m.name();
        EXPECT_GT(times.noise(m).value.value_or(0), 0) << m.name();
    }
}

TEST_F(ProgramOnGpu, AGpuThatIsMeasuredIsLeftAlone) {
    ASSERT_EQ(qkprof("run --shapes 1x1x16x128 --variants copy --out first.json").exit_code, 0);
    const auto& facts = read_profile(folder_ / "first.json").environment.device.facts;
    const auto uuid = std::find_if(facts.begin(), facts.end(), [](const auto& fact) { return fact.first == "uuid"; });
    ASSERT_NE(uuid, facts.end());
    const GpuLock lock(uuid->second, "cuda:0");
    const Result r = qkprof("run --shapes 1x1x16x128 --variants copy --out second.json");
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_THAT(r.err, testing::HasSubstr("is being measured by another qkprof"));
    EXPECT_FALSE(fs::exists(folder_ / "second.json"));
}

}  // namespace
}  // namespace qkprof
