// Tracing on a GPU: every variant runs once a state, its call and nothing else in its range; and what is measured by
// the harness itself is in ranges too.
#include "nvtx_recorder.h"

#include "gpu_fixture.h"
#include "trace.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace qkprof {
namespace {

using GpuTrace = Gpu;

constexpr std::array both_states = {CacheState::cold, CacheState::warm};

TEST_F(GpuTrace, EveryVariantRunsInItsRangesOnceAState) {
    Plan plan;
    plan.problems = {{.batch = 1, .sequence = 64, .heads = 16}};
    plan.states = {both_states.begin(), both_states.end()};
    // The variants, with a note of each call.
    std::vector<Variant> watched = variants(Backend::cuda);
    for (Variant& variant : watched) {
        variant.run = [inner = variant.run, name = variant.name](const Call& call) {
            nvtx_calls.push_back(name);
            inner(call);
        };
        plan.candidates.push_back(standard_candidate(variant));
    }
    nvtx_calls.clear();
    const Traced traced = trace(device(), plan);
    std::vector<std::string> expected;
    for (const Traced::Call& call : traced.calls) {
        const std::string& name = call.candidate->variant->name;
        expected.insert(expected.end(), call.state == CacheState::cold ? 1 : 2, name);  // the preparation
        expected.push_back("+qkprof@" + name + "." + name_of(call.state));
        expected.push_back(name);
        expected.emplace_back("-qkprof");
    }
    EXPECT_EQ(nvtx_calls, expected);
    EXPECT_EQ(traced.calls.size() + 2 * traced.refusals.size(), 2 * watched.size());
    EXPECT_GT(traced.calls.size(), watched.size());
}

// Verified, counted and timed calls; what prepares them is outside.
TEST_F(GpuTrace, WhatTheHarnessMeasuresIsInRangesToo) {
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, {.batch = 1, .sequence = 64, .heads = 16});
    const auto pushes = [] {
        std::vector<std::string> pushed = nvtx_calls;
        const auto pops = std::remove(pushed.begin(), pushed.end(), "-qkprof");
        EXPECT_EQ(2 * (pops - pushed.begin()), static_cast<std::ptrdiff_t>(pushed.size()));
        pushed.erase(pops, pushed.end());
        nvtx_calls.clear();
        return pushed;
    };
    nvtx_calls.clear();
    EXPECT_TRUE(workload->verify(copy, copy.standard_parameters()).correct);
    EXPECT_THAT(pushes(), testing::ElementsAre("+qkprof@copy.verify"));
    for (const CacheState state : both_states) {
        const std::string push = "+qkprof@copy." + std::string(name_of(state));
        if (workload->count(copy, copy.standard_parameters(), state).at("launches").value) {
            EXPECT_THAT(pushes(), testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each(push)));
        }
        nvtx_calls.clear();
        const auto timing = workload->timing(copy, copy.standard_parameters(), state);
        EXPECT_THAT(pushes(), testing::IsEmpty());  // what prepares is not measured
        timing->sample();
        EXPECT_THAT(pushes(), testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each(push)));
    }
}

TEST_F(GpuTrace, ARefusedLaunchEndsTheRange) {
    const Variant& copy = variant_named("copy");
    const auto workload = load_for(copy, {.batch = 1, .sequence = 8, .heads = 4});
    Variant planted = copy;
    int calls = 0;
    planted.run = [&](const Call& call) {
        if (++calls == 2) {
            throw LaunchError("the device refused");
        }
        copy.run(call);
    };
    nvtx_calls.clear();
    EXPECT_THROW(workload->trace(planted, copy.standard_parameters(), CacheState::cold), LaunchError);
    EXPECT_THAT(nvtx_calls, testing::ElementsAre("+qkprof@copy.cold", "-qkprof"));
}

}  // namespace
}  // namespace qkprof
