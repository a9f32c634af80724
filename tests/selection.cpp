// Which variants and parameters a command line chooses.
#include "selection.h"

#include "error.h"
#include "fake_device.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

class Selection : public testing::Test {
  protected:
    Selection() {
        all_.push_back(fake_variant("copy"));
        all_.push_back(fake_variant("fused_a"));
        all_.push_back(fake_variant("fused_b"));
        all_[2].parameters = {{"threads", "", 128, {128, 512}}, {"stages", "", 2, {2, 3, 4}}};
    }
    std::string error(const std::vector<std::string>& globs, const std::vector<Sweep>& sweeps) const {
        try {
            select(all_, globs, sweeps);
        } catch (const InputError& e) {
            return e.what();
        }
        return "no error";
    }
    std::vector<Variant> all_;
};

TEST_F(Selection, KeepsTheOrderOfTheRegistryAndEachOnce) {
    const auto chosen = select(all_, {"fused_*", "*", "copy"}, {});
    ASSERT_EQ(chosen.size(), 3U);
    EXPECT_EQ(chosen[0].variant->name, "copy");
    EXPECT_EQ(chosen[2].parameters, (Parameters{{"stages", 2}, {"threads", 128}}));
    EXPECT_TRUE(chosen[2].non_standard.empty());
}

TEST_F(Selection, AMisspeltNameGetsTheNearest) {
    EXPECT_EQ(error({"fused_c"}, {}), "There is no variant 'fused_c'. Did you mean 'fused_a'?");
    EXPECT_EQ(error({"copy", "x*"}, {}), "There is no variant 'x*'. There are copy, fused_a and fused_b.");
}

TEST_F(Selection, SweepsMakeEveryCombination) {
    const auto chosen = select(all_, {"fused_b"}, {parse_sweep("threads=128,512"), parse_sweep("stages=2,4")});
    ASSERT_EQ(chosen.size(), 4U);
    EXPECT_TRUE(chosen[0].non_standard.empty());
    EXPECT_EQ(chosen[3].non_standard, (Parameters{{"stages", 4}, {"threads", 512}}));
}

TEST_F(Selection, ASweptParameterLeavesVariantsWithoutItAlone) {
    EXPECT_EQ(select(all_, {"*"}, {parse_sweep("stages=3,4")}).size(), 4U);
}

TEST_F(Selection, RefusesSweepsThatMeanNothing) {
    EXPECT_NE(error({"*"}, {parse_sweep("threads=512")}).find("copy has no threads=512: its values are 64, 128, 256."),
              std::string::npos);
    EXPECT_NE(error({"copy"}, {parse_sweep("stages=2")}).find("has a parameter 'stages'."), std::string::npos);
    EXPECT_NE(error({"*"}, {parse_sweep("thread=64")}).find("Did you mean 'threads'?"), std::string::npos);
    EXPECT_NE(error({"*"}, {parse_sweep("threads=128"), parse_sweep("threads=128")}).find("twice"), std::string::npos);
}

TEST_F(Selection, SweepsAreReadStrictly) {
    EXPECT_EQ(parse_sweep("threads=64, 128,64").values, (std::vector<int>{64, 128}));
    for (const char* bad : {"threads", "=64", "threads=", "threads=64,,128", "threads=x", "threads=99999999999"}) {
        EXPECT_THROW(parse_sweep(bad), InputError) << bad;
    }
}

}  // namespace
}  // namespace qkprof
