// HLO before optimisation beside what it became, buffer assignments, and the folders that hold them.
#include "hlo/before.h"

#include "error.h"
#include "hlo/buffers.h"
#include "hlo/dump.h"
#include "hlo_data.h"

#include <gmock/gmock.h>

namespace qkprof::hlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

BeforeAndAfter compared(const std::string& before, const std::string& after) {
    return compare(Promised(before).promise, Promised(after).promise);
}

TEST(HloBefore, TheMatrixProductWithItsScaleAndNegation) {
    const BeforeAndAfter c =
        compared(data_text("documents/int8_matmul.before.hlo"), data_text("documents/int8_matmul.hlo"));
    EXPECT_THAT(c.before, ElementsAre(Pair("broadcast", 1U), Pair("convert", 1U), Pair("dot", 1U), Pair("multiply", 1U),
                                      Pair("negate", 1U)));
    EXPECT_EQ(c.fusions, 1U);
    EXPECT_EQ(c.fused.at("dot"), 1U);
    EXPECT_EQ(c.fused.at("convert"), 4U);
    EXPECT_EQ(total(c.outside), 0U);
    EXPECT_FALSE(c.fused_little);
    EXPECT_THAT(sentences_of(c), ElementsAre(HasSubstr("5 operations: "), HasSubstr("8 operations in 1 fusion: "),
                                             "None is left outside of fusions."));
}

TEST(HloBefore, TheOperationOnAnH200) {
    const BeforeAndAfter c = compared(data_text("h200/qk_seed.before.hlo"), data_text("h200/qk_seed.hlo"));
    EXPECT_EQ(c.fusions, 1U);
    EXPECT_EQ(total(c.outside), 0U);
    EXPECT_EQ(total(c.before), 40U);
}

TEST(HloBefore, WhatXlaLeftAsItWasIsSaid) {
    const std::string before = "  %x = f32[8] parameter(0)\n  %a = f32[8] negate(%x)\n  ROOT %b = f32[8] sine(%a)\n";
    const BeforeAndAfter c = compared(in_module(before), in_module(before));
    EXPECT_TRUE(c.fused_little);
    EXPECT_THAT(sentences_of(c).back(), HasSubstr("It looks the same: XLA fused little."));
}

TEST(HloBuffers, OfALoop) {
    const Dump dump = find_dump(data_path("h200/dump"), "jit_scan");
    const Buffers buffers = read_buffers(dump.buffers);
    using Kind = Allocation::Kind;
    EXPECT_EQ(buffers.total(), 528917);
    EXPECT_EQ(buffers.total(Kind::parameter), 262144);
    EXPECT_EQ(buffers.total(Kind::output), 262144 + 4096 + 16);
    EXPECT_EQ(buffers.total(Kind::temporary), 513);
    EXPECT_EQ(buffers.total(Kind::constant), 4);
    EXPECT_EQ(buffers.temporaries().front().bytes, 32);
    EXPECT_EQ(buffers.temporaries().front().instruction, "tuple.4");
    EXPECT_EQ(buffers.temporaries().front().index, "{}");
}

TEST(HloBuffers, OfAttention) {
    const Buffers buffers = read_buffers(find_dump(data_path("h200/dump"), "jit_attn").buffers);
    EXPECT_EQ(buffers.temporaries().front().instruction, "gemm_fusion_dot.5");
    EXPECT_EQ(buffers.temporaries().front().bytes, std::int64_t{16} * 512 * 512 * 4);
}

TEST(HloBuffers, TextThatIsNoneIsRefused) {
    const auto refusal = [](const std::string& text) {
        try {
            parse_buffers(text, "b.txt");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal(""), HasSubstr("b.txt, line 1: it does not begin with BufferAssignment:"));
    EXPECT_THAT(refusal("BufferAssignment:\n"), HasSubstr("holds no allocation"));
    EXPECT_THAT(refusal("BufferAssignment:\nallocation x: size 4\n"),
                HasSubstr("line 2: no number follows 'allocation '"));
    EXPECT_THAT(refusal("BufferAssignment:\nallocation 0: size 4:\n value: <1 a> (size=4)"),
                HasSubstr("line 3: a value has no name"));
    const std::string whole =
        data_text("h200/dump/module_34410.jit_scan.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt");
    for (std::size_t length = 0; length < whole.size(); length += 31) {
        refusal(whole.substr(0, length));
    }
}

TEST(HloDump, OneModuleIsChosen) {
    const std::string folder = data_path("h200/dump");
    const Dump dump = find_dump(folder, "*attn");
    EXPECT_EQ(dump.module, "module_99231.jit_attn");
    EXPECT_EQ(find_dump(folder, "module_99231.*").after, dump.after);
    EXPECT_FALSE(dump.before.empty());
    const CommandBuffers commands = command_buffers(dump.thunks);
    EXPECT_EQ(commands.buffers, 1U);
    EXPECT_EQ(commands.commands, 7U);
    const auto refusal = [&](const std::string& in, const std::string& glob) {
        try {
            find_dump(in, glob);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal(folder, ""), HasSubstr("holds 2 modules: choose one with --module GLOB. There are "
                                               "module_34410.jit_scan and module_99231.jit_attn."));
    EXPECT_THAT(refusal(folder, "jit_none"), HasSubstr("holds no module that matches 'jit_none'"));
    EXPECT_THAT(refusal(data_path("documents"), ""), HasSubstr("holds no module_*after_optimizations.txt"));
}

}  // namespace
}  // namespace qkprof::hlo
