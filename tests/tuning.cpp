// The choice of tuned parameters for a problem: which table, which entry, and what is said of it.
#include "tuning.h"

#include "tuned_variant.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

class Tuning : public testing::Test {
  protected:
    // What was chosen for the problem, on "GPU A".
    Resolved on(const Problem& problem, const std::string& device = "GPU A") const {
        return resolve(variant_, given_, problem, {}, device, tables_);
    }
    // The lanes that the nearest entry says; the entries' are 1, 2 and 4, in their order.
    int nearest(const Problem& problem, const std::vector<Problem>& entries) {
        std::vector<TuningEntry>& all = tables_.at(0).entries["best"];
        all.clear();
        int lanes = 1;
        for (const Problem& entry : entries) {
            all.push_back(tuning_entry(entry, lanes, 1));
            lanes *= 2;
        }
        const Resolved resolved = on(problem);
        EXPECT_EQ(resolved.refusal, "");
        return resolved.request.parameter("lanes");
    }
    static Problem tokens(std::int64_t count) { return {.sequence = count, .heads = 16}; }

    Variant variant_ = tuned_variant();
    Parameters given_ = variant_.standard_parameters();
    std::vector<TuningTable> tables_ = {
        {.device = "GPU A", .entries = {{"best", {tuning_entry(tokens(64), 2, 1), tuning_entry(tokens(1024), 4, 2)}}}},
        {.device = "GPU B", .entries = {{"best", {tuning_entry(tokens(64), 1, 1)}}}}};
};

TEST_F(Tuning, TheOwnEntryIsTaken) {
    const Resolved resolved = on(tokens(1024));
    EXPECT_EQ(resolved.request.parameters, (Parameters{{"heads", 2}, {"lanes", 4}, {"threads", 128}}));
    EXPECT_EQ(
        resolved.tuned_from,
        (TunedFrom{.device = "GPU A", .problem = "1x1024x16x128 f32", .own = true, .parameters = {"heads", "lanes"}}));
}

TEST_F(Tuning, SeedValuesEpsAndBaseDoNotMatter) {
    Problem problem = tokens(1024);
    problem.seed = 7;
    problem.values = Values::zeros;
    problem.eps = 0.5F;
    problem.rotary_base = 5e5;
    EXPECT_TRUE(on(problem).tuned_from.value().own);
    problem.gemma = true;
    EXPECT_FALSE(on(problem).tuned_from.value().own);
}

TEST_F(Tuning, WhatIsGivenStays) {
    given_["lanes"] = 1;
    const Resolved resolved = on(tokens(1024));
    EXPECT_EQ(resolved.request.parameters, (Parameters{{"heads", 2}, {"lanes", 1}, {"threads", 128}}));
    EXPECT_EQ(resolved.tuned_from.value().parameters, std::vector<std::string>{"heads"});
    given_["heads"] = 1;
    EXPECT_FALSE(on(tokens(1024)).tuned_from.has_value());
}

TEST_F(Tuning, AnEntryForGivenParametersIsForThoseAlone) {
    TuningEntry for_one_lane = tuning_entry(tokens(64), 1, 4);
    for_one_lane.given = {"lanes"};
    tables_[0].entries["best"].push_back(for_one_lane);
    EXPECT_EQ(on(tokens(64)).request.parameter("lanes"), 2);
    given_["lanes"] = 1;
    EXPECT_EQ(on(tokens(64)).request.parameter("heads"), 4);
    EXPECT_EQ(on(tokens(1024)).request.parameter("heads"), 2) << "it goes before no nearer one";
    given_["lanes"] = 4;
    EXPECT_EQ(on(tokens(64)).request.parameter("heads"), 1);
    given_ = variant_.standard_parameters();
    tables_[0].entries["best"] = {for_one_lane};
    EXPECT_NE(on(tokens(64)).refusal.find("qkprof tune"), std::string::npos);
}

TEST_F(Tuning, AVariantWithoutTunedParametersNeedsNoTable) {
    const Variant plain = fake_variant("plain", "it is not in the mood");
    const Resolved resolved = resolve(plain, plain.standard_parameters(), tokens(1), {}, "GPU A", {});
    EXPECT_FALSE(resolved.tuned_from.has_value());
    EXPECT_EQ(resolved.refusal, "it is not in the mood");
}

TEST_F(Tuning, ADeviceWithoutATableTakesTheFirst) {
    EXPECT_EQ(on(tokens(64), "GPU B").request.parameter("lanes"), 1);
    EXPECT_EQ(on(tokens(64), "GPU C").request.parameter("lanes"), 2);
    EXPECT_EQ(on(tokens(64), "GPU C").tuned_from.value().device, "GPU A");
    tables_[1].entries.clear();  // it has nothing of the variant
    EXPECT_EQ(on(tokens(64), "GPU B").tuned_from.value().device, "GPU A");
}

TEST_F(Tuning, WithoutAnyTableItIsRefused) {
    tables_.clear();
    const Resolved resolved = on(tokens(64));
    EXPECT_NE(resolved.refusal.find("qkprof tune"), std::string::npos) << resolved.refusal;
    EXPECT_EQ(resolved.request.parameters, (Parameters{{"threads", 128}}));
    EXPECT_FALSE(resolved.tuned_from.has_value());
}

TEST_F(Tuning, NearestByWhatDiffersIsInItsOrder) {
    Problem bf16 = tokens(1024);
    bf16.dtype = DataType::bf16;
    Problem f16 = tokens(1024);
    f16.dtype = DataType::f16;
    Problem keys = bf16;
    keys.key_heads = 8;
    Problem in_place = keys;
    in_place.in_place = true;
    Problem wide = keys;
    wide.head_dim = 256;
    Problem gemma = bf16;
    gemma.gemma = true;
    Problem far = keys;
    far.sequence = 1 << 20;
    EXPECT_EQ(nearest(f16, {tokens(1024), keys}), 2) << "the bytes of an element";
    EXPECT_EQ(nearest(bf16, {gemma, wide, far}), 1) << "the head dim, where none is plain";
    EXPECT_EQ(nearest(far, {bf16, wide}), 2) << "the form";
    EXPECT_EQ(nearest(far, {wide, gemma}), 2) << "the head dim, before the key heads";
    EXPECT_EQ(nearest(far, {gemma, in_place}), 2) << "the key heads, before in place";
    EXPECT_EQ(nearest(far, {in_place, keys}), 2) << "in place";
    Problem smaller = keys;
    smaller.sequence = 16;
    EXPECT_EQ(nearest(far, {smaller, keys}), 2) << "the compulsory bytes";
}

TEST_F(Tuning, BytesAreNearByTheirRatioAndTheFirstOfEqualsIsTaken) {
    // Of heads alone, whose compulsory bytes are near to a multiple of the tokens.
    EXPECT_EQ(nearest(tokens(1000), {tokens(100), tokens(4000)}), 2);
    EXPECT_EQ(nearest(tokens(1000), {tokens(300), tokens(10000)}), 1);
    Problem one = tokens(1000);
    one.offset = 1;
    Problem two = tokens(1000);
    two.offset = 2;
    EXPECT_EQ(nearest(tokens(1000), {one, two}), 1);
    EXPECT_EQ(nearest(tokens(1000), {two, one}), 1);
    EXPECT_EQ(nearest(tokens(1000), {one, tokens(1000)}), 2) << "its own, whatever is as near";
    EXPECT_EQ(nearest(tokens(0), {tokens(1000), tokens(1)}), 2) << "an empty problem";
}

TEST_F(Tuning, AnEntryThatIsRefusedIsPassedOver) {
    variant_ = tuned_variant(
        [](const Request& request) { return request.parameter("lanes") == 2 ? std::string("no 2") : std::string(); });
    const Resolved resolved = on(tokens(64));
    EXPECT_EQ(resolved.request.parameter("lanes"), 4);
    EXPECT_EQ(resolved.tuned_from.value().problem, "1x1024x16x128 f32");
    EXPECT_FALSE(resolved.tuned_from.value().own);
    EXPECT_EQ(resolved.refusal, "");
    given_["lanes"] = 2;  // with what is given
    EXPECT_EQ(on(tokens(64)).refusal, "no 2 (with heads 1, as tuned for 1x64x16x128 f32; --sweep gives other values)");
}

TEST_F(Tuning, WhereAllAreRefusedTheNearestStands) {
    variant_ = tuned_variant([](const Request& request) { return "no " + std::to_string(request.parameter("lanes")); });
    const Resolved resolved = on(tokens(64));
    EXPECT_EQ(resolved.refusal,
              "no 2 (with heads 1, lanes 2, as tuned for 1x64x16x128 f32; --sweep gives other values)");
    EXPECT_EQ(resolved.request.parameter("lanes"), 2);
}

}  // namespace
}  // namespace qkprof
