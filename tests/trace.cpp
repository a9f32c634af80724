// What a trace runs, on a device of the tests: needs no GPU.
#include "trace.h"

#include "fake_device.h"

#include <gmock/gmock.h>

namespace qkprof {
namespace {

class Trace : public testing::Test {
  protected:
    Trace() {
        plan.problems = {{.batch = 2, .sequence = 4, .heads = 2}};
        plan.states = {CacheState::cold, CacheState::warm};
        device.trace = [this](const Variant& variant, CacheState state) {
            ran.push_back(variant.name + "." + name_of(state));
        };
    }

    void expect_refused(const std::string& sentence) {
        try {
            trace(device, plan);
            FAIL() << "it was traced";
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(sentence));
        }
        EXPECT_THAT(ran, testing::IsEmpty());
    }

    FakeDevice device;
    Plan plan;
    std::vector<std::string> ran;
    const Variant a = fake_variant("a");
    const Variant b = fake_variant("b", "it is shy");
    const Variant c = fake_variant("c");
};

TEST_F(Trace, EachVariantRunsOnceAStateAndARefusalIsASentence) {
    plan.candidates = {standard_candidate(a), standard_candidate(b), standard_candidate(c)};
    const Traced traced = trace(device, plan);
    EXPECT_THAT(ran, testing::ElementsAre("a.cold", "a.warm", "c.cold", "c.warm"));
    ASSERT_EQ(traced.calls.size(), 4U);
    EXPECT_EQ(traced.calls[2].candidate, &plan.candidates[2]);
    EXPECT_EQ(traced.calls[3].state, CacheState::warm);
    EXPECT_THAT(traced.refusals, testing::ElementsAre("b on 2x4x2x128 f32 refused: it is shy."));
}

TEST_F(Trace, ANameMustNotMeanTwoCalls) {
    const std::vector<Variant> all = {a};
    plan.candidates = select(all, {"a"}, {{"threads", {64, 128}}});
    expect_refused("a is there with several values of a parameter");
    plan.candidates = {standard_candidate(a)};
    plan.problems.push_back({.batch = 2, .sequence = 4, .heads = 2, .dtype = DataType::bf16});
    expect_refused("these are 2: 2x4x2x128 f32 and 2x4x2x128 bf16.");
}

TEST_F(Trace, AProblemThatDoesNotFitIsRefusedBeforeAnythingRuns) {
    plan.candidates = {standard_candidate(a)};
    device.info().memory_bytes = 16;
    expect_refused("GiB free");
}

}  // namespace
}  // namespace qkprof
