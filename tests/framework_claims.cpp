// The claims about frameworks, on what was recorded of them on an H200: as they were judged then, and that each fails
// on a planted fault.
#include "claims.h"
#include "evidence.h"
#include "frameworks.h"
#include "judge.h"
#include "profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace qkprof {
namespace {

std::vector<Claim> framework_claims() {
    std::vector<std::string> names;
    for (const Variant& variant : variants(Backend::emulated)) {
        names.push_back(variant.name);
    }
    for (const Framework& framework : frameworks()) {
        names.emplace_back(framework.name);
    }
    return choose_claims(parse_claims(embedded_claims_toml, "claims.toml", names), {"framework_*"});
}

const Profile& recorded() {
    static const Profile profile = read_profile(QKPROF_PROFILES_FOLDER "/h200/routes.json");
    return profile;
}

using Change = std::function<void(Measurement&)>;

Verdict verdict_of(const std::string& id, const Change& change = {}) {
    std::vector<Profile> profiles = {recorded()};
    for (Measurement& m : profiles[0].measurements) {
        if (change && m.ran()) {
            change(m);
        }
    }
    return judge(choose_claims(framework_claims(), {id}).at(0), Evidence(profiles));
}

Change set(const std::string& variant, const std::string& counter, double value) {
    return [=](Measurement& m) {
        if (m.variant == variant) {
            m.counters[counter] = {.value = value, .source = Source::counted, .reason = {}};
        }
    };
}

Change timed(const std::string& variant, const std::string& as, double factor) {
    return [=](Measurement& m) {
        const auto other = std::find_if(
            recorded().measurements.begin(), recorded().measurements.end(),
            [&](const Measurement& o) { return o.variant == as && o.problem == m.problem && o.state == m.state; });
        if (m.variant == variant && other != recorded().measurements.end()) {
            m.seconds = other->seconds;
            for (double& seconds : m.seconds) {
                seconds *= factor;
            }
        }
    };
}

TEST(FrameworkClaims, AreJudgedAsTheyWereRecorded) {
    for (const char* id :
         {"framework_fusion_is_one_launch", "framework_custom_call_is_any_number", "framework_custom_call_of_two",
          "framework_custom_call_of_three", "framework_pallas_call_is_one_launch", "framework_unfused_is_real",
          "framework_best_is_never_slower", "framework_best_is_faster_than_xla"}) {
        EXPECT_EQ(verdict_of(id).decision, Decision::supported) << id;
    }
    EXPECT_EQ(verdict_of("framework_torch_splits").decision, Decision::refuted);  // in bf16 it does not
    EXPECT_EQ(verdict_of("framework_routes_take_the_same_time").decision, Decision::refuted);
}

TEST(FrameworkClaims, FailOnPlantedFaults) {
    const auto refuted = [](const std::string& id, const Change& change) {
        EXPECT_EQ(verdict_of(id, change).decision, Decision::refuted) << id;
    };
    refuted("framework_fusion_is_one_launch", set("jax_xla", "hlo_fusion_launches", 2));
    refuted("framework_custom_call_is_any_number", set("jax_ffi_split_two_kernel", "hlo_custom_call_launches", 1));
    refuted("framework_custom_call_of_two", set("jax_ffi_split_two_kernel", "hlo_custom_call_launches", 3));
    refuted("framework_custom_call_of_three", set("jax_ffi_naive_three_kernel", "hlo_custom_call_launches", 2));
    refuted("framework_pallas_call_is_one_launch", set("jax_pallas_mosaic", "hlo_custom_call_launches", 2));
    refuted("framework_unfused_is_real", set("jax_xla_kept_query", "hlo_unfused_launches", 0));
}

// With this part of a copy's time for fused_best, at every size or at one.
Verdict with_best(const std::string& id, double factor, const std::string& shape_of_factor = "") {
    std::vector<Profile> profiles = {recorded()};
    for (Measurement& m : profiles[0].measurements) {
        const bool slower = shape_of_factor.empty() || m.problem.shape_text() == shape_of_factor;
        timed("jax_ffi_fused_best", "jax_ffi_copy", slower ? factor : 1.05)(m);
    }
    return judge(choose_claims(framework_claims(), {id}).at(0), Evidence(profiles));
}

TEST(FrameworkClaims, OfFusedBestAreUndecidedWhereItWasNotMeasured) {
    std::vector<Profile> profiles = {recorded()};
    std::erase_if(profiles[0].measurements, [](const Measurement& m) { return m.variant == "jax_ffi_fused_best"; });
    for (const char* id : {"framework_best_is_never_slower", "framework_best_is_faster_than_xla"}) {
        const Verdict verdict = judge(choose_claims(framework_claims(), {id}).at(0), Evidence(profiles));
        EXPECT_EQ(verdict.decision, Decision::undecided) << id;
        EXPECT_THAT(verdict.evidence.cells.at(0).reason,
                    testing::HasSubstr("real_time[jax_ffi_fused_best]: it was not measured"));
    }
}

TEST(FrameworkClaims, OfFusedBestHoldAtTheSpeedOfACopyAndFailBelow) {
    EXPECT_EQ(with_best("framework_best_is_never_slower", 1.01).decision, Decision::supported);
    EXPECT_EQ(with_best("framework_best_is_never_slower", 1.1).decision, Decision::refuted);
    EXPECT_EQ(with_best("framework_best_is_never_slower", 1.5, "64x1x16x128").decision, Decision::refuted);  // one size
    EXPECT_EQ(with_best("framework_best_is_faster_than_xla", 1.01).decision, Decision::supported);
    EXPECT_EQ(with_best("framework_best_is_faster_than_xla", 1.25).decision, Decision::refuted);
    EXPECT_EQ(with_best("framework_best_is_faster_than_xla", 1.25, "64x1x16x128").decision, Decision::supported);
}

TEST(FrameworkClaims, AControlThatShowsNothingDecidesNothing) {
    EXPECT_EQ(verdict_of("framework_fusion_is_one_launch",
                         [](Measurement& m) {
                             if (m.variant.starts_with("jax_ffi_")) {
                                 m.counters["hlo_custom_call_launches"] = {
                                     .value = 1, .source = Source::counted, .reason = {}};
                             }
                         })
                  .decision,
              Decision::undecided);
}

TEST(FrameworkClaims, ThatAreRefutedCouldHaveHeld) {
    EXPECT_EQ(verdict_of("framework_torch_splits", set("torch_compile", "launches", 2)).decision, Decision::supported);
    Change all = timed("jax_xla", "jax_ffi_fused_register_paired", 1.01);
    const Change vector = timed("jax_pallas_vector", "jax_ffi_fused_register_paired", 0.99);
    const Change tile = timed("jax_pallas_tile", "jax_ffi_fused_register_paired", 1);
    EXPECT_EQ(verdict_of("framework_routes_take_the_same_time",
                         [&](Measurement& m) {
                             all(m);
                             vector(m);
                             tile(m);
                         })
                  .decision,
              Decision::supported);
}

TEST(FrameworkClaims, TimesThatWereTakenInDifferentWaysAreNotCompared) {
    const std::vector<Claim> claims = parse_claims(R"(
[[claim]]
id = "mixed"
statement = "A framework's time over a native one's."
source = "a test"
subjects = "jax_xla"
measure = "real_time / real_time[copy]"
relation = "> 0"
[claim.control]
relation = "< 0"
)",
                                                   "c.toml", {"jax_xla", "copy"});
    const std::vector<Profile> profiles = {recorded()};
    const Verdict verdict = judge(claims.at(0), Evidence(profiles));
    EXPECT_EQ(verdict.decision, Decision::undecided);
    EXPECT_THAT(verdict.evidence.cells.at(0).reason,
                testing::HasSubstr("times taken in different ways are not compared"));
}

// The ceiling of a route is the copy that was timed as it was.
TEST(FrameworkClaims, EachTimeHasACeilingTimedAlike) {
    const CopyFractions fractions(recorded().measurements);
    for (const Measurement& m : recorded().measurements) {
        if (m.variant == "jax_ffi_copy" || m.variant == "copy") {
            EXPECT_EQ(fractions.of(m).value, 1.0) << m.name();
        }
    }
    std::vector<Measurement> without;
    std::copy_if(recorded().measurements.begin(), recorded().measurements.end(), std::back_inserter(without),
                 [](const Measurement& m) { return m.variant != "jax_ffi_copy"; });
    for (const Measurement& m : without) {
        if (m.variant == "jax_xla") {
            EXPECT_FALSE(CopyFractions(without).of(m).value) << m.name();
        }
    }
}

}  // namespace
}  // namespace qkprof
