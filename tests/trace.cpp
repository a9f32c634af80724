// What a trace runs, on a device of the tests: needs no GPU.
#include "trace.h"

#include "fake_device.h"

#include <gmock/gmock.h>

namespace qkprof {
namespace {

class Trace : public testing::Test {
  protected:
    Trace() {
        plan_.problems = {{.batch = 2, .sequence = 4, .heads = 2}};
        plan_.states = {CacheState::cold, CacheState::warm};
        device_.trace = [this](const Variant& variant, CacheState state) {
            ran_.push_back(variant.name + "." + name_of(state));
        };
    }

    void expect_refused(const std::string& sentence) {
        try {
            trace(device_, plan_);
            FAIL() << "it was traced";
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(sentence));
        }
        EXPECT_THAT(ran_, testing::IsEmpty());
    }

    FakeDevice device_;
    Plan plan_;
    std::vector<std::string> ran_;
    const Variant a_ = fake_variant("a");
    const Variant b_ = fake_variant("b", "it is shy");
    const Variant c_ = fake_variant("c");
};

TEST_F(Trace, EachVariantRunsOnceAStateAndARefusalIsASentence) {
    plan_.candidates = {standard_candidate(a_), standard_candidate(b_), standard_candidate(c_)};
    const Traced traced = trace(device_, plan_);
    EXPECT_THAT(ran_, testing::ElementsAre("a.cold", "a.warm", "c.cold", "c.warm"));
    ASSERT_EQ(traced.calls.size(), 4U);
    EXPECT_EQ(traced.calls[2].candidate, &plan_.candidates[2]);
    EXPECT_EQ(traced.calls[3].state, CacheState::warm);
    EXPECT_THAT(traced.refusals, testing::ElementsAre("b on 2x4x2x128 f32 refused: it is shy."));
}

TEST_F(Trace, ANameMustNotMeanTwoCalls) {
    const std::vector<Variant> all = {a_};
    plan_.candidates = select(all, {"a"}, {{"threads", {64, 128}}});
    expect_refused("a is there with several values of a parameter");
    plan_.candidates = {standard_candidate(a_)};
    plan_.problems.push_back({.batch = 2, .sequence = 4, .heads = 2, .dtype = DataType::bf16});
    expect_refused("these are 2: 2x4x2x128 f32 and 2x4x2x128 bf16.");
}

TEST_F(Trace, AProblemThatDoesNotFitIsRefusedBeforeAnythingRuns) {
    plan_.candidates = {standard_candidate(a_)};
    device_.info().memory_bytes = 16;
    expect_refused("GiB free");
}

}  // namespace
}  // namespace qkprof
