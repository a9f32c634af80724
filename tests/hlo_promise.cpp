// What HLO promises to launch: the documents' own examples, what JAX makes of operations for an H200 and a CPU, and
// each rule on a module of its own.
#include "hlo_data.h"

#include "hlo/custom_calls.h"

#include <gmock/gmock.h>

namespace qkprof::hlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t query_bytes = std::int64_t{128} * 1024 * 16 * 128 * 4;

TEST(HloPromise, TheFusedOperationIsOneKernel) {
    const Promised p(data_text("documents/qk_norm_rope_fusion.hlo"));
    EXPECT_EQ(p.promise.kernels, once);
    EXPECT_EQ(p.total(Class::fusion).instructions, 1U);
    EXPECT_EQ(p.promise.platform, Platform::gpu);
    const Fusion& fusion = *p.row("fusion.8").verdict.fusion;
    EXPECT_EQ(fusion.kind, "kCustom");
    EXPECT_EQ(fusion.backend, "__triton");
    EXPECT_EQ(fusion.warps, 8);
    EXPECT_THAT(fusion.tiles, ElementsAre(ElementsAre(8, 1, 16, 64)));
    EXPECT_FALSE(fusion.body_known);
    EXPECT_EQ(p.row("fusion.8").traffic.total(), 2 * query_bytes + 128 * 4 + 2 * 1024 * 64 * 4);
    EXPECT_EQ(p.promise.ideal_bytes, p.row("fusion.8").traffic.total());
}

TEST(HloPromise, AForeignFunctionIsAnUnknownNumber) {
    const Promised p(data_text("documents/qk_norm_rope_ffi.hlo"));
    EXPECT_EQ(p.promise.kernels, unknown_times);
    EXPECT_EQ(p.total(Class::custom_call).instructions, 1U);
    EXPECT_EQ(p.total(Class::custom_call).kernels, unknown_times);
    EXPECT_THAT(p.row("ffi_call.1").verdict.reason, HasSubstr("does not say"));
}

TEST(HloPromise, ThePallasKernelIsOneAndItsBroadcastAnother) {
    const Promised p(data_text("documents/qk_norm_rope_pallas.hlo"));
    EXPECT_EQ(p.promise.kernels, (Count{2, 2}));
    EXPECT_EQ(p.total(Class::fusion).kernels, once);
    EXPECT_EQ(p.total(Class::custom_call).kernels, once);
    EXPECT_EQ(p.row("bitcast.2").verdict.kind, Class::nothing);
    EXPECT_EQ(p.row("bitcast.1.0").verdict.kind, Class::nothing);
    EXPECT_EQ(p.promise.intermediates.size(), 1U);  // the broadcast; the call's result is the module's
    EXPECT_EQ(p.promise.intermediates.front().bytes, 64 * 128 * 4);
}

TEST(HloPromise, TheMatrixProductIsOneKernel) {
    const Promised p(data_text("documents/int8_matmul.hlo"));
    EXPECT_EQ(p.promise.kernels, once);
    const Fusion& fusion = *p.row("triton_gemm_dot.6").verdict.fusion;
    EXPECT_EQ(fusion.backend, "__triton_gemm");
    EXPECT_EQ(fusion.block_m, 64);
    EXPECT_EQ(fusion.block_n, 64);
    EXPECT_EQ(fusion.block_k, 64);
    EXPECT_EQ(fusion.warps, 4);
    EXPECT_EQ(fusion.stages, 2);
    EXPECT_EQ(fusion.operation_count(), 8U);
    EXPECT_EQ(p.row("triton_gemm_dot.6").traffic.read(), 3 * 2 + 2 * 3 * 2);
    EXPECT_EQ(p.row("triton_gemm_dot.6").traffic.written, 3 * 3 * 2);
}

TEST(HloPromise, TheOperationOnAnH200) {
    const Promised p(data_text("h200/qk_seed.hlo"));
    EXPECT_EQ(p.promise.kernels, once);
    EXPECT_EQ(p.promise.transfers, Count{});
    EXPECT_EQ(p.promise.bytes.least, static_cast<std::uint64_t>(*p.promise.ideal_bytes));
    EXPECT_THAT(p.promise.intermediates, IsEmpty());
}

// The document's remark: what is one fusion on the GPU is several on a CPU. JAX 0.11.2 makes the three of the remark of
// a prefill's shape, and four of a tiny one.
TEST(HloPromise, TheOperationOnACpu) {
    const Promised prefill(data_text("cpu/qk_prefill.hlo"));
    EXPECT_EQ(prefill.promise.platform, Platform::cpu);
    EXPECT_EQ(prefill.total(Class::fusion).instructions, 3U);
    EXPECT_EQ(prefill.total(Class::unfused).instructions, 1U);
    EXPECT_EQ(prefill.row("concatenate.1").verdict.what, "concatenate");
    EXPECT_TRUE(prefill.row("concatenate.1").verdict.blocked);
    const Promised tiny(data_text("cpu/qk_tiny.hlo"));
    EXPECT_EQ(tiny.total(Class::fusion).instructions, 4U);
    EXPECT_GT(tiny.promise.bytes.least, static_cast<std::uint64_t>(*tiny.promise.ideal_bytes));
}

TEST(HloPromise, AdditionAndProductOnTwoDevices) {
    const Promised add(data_text("h200/shard_add.hlo"));
    EXPECT_EQ(add.module.partitions(), 2);
    EXPECT_EQ(add.promise.kernels, once);
    EXPECT_EQ(add.total(Class::collective).instructions, 0U);
    const Promised gather(data_text("h200/shard_add_gather.hlo"));
    EXPECT_EQ(gather.total(Class::collective).instructions, 2U);
    EXPECT_EQ(gather.row("all-gather.3").verdict.kernels, at_least_once);
    EXPECT_EQ(gather.row("all-gather.3").traffic.read(), 512 * 1024 * 4);
    EXPECT_EQ(gather.row("all-gather.3").traffic.written, 1024 * 1024 * 4);
    const Promised product(data_text("h200/shard_allreduce.hlo"));
    EXPECT_EQ(product.total(Class::fusion).kernels, (Count{2, 2}));
    EXPECT_EQ(product.promise.kernels, (Count{3, std::nullopt}));
    EXPECT_EQ(Promised(data_text("cpu/shard_matmul.hlo")).total(Class::collective).instructions, 1U);
}

TEST(HloPromise, ALoopTurnsAsOftenAsItSays) {
    const Promised p(data_text("h200/loop.hlo"));
    EXPECT_EQ(p.row("wrapped_sine").kernels(), (Count{10, 10}));
    EXPECT_EQ(p.row("wrapped_sine").path, "while.5 body");
    EXPECT_EQ(p.row("loop_compare_fusion").kernels(), (Count{0, 11}));  // the host may know without asking
    EXPECT_EQ(p.row("custom-call.1").kernels(), (Count{10, std::nullopt}));
    EXPECT_EQ(p.row("custom-call.1").traffic.written, 4 * 256 * 256 * 4);  // without its working memory
    EXPECT_EQ(p.total(Class::transfer).transfers, (Count{2, 2}));
    EXPECT_EQ(p.promise.kernels, (Count{40, std::nullopt}));
}

TEST(HloPromise, ALoopOfUnknownLengthAsksAtLeastOnce) {
    const Promised p(data_text("h200/wloop.hlo"));
    EXPECT_EQ(p.row("loop_compare_fusion").kernels(), at_least_once);
    EXPECT_EQ(p.row("loop_add_fusion").kernels(), unknown_times);
    EXPECT_EQ(p.row("while.5").transfers(), unknown_times);
    EXPECT_EQ(p.promise.kernels, (Count{3, std::nullopt}));
}

TEST(HloPromise, OfBranchesOneIsTaken) {
    const std::string two =
        "%f {\n  %p = f32[8] parameter(0)\n  %a = f32[8] negate(%p)\n  ROOT %b = f32[8] sine(%a)\n}\n"
        "%g {\n  %p = f32[8] parameter(0)\n  ROOT %c = f32[8] cosine(%p)\n}\n";
    const Promised p(
        in_module("  %i = s32[] parameter(0)\n  %x = f32[8] parameter(1)\n"
                  "  ROOT %d = f32[8] conditional(%i, %x, %x), branch_computations={%f, %g}\n",
                  two));
    EXPECT_EQ(p.promise.kernels, (Count{1, 2}));
    EXPECT_EQ(p.row("c").kernels(), (Count{0, 1}));
    EXPECT_EQ(p.row("c").path, "d g");
    EXPECT_THAT(p.promise.intermediates, SizeIs(1));  // a; what the branches yield is the result
    const Promised real(data_text("h200/cond.hlo"));
    EXPECT_EQ(real.promise.kernels, at_least_once);
    EXPECT_EQ(real.row("fusion").verdict.transfers, (Count{0, 1}));  // a sort may copy what it sorts
}

TEST(HloPromise, CopiesAreKernelsWhereTheLayoutDiffers) {
    const Promised p(
        in_module("  %x = f32[8,4]{1,0} parameter(0)\n  %same = f32[8,4]{1,0} copy(%x)\n"
                  "  %turned = f32[8,4]{0,1} copy(%x)\n"
                  "  ROOT %t = (f32[8,4]{1,0}, f32[8,4]{0,1}) tuple(%same, %turned)\n"));
    EXPECT_EQ(p.row("same").verdict.kind, Class::transfer);
    EXPECT_EQ(p.row("same").kernels(), Count{});
    EXPECT_EQ(p.row("same").transfers(), once);
    EXPECT_EQ(p.row("turned").verdict.kind, Class::unfused);
    EXPECT_EQ(p.row("turned").kernels(), once);
    EXPECT_TRUE(p.row("turned").verdict.layout_copy);
    EXPECT_EQ(p.row("turned").verdict.what, "copy to another layout");
}

TEST(HloPromise, ASliceOfOneStretchIsACopy) {
    const auto slice = [](const std::string& from, const std::string& to, const std::string& bounds) {
        const std::string body =
            "%f {\n  %p = " + from + " parameter(0)\n  ROOT %s = " + to + " slice(%p), slice={" + bounds + "}\n}\n";
        return Promised(in_module("  %x = " + from + " parameter(0)\n  ROOT %w = " + to +
                                      " fusion(%x), kind=kLoop, calls=%f\n",
                                  body))
            .row("w")
            .verdict.kind;
    };
    EXPECT_EQ(slice("f32[8,4]{1,0}", "f32[2,4]{1,0}", "[3:5], [0:4]"), Class::transfer);
    EXPECT_EQ(slice("f32[8,4]{1,0}", "f32[1,2]{1,0}", "[3:4], [1:3]"), Class::transfer);
    EXPECT_EQ(slice("f32[8,4]{1,0}", "f32[2,2]{1,0}", "[3:5], [1:3]"), Class::fusion);
    EXPECT_EQ(slice("f32[8,4]{0,1}", "f32[2,4]{0,1}", "[3:5], [0:4]"), Class::fusion);
    EXPECT_EQ(slice("f32[8,4]{1,0}", "f32[4,4]{1,0}", "[0:8:2], [0:4]"), Class::fusion);
    EXPECT_EQ(slice("f32[8,4]{1,0}", "f32[2,4]{0,1}", "[3:5], [0:4]"), Class::fusion);
}

TEST(HloPromise, WhatIsSlicedAloneIsRead) {
    const std::string body =
        "%f {\n  %p = f32[100,8]{1,0} parameter(0)\n  %i = s32[] parameter(1)\n  %u = f32[100,8]{1,0} parameter(2)\n"
        "  %z = s32[] constant(0)\n  %d = f32[1,8]{1,0} dynamic-slice(%p, %i, %z), dynamic_slice_sizes={1,8}\n"
        "  %n = f32[1,8]{1,0} negate(%d)\n"
        "  ROOT %r = f32[100,8]{1,0} dynamic-update-slice(%u, %n, %i, %z)\n}\n";
    const Promised p(
        in_module("  %x = f32[100,8]{1,0} parameter(0)\n  %i = s32[] parameter(1)\n"
                  "  %y = f32[100,8]{1,0} parameter(2)\n"
                  "  ROOT %w = f32[100,8]{1,0} fusion(%x, %i, %y), kind=kLoop, calls=%f\n",
                  body));
    const Traffic& traffic = p.row("w").traffic;
    EXPECT_THAT(traffic.operands, ElementsAre(32, 4, 0));
    EXPECT_EQ(traffic.written, 32);
    EXPECT_EQ(p.promise.ideal_bytes, 68);
    const Promised gather(data_text("h200/gather.hlo"));
    EXPECT_EQ(gather.row("loop_gather_fusion").traffic.operands.front(), 300 * 64 * 4);
    const Promised permute(data_text("h200/shard_permute.hlo"));
    EXPECT_EQ(permute.row("input_concatenate_fusion").traffic.read(), (1 + 511) * 1024 * 4);
}

TEST(HloPromise, TargetsOfCustomCalls) {
    const auto verdict = [](const std::string& target) {
        return Promised(
                   in_module("  %x = f32[8] parameter(0)\n  ROOT %c = f32[8] custom-call(%x), custom_call_target=\"" +
                             target + "\"\n"))
            .row("c")
            .verdict;
    };
    EXPECT_EQ(verdict("mosaic_gpu_v2").kernels, once);
    EXPECT_EQ(verdict("__gpu$xla.gpu.triton").kernels, once);
    EXPECT_EQ(verdict("triton_kernel_call").kernels, once);
    EXPECT_EQ(verdict("__cublas$gemm").kind, Class::library);
    EXPECT_EQ(verdict("__cublas$lt$matmul").kernels, at_least_once);
    EXPECT_EQ(verdict("__cudnn$convForward").kernels, at_least_once);
    EXPECT_EQ(verdict("cusolver_potrf_ffi").kind, Class::library);
    EXPECT_EQ(verdict("__gpu$TopK").kind, Class::library);
    EXPECT_EQ(verdict("Sharding").kind, Class::nothing);
    EXPECT_EQ(verdict("SPMDFullToShardShape").kind, Class::nothing);
    EXPECT_EQ(verdict("my_kernels").kernels, unknown_times);
}

TEST(HloPromise, WhatIsNotFusedIsAKernelOfItsOwn) {
    const Promised p(in_module(
        "  %x = f32[8,4]{1,0} parameter(0)\n  %t = f32[4,8]{1,0} transpose(%x), dimensions={1,0}\n"
        "  %c = f32[8,8]{1,0} concatenate(%x, %x), dimensions={1}\n  %i = s32[9]{0} iota(), iota_dimension=0\n"
        "  %s = s32[9]{0} sort(%i), dimensions={0}, to_apply=%lt\n  %id = u32[] partition-id()\n"
        "  %f = c64[8]{0} fft(%i), fft_type=FFT\n  %n = f32[] newest-operation(%x)\n"
        "  ROOT %r = (f32[4,8]) tuple(%t)\n",
        "%lt {\n  %a = s32[] parameter(0)\n  %b = s32[] parameter(1)\n  ROOT %c = pred[] compare(%a, %b)\n}\n"));
    for (const char* name : {"t", "c", "i"}) {
        EXPECT_EQ(p.row(name).verdict.kind, Class::unfused) << name;
        EXPECT_EQ(p.row(name).kernels(), once) << name;
        EXPECT_TRUE(p.row(name).verdict.blocked) << name;
    }
    EXPECT_EQ(p.row("s").kernels(), at_least_once);
    EXPECT_EQ(p.row("id").verdict.what, "fill");
    EXPECT_EQ(p.row("f").verdict.kind, Class::library);
    EXPECT_EQ(p.row("n").kernels(), unknown_times);
    EXPECT_THAT(p.row("n").verdict.reason, HasSubstr("does not know"));
    EXPECT_EQ(p.promise.rows.size(), 9U);  // what a sort compares with is no call
}

TEST(HloPromise, WhatIsStartedLaunchesOnce) {
    const Promised p(in_module(
        "  %x = f32[8]{0} parameter(0)\n"
        "  %s = (f32[8]{0}, f32[16]{0}) all-gather-start(%x), replica_groups={{0,1}}, dimensions={0}\n"
        "  %d = f32[16]{0} all-gather-done(%s)\n"
        "  %a = ((f32[8]{0}), f32[8]{0}, u32[]) async-start(%x), calls=%wrapped\n"
        "  %b = ((f32[8]{0}), f32[8]{0}, u32[]) async-update(%a), calls=%wrapped\n"
        "  %c = f32[8]{0} async-done(%b), calls=%wrapped\n  ROOT %t = (f32[16]{0}, f32[8]{0}) tuple(%d, %c)\n",
        "%wrapped {\n  %p = f32[8]{0} parameter(0)\n  ROOT %k = f32[8]{0} custom-call(%p), "
        "custom_call_target=\"mosaic_gpu_v2\"\n}\n"));
    EXPECT_EQ(p.total(Class::collective).instructions, 1U);
    EXPECT_EQ(p.row("s").traffic.written, 64);
    EXPECT_EQ(p.row("d").verdict.kind, Class::nothing);
    EXPECT_EQ(p.total(Class::custom_call).kernels, once);
    EXPECT_EQ(p.row("k").path, "a");
}

TEST(HloPromise, ACommandBufferIsOneSubmission) {
    const Promised p(
        in_module("  %x = f32[8]{0} parameter(0)\n  ROOT %c = f32[8]{0} call(%x), to_apply=%command_buffer\n",
                  "%command_buffer {\n  %p = f32[8]{0} parameter(0)\n  %a = f32[8]{0} negate(%p)\n"
                  "  ROOT %b = f32[8]{0} sine(%a)\n}\n"));
    EXPECT_EQ(p.promise.kernels, (Count{2, 2}));
    EXPECT_THAT(p.row("c").verdict.what, HasSubstr("one submission"));
}

TEST(HloPromise, WhatAnExcerptDoesNotHoldIsUnknown) {
    const Promised p(
        "ENTRY %m {\n  %x = f32[8] parameter(0)\n  ROOT %w = f32[8] while(%x), condition=%c, body=%b\n}\n");
    EXPECT_EQ(p.promise.kernels, unknown_times);
    EXPECT_THAT(p.row("w").verdict.reason, HasSubstr("excerpt"));
}

TEST(HloPromise, CudnnFusionsAreALibrary) {
    const Promised p(
        in_module("  %x = f32[8] parameter(0)\n  ROOT %f = f32[8] fusion(%x), kind=kCustom, calls=%b, "
                  "backend_config={\"fusion_backend_config\":{\"kind\":\"__cudnn$fusion\"}}\n",
                  "%b {\n  %p = f32[8] parameter(0)\n  ROOT %n = f32[8] negate(%p)\n}\n"));
    EXPECT_EQ(p.row("f").verdict.kind, Class::library);
    EXPECT_EQ(p.row("f").kernels(), at_least_once);
}

TEST(HloPromise, CountsStayWithinTheirRange) {
    const Count huge = {std::uint64_t{1} << 63U, std::uint64_t{1} << 63U};
    EXPECT_EQ(huge + huge, (Count{~std::uint64_t{0}, std::nullopt}));
    EXPECT_EQ(huge * huge, (Count{~std::uint64_t{0}, std::nullopt}));
    EXPECT_EQ(unknown_times * Count{}, Count{});
    EXPECT_EQ(either({2, 3}, {1, std::nullopt}), at_least_once);
    EXPECT_EQ(text_of(Count{2, 5}), "2 to 5");
    EXPECT_EQ(text_of(at_least_once), "at least 1");
    EXPECT_EQ(text_of(unknown_times), "unknown");
}

}  // namespace
}  // namespace qkprof::hlo
