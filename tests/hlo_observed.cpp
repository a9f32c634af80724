// Promises beside what ran: profiles made up for modules that are real.
#include "hlo/observed.h"

#include "hlo/kernel_names.h"
#include "hlo_data.h"

#include <gmock/gmock.h>

namespace qkprof::hlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using exec::ExecProfile;
using exec::RangeRow;

exec::KernelRow kernel(const std::string& name, std::uint64_t count, std::uint32_t device = 0) {
    exec::KernelRow row;
    row.name = name;
    row.count = count;
    row.forms.resize(1);
    row.forms.front().device = device;
    row.forms.front().count = count;
    return row;
}

RangeRow range(const std::string& domain, const std::string& name, std::uint64_t calls,
               std::vector<exec::KernelRow> kernels, std::vector<std::string> inside = {}) {
    RangeRow row;
    row.domain = domain;
    row.name = name;
    row.calls = calls;
    row.inside = std::move(inside);
    row.work.kernels = std::move(kernels);
    for (const exec::KernelRow& one : row.work.kernels) {
        row.work.launches += one.count;
    }
    return row;
}

class HloObserved : public testing::Test {
  protected:
    Observed observe_calls(const Promised& p, std::uint64_t calls, std::vector<exec::KernelRow> kernels,
                           std::uint64_t transfers = 0) {
        profile_.ranges = {range("", "call", calls, std::move(kernels))};
        profile_.ranges.front().work.transfers = transfers;
        return observe(p.promise, profile_, {&profile_.ranges.front()});
    }
    static const Observation& of(const Observed& observed, const Promised& p, const std::string& name) {
        return observed.rows[static_cast<std::size_t>(&p.row(name) - p.promise.rows.data())];
    }

    HloObserved() { profile_.complete = true; }

    ExecProfile profile_;
};

TEST_F(HloObserved, AFusionThatRanOnce) {
    const Promised p(data_text("h200/qk_seed.hlo"));
    const Observed o = observe_calls(p, 20, {kernel("fusion_8", 20)});
    EXPECT_EQ(o.executions, 20);
    EXPECT_EQ(of(o, p, "fusion.8").kernels, 1);
    EXPECT_THAT(of(o, p, "fusion.8").names, ElementsAre("fusion_8"));
    EXPECT_FALSE(of(o, p, "fusion.8").by_range);
    EXPECT_EQ(o.classes.at(Class::fusion), 1);
    EXPECT_THAT(o.differences, IsEmpty());
    EXPECT_FALSE(o.broken);
    EXPECT_EQ(o.joined, 1U);
}

TEST_F(HloObserved, AFusionThatRanTwiceOrNotBreaksItsPromise) {
    const Promised p(data_text("h200/transp.hlo"));
    const std::vector<exec::KernelRow> others = {kernel("loop_slice_fusion", 5), kernel("loop_slice_fusion_1", 5),
                                                 kernel("input_concatenate_fusion", 10)};
    const Observed o = observe_calls(p, 5, others);
    EXPECT_TRUE(o.broken);
    EXPECT_THAT(o.differences,
                ElementsAre("input_concatenate_fusion: promised 1, ran 2.", "wrapped_transpose: promised 1, ran 0."));
    EXPECT_EQ(o.classes.at(Class::fusion), 4);
}

TEST_F(HloObserved, AKernelThatNothingPromised) {
    const Promised p(data_text("h200/qk_seed.hlo"));
    const Observed o = observe_calls(p, 4, {kernel("fusion_8", 4), kernel("void reduce<float>(float*)", 8)});
    EXPECT_TRUE(o.broken);
    EXPECT_THAT(o.differences, ElementsAre("Nothing promised the kernel void reduce<float>(float*), which ran 2."));
}

// In attention the transposes of K and V are one text, and one kernel that runs twice.
TEST_F(HloObserved, FusionsOfOneTextShareAKernel) {
    const Promised p(data_text("h200/attn.hlo"));
    const Observed o = observe_calls(
        p, 3,
        {kernel("wrapped_transpose_2", 6), kernel("wrapped_transpose_1", 3), kernel("gemm_fusion_dot_5", 3),
         kernel("fusion_7", 3), kernel("gemm_fusion_dot_6", 3), kernel("input_transpose_fusion", 3)});
    EXPECT_THAT(o.differences, IsEmpty());
    EXPECT_EQ(of(o, p, "wrapped_transpose").kernels, 1);
    EXPECT_EQ(of(o, p, "wrapped_transpose.2").kernels, 1);
    EXPECT_EQ(o.classes.at(Class::fusion), 7);
    const Observed less = observe_calls(p, 3, {kernel("wrapped_transpose_2", 3), kernel("fusion_7", 3)});
    EXPECT_THAT(less.differences.front(), HasSubstr("wrapped_transpose.2 and wrapped_transpose: promised 2, ran 1."));
}

TEST_F(HloObserved, ASortingFusionsKernelIsNamedAfterTheSort) {
    const Promised p(data_text("h200/cond.hlo"));
    const Observed o = observe_calls(p, 2, {kernel("sort_6_1", 2)}, 2);
    EXPECT_EQ(of(o, p, "fusion").kernels, 1);
    EXPECT_EQ(of(o, p, "loop_multiply_fusion").kernels, 0);
    EXPECT_FALSE(o.broken);
    EXPECT_EQ(o.transfers, 1);
}

TEST_F(HloObserved, WhatIsLeftBelongsToTheOneCallThatMayHaveLaunchedIt) {
    const Promised p(data_text("h200/loop.hlo"));
    const Observed o =
        observe_calls(p, 2,
                      {kernel("loop_add_fusion", 20), kernel("wrapped_sine", 20), kernel("loop_reduce_fusion", 20),
                       kernel("ampere_sgemm_64x64", 20), kernel("splitKreduce", 20)},
                      4);
    EXPECT_THAT(o.differences, IsEmpty());
    EXPECT_EQ(of(o, p, "custom-call.1").kernels, 20);
    EXPECT_EQ(o.classes.at(Class::library), 20);
    EXPECT_EQ(of(o, p, "loop_compare_fusion").kernels, 0);
    const Promised pallas(data_text("documents/qk_norm_rope_pallas.hlo"));
    const Observed one = observe_calls(pallas, 7, {kernel("wrapped_broadcast", 7), kernel("mosaic_kernel", 7)});
    EXPECT_EQ(one.classes.at(Class::custom_call), 1);
    EXPECT_FALSE(one.broken);
    const Observed two = observe_calls(pallas, 7, {kernel("wrapped_broadcast", 7), kernel("mosaic_kernel", 14)});
    EXPECT_TRUE(two.broken);
    EXPECT_THAT(two.differences, ElementsAre(HasSubstr("pallas_call.1: promised 1, ran 2")));
}

TEST_F(HloObserved, WhatSeveralCallsMayHaveLaunchedIsNotToldApart) {
    const Promised p(
        in_module("  %x = f32[8] parameter(0)\n  %a = f32[8] custom-call(%x), custom_call_target=\"mine\"\n"
                  "  ROOT %b = f32[8] custom-call(%a), custom_call_target=\"yours\"\n"));
    const Observed o = observe_calls(p, 2, {kernel("k", 6)});
    EXPECT_EQ(of(o, p, "a").kernels, std::nullopt);
    EXPECT_EQ(o.strays_of, "a, b");
    EXPECT_EQ(o.classes.at(Class::custom_call), 3);
    EXPECT_THAT(o.differences, IsEmpty());
}

TEST_F(HloObserved, XlasOwnRangesSayItExactly) {
    const Promised p(data_text("h200/chol.hlo"));
    const std::string module = "XlaModule:#prefix=jit(chol),hlo_module=jit_chol,program_id=3#";
    const std::vector<std::string> inside = {"TSL@" + module};
    const auto thunk = [&](const std::string& name, std::vector<exec::KernelRow> kernels) {
        return range("TSL", "Thunk:#name=chol,hlo_op=" + name + "#", 6, std::move(kernels), inside);
    };
    profile_.ranges = {
        range("TSL", module, 6,
              {kernel("gemm_fusion_dot_1", 6), kernel("loop_add_fusion", 6), kernel("input_transpose_fusion_1", 6),
               kernel("potrf_a", 12), kernel("potrf_b", 6), kernel("input_transpose_fusion", 6)}),
        thunk("gemm_fusion_dot.1", {kernel("gemm_fusion_dot_1", 6)}),
        thunk("loop_add_fusion", {kernel("loop_add_fusion", 6)}),
        thunk("input_transpose_fusion.1", {kernel("input_transpose_fusion_1", 6)}),
        thunk("cholesky.0", {kernel("potrf_a", 12), kernel("potrf_b", 6)}),
        thunk("input_transpose_fusion", {kernel("input_transpose_fusion", 6)}),
        range("TSL", "Thunk:#hlo_op=loop_add_fusion#", 9, {kernel("loop_add_fusion", 9)},
              {"TSL@XlaModule:#hlo_module=jit_other,program_id=1#"})};
    profile_.work.kernels = {kernel("of another program", 100)};
    const Observed o = observe(p.promise, profile_, {});
    EXPECT_EQ(o.executions, 6);
    EXPECT_TRUE(o.scoped);
    EXPECT_THAT(o.differences, IsEmpty());
    EXPECT_TRUE(of(o, p, "cholesky.0").by_range);
    EXPECT_EQ(of(o, p, "cholesky.0").kernels, 3);
    EXPECT_EQ(of(o, p, "loop_add_fusion").kernels, 1);
    EXPECT_EQ(o.classes.at(Class::library), 3);
    EXPECT_EQ(o.kernels, 7);
}

TEST_F(HloObserved, AnotherModulesInstructionOfTheSameNameIsNotTaken) {
    const Promised p(data_text("h200/qk_seed.hlo"));
    const auto thunk = [](const std::string& module, const std::string& ran) {
        return range("TSL", "Thunk:#hlo_op=fusion.8#", 2, {kernel(ran, 2)},
                     {"step", "TSL@XlaModule:#hlo_module=" + module + ",program_id=1#"});
    };
    profile_.ranges = {range("", "step", 2, {kernel("fusion_8", 2), kernel("fusion_8__1", 2)}),
                       thunk("jit_qk_seed", "fusion_8"), thunk("jit_other", "fusion_8__1")};
    const Observed o = observe(p.promise, profile_, {&profile_.ranges.front()});
    EXPECT_EQ(of(o, p, "fusion.8").kernels, 1);
    EXPECT_TRUE(of(o, p, "fusion.8").by_range);
    EXPECT_THAT(o.differences, ElementsAre("Nothing promised the kernel fusion_8__1, which ran 1."));
}

TEST_F(HloObserved, EveryDeviceExecutesAPartition) {
    const Promised p(data_text("h200/shard_add.hlo"));
    exec::KernelRow both = kernel("wrapped_add", 20);
    both.forms.push_back(both.forms.front());
    both.forms.back().device = 1;
    const Observed o = observe_calls(p, 10, {both});
    EXPECT_EQ(of(o, p, "wrapped_add").kernels, 1);
    EXPECT_THAT(o.how, HasSubstr("2 devices"));
    EXPECT_FALSE(o.broken);
}

TEST_F(HloObserved, WithoutARangeTheFusionsSayHowOftenItRan) {
    const Promised p(data_text("h200/transp.hlo"));
    profile_.work.kernels = {kernel("loop_slice_fusion", 9), kernel("loop_slice_fusion_1", 9),
                             kernel("input_concatenate_fusion", 9), kernel("wrapped_transpose", 18),
                             kernel("something else", 5)};
    const Observed o = observe(p.promise, profile_, {});
    EXPECT_EQ(o.executions, 9);
    EXPECT_FALSE(o.scoped);
    EXPECT_FALSE(o.broken);  // another module may have run it, and something else
    EXPECT_THAT(o.differences,
                ElementsAre(HasSubstr("wrapped_transpose: promised 1, ran 2, perhaps of another module")));
    profile_.work.kernels.erase(profile_.work.kernels.begin() + 3);
    EXPECT_TRUE(observe(p.promise, profile_, {}).broken);
}

TEST_F(HloObserved, WhatNothingJoinsIsSaid) {
    const Promised p(data_text("h200/transp.hlo"));
    EXPECT_EQ(observe(p.promise, profile_, {}).joined, 0U);
    profile_.work.kernels = {kernel("something else", 5)};
    EXPECT_EQ(observe(p.promise, profile_, {}).joined, 0U);
}

TEST_F(HloObserved, RangesOfOtherModulesAloneJoinNothing) {
    const Promised p(data_text("h200/qk_seed.hlo"));
    profile_.work.kernels = {kernel("fusion_8", 2)};
    profile_.ranges = {
        range("TSL", "XlaModule:#hlo_module=jit_other,program_id=1#", 2, {kernel("fusion_8", 2)}),
        range("TSL", "XlaModule:#hlo_module=jit_another,program_id=2#", 2, {}),
    };
    const Observed o = observe(p.promise, profile_, {});
    EXPECT_TRUE(o.nothing_joined());
    EXPECT_THAT(o.of_others, ElementsAre("jit_another", "jit_other"));
    profile_.ranges.push_back(
        range("TSL", "XlaModule:#hlo_module=jit_qk_seed,program_id=3#", 2, {kernel("fusion_8", 2)}));
    EXPECT_THAT(observe(p.promise, profile_, {}).of_others, IsEmpty());
    EXPECT_EQ(observe(p.promise, profile_, {}).joined, 1U);
}

// Two arrays are copied each time.
std::string copying() {
    return in_module("  %x = f32[8] parameter(0)\n  %a = f32[8] copy(%x)\n  ROOT %b = f32[8] copy(%a)\n");
}

TEST_F(HloObserved, CopiesThatWereNotMadeBreakAPromise) {
    const Promised p(copying());
    const Observed o = observe_calls(p, 3, {}, 6);
    EXPECT_THAT(o.differences, IsEmpty());
    EXPECT_FALSE(o.nothing_joined());
    EXPECT_EQ(o.class_transfers.at(Class::transfer), 2);
    const Observed none = observe_calls(p, 3, {});
    EXPECT_THAT(none.differences, ElementsAre("a, b: promised 2 copies or fills, ran 0."));
    EXPECT_TRUE(none.broken);
    const Observed more = observe_calls(p, 3, {}, 9);
    EXPECT_THAT(more.differences, ElementsAre("a, b: promised 2 copies or fills, ran 3, perhaps the program's own."));
    EXPECT_FALSE(more.broken);
}

TEST_F(HloObserved, AnInstructionsOwnRangeSaysWhatItCopied) {
    const Promised p(copying());
    const std::string module = "XlaModule:#hlo_module=made_up,program_id=1#";
    profile_.ranges = {range("TSL", module, 2, {}), range("TSL", "Thunk:#hlo_op=a#", 2, {}, {"TSL@" + module}),
                       range("TSL", "Thunk:#hlo_op=b#", 2, {}, {"TSL@" + module})};
    profile_.ranges[0].work.transfers = profile_.ranges[2].work.transfers = 2;
    const Observed o = observe(p.promise, profile_, {});
    EXPECT_EQ(of(o, p, "b").transfers, 1);
    EXPECT_THAT(o.differences, ElementsAre("a: promised 1 copy or fill, ran 0."));
    EXPECT_TRUE(o.broken);
}

TEST_F(HloObserved, WhereRecordsAreMissingTooFewBreaksNoPromise) {
    const Promised p(copying());
    exec::ProcessRow process;
    process.process = 7;
    process.all_sent = true;
    process.without_record = 2;
    profile_.processes = {process};
    const Observed o = observe_calls(p, 3, {});
    EXPECT_THAT(o.doubts, ElementsAre("Process 7: 2 submission(s) have no record."));
    EXPECT_EQ(o.differences.size(), 1U);
    EXPECT_FALSE(o.broken);
    profile_.complete = false;
    EXPECT_EQ(observe_calls(p, 3, {}).doubts.size(), 2U);
}

TEST(HloKernelNames, AreInstructionsNames) {
    EXPECT_EQ(kernel_name("loop-add.fusion.1"), "loop_add_fusion_1");
    EXPECT_EQ(plain_kernel_name("fusion_8__1"), "fusion_8");
    EXPECT_EQ(plain_kernel_name("fusion_8(float*, int)"), "fusion_8");
    EXPECT_EQ(plain_kernel_name("wrapped_add"), "wrapped_add");
    EXPECT_EQ(plain_kernel_name("fusion_8"), "fusion_8");
    EXPECT_EQ(plain_kernel_name("__7"), "__7");
    EXPECT_EQ(annotated("Thunk:#name=a/b,hlo_op=fusion.8#", "hlo_op"), "fusion.8");
    EXPECT_EQ(annotated("TSL@XlaModule:#hlo_module=jit_f,program_id=2#", "hlo_module"), "jit_f");
    EXPECT_EQ(annotated("no annotation", "hlo_op"), "");
    EXPECT_EQ(annotated("Thunk:#hlo_op=a", "hlo_op"), "a");  // cut short
}

}  // namespace
}  // namespace qkprof::hlo
