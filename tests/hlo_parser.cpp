// HLO text: the styles in which XLA and documents write it, and text that is anything.
#include "hlo/parser.h"

#include "error.h"
#include "hlo_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

namespace qkprof::hlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(const std::string& text) {
    try {
        parse_module(text, "f.hlo");
    } catch (const InputError& error) {
        return error.what();
    }
    return "not refused";
}

const Instruction& only(const Module& module, const std::string& name) {
    for (const Instruction& instruction : module.entry_computation().instructions) {
        if (instruction.name == name) {
            return instruction;
        }
    }
    throw std::runtime_error("there is no " + name);
}

TEST(HloParser, ReadsTheStyleOfOldDocuments) {
    const Module module = parse_module(data_text("documents/int8_matmul.before.hlo"), "f.hlo");
    EXPECT_EQ(module.name, "xla_computation_f");
    EXPECT_FALSE(module.is_excerpt);
    const Computation& entry = module.entry_computation();
    EXPECT_EQ(entry.name, "main.10");
    ASSERT_EQ(entry.instructions.size(), 8U);
    EXPECT_EQ(entry.instructions[entry.root].name, "negate.8");
    const Instruction& dot = only(module, "dot.6");
    EXPECT_EQ(dot.opcode, "dot");
    EXPECT_THAT(dot.operands, ElementsAre(1U, 2U));
    EXPECT_EQ(dot.attribute("lhs_contracting_dims"), "{1}");
    EXPECT_EQ(text_of(dot.shape), "bf16[1024,2048]");
    EXPECT_THAT(dot.shape.minor_to_major, ElementsAre(1, 0));
    EXPECT_EQ(only(module, "constant.3").literal, "0.125");
}

TEST(HloParser, ReadsOperandsThatCarryTheirShapes) {
    const Module module = parse_module(data_text("documents/int8_matmul.hlo"), "f.hlo");
    const Instruction& fusion = only(module, "triton_gemm_dot.6");
    EXPECT_THAT(fusion.operands, ElementsAre(1U, 0U));
    ASSERT_EQ(fusion.called.size(), 1U);
    EXPECT_EQ(module.computations[fusion.called.front().computation].name, "triton_gemm_dot.6_computation");
}

TEST(HloParser, ReadsAnExcerptInTheStyleOfADiff) {
    const Module module = parse_module(data_text("documents/qk_norm_rope_fusion.hlo"), "f.hlo");
    EXPECT_TRUE(module.is_excerpt);
    const Instruction& fusion = only(module, "fusion.8");
    EXPECT_EQ(fusion.attribute("kind"), "kCustom");
    EXPECT_THAT(std::string(fusion.attribute("backend_config")), HasSubstr("\"num_warps\":\"8\""));
    EXPECT_EQ(fusion.called.front().computation, nowhere);
}

TEST(HloParser, ReadsEveryTextOfJax) {
    std::size_t files = 0;
    for (const char* folder : {"h200", "h200/dump", "cpu", "documents"}) {
        for (const auto& entry : std::filesystem::directory_iterator(data_path(folder))) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".hlo") || name.ends_with("_optimizations.txt")) {
                SCOPED_TRACE(name);
                EXPECT_NO_THROW(read_module(entry.path()));
                ++files;
            }
        }
    }
    EXPECT_GE(files, 60U);
}

// A dump names elements of tuples, where compile().as_text() has instructions.
TEST(HloParser, ElementsOfTuplesMayBeNamed) {
    const Module module = parse_module(
        in_module("  %t = (s32[], (f32[8], pred[2])) parameter(0)\n  ROOT %b = f32[8] negate(%t#1#0), x=%t#0\n"),
        "f.hlo");
    const Computation& entry = module.entry_computation();
    ASSERT_EQ(entry.instructions.size(), 4U);
    EXPECT_EQ(text_of(entry.instructions[entry.instructions[entry.root].operands.front()].shape), "f32[8]");
    EXPECT_EQ(entry.instructions[2].operands.front(), 1U);
    EXPECT_THAT(refusal(in_module("  %t = (s32[]) parameter(0)\n  ROOT %b = s32[] negate(%t#1)\n")),
                HasSubstr("t has no element 1"));
}

TEST(HloParser, ReadsShapes) {
    const auto shape = [](const std::string& text) {
        return parse_module(in_module("  ROOT %p = " + text + " parameter(0)\n"), "f")
            .entry_computation()
            .instructions[0]
            .shape;
    };
    const Shape tiled = shape("bf16[8,128]{1,0:T(8,128)(2,1)S(5)}");
    EXPECT_TRUE(tiled.on_host);
    EXPECT_EQ(bytes_of(tiled), 8 * 128 * 2);
    EXPECT_EQ(bytes_of(shape("s4[3]{0:E(4)}")), 2);
    EXPECT_EQ(bytes_of(shape("s4[3]{0}")), 3);
    EXPECT_EQ(bytes_of(shape("u4[5,3]{1,0:E(4)}")), 8);
    EXPECT_EQ(bytes_of(shape("pred[7]")), 7);
    EXPECT_EQ(bytes_of(shape("f8e4m3fn[7]{0}")), 7);
    EXPECT_EQ(bytes_of(shape("c64[2,3]{1,0}")), 48);
    EXPECT_EQ(bytes_of(shape("c128[]")), 16);
    EXPECT_EQ(bytes_of(shape("token[]")), 0);
    EXPECT_EQ(bytes_of(shape("opaque[]")), std::nullopt);
    EXPECT_EQ(bytes_of(shape("f32[0,9]{1,0}")), 0);
    EXPECT_EQ(bytes_of(shape("((f32[2], s8[3]{0}), /*index=1*/u16[], ())")), 13);
    EXPECT_EQ(bytes_of(shape("f32[4294967296,4294967296]{1,0}")), std::nullopt);
    EXPECT_TRUE(shape("f32[<=128,4]{1,0}").dynamic);
    EXPECT_EQ(bytes_of(shape("f32[<=128,4]{1,0}")), 2048);
    EXPECT_TRUE(same_layout(shape("f32[4,1]{1,0}"), shape("f32[4,1]{0,1}")));
    EXPECT_FALSE(same_layout(shape("f32[4,2]{1,0}"), shape("f32[4,2]{0,1}")));
    EXPECT_TRUE(same_layout(shape("f32[4,2]"), shape("f32[4,2]{1,0}")));
}

TEST(HloParser, ReadsWhatElseXlaWrites) {
    const Module module = parse_module(
        "HloModule m, num_partitions=4, replica_count=2\nFileNames\n1 \"a.py\"\n\nStackFrames\n\n"
        "%wrapped (p: f32[8]) -> f32[16] {\n  %p = f32[8]{0} parameter(0)\n"
        "  ROOT %g = f32[16]{0} all-gather(%p), replica_groups=mesh['x'=2,'y'=1] {'x'}, dimensions={0}\n}, "
        "execution_thread=\"parallel\"\n\n"
        "ENTRY %main (q: f32[8]) -> f32[16] {\n  q = f32[8]{0} parameter(0)\n"
        "  c = (s32[2,2]{1,0}, f32[]) constant(({ {1, 2}, {3, -4} }, nan))\n"
        "  s = ((f32[8]{0}), f32[16]{0}, u32[]) async-start(q), async_execution_thread=\"parallel\", calls=%wrapped\n"
        "  ROOT d = f32[16]{0} async-done(((f32[8]{0}), f32[16]{0}, /*index=2*/u32[]) s), "
        "metadata={op_name=\"jit(f)/all, (gather)\"},\n"
        "    backend_config=\"{\\\"a\\\":\\\"}\\\"}\",\n}\n",
        "f.hlo");
    EXPECT_EQ(module.partitions(), 4);
    EXPECT_EQ(module.replicas(), 2);
    EXPECT_EQ(module.computations[0].instructions[1].attribute("replica_groups"), "mesh['x'=2,'y'=1] {'x'}");
    EXPECT_EQ(only(module, "d").op_name, "jit(f)/all, (gather)");
    EXPECT_EQ(only(module, "d").attribute("backend_config"), R"("{\"a\":\"}\"}")");
}

TEST(HloParser, SaysWhatIsWrongAndWhere) {
    EXPECT_THAT(refusal(""), StartsWith("f.hlo, line 1: no computation is marked ENTRY"));
    EXPECT_THAT(refusal("Dear reader,"),
                StartsWith("f.hlo, line 1: in the head of a computation, '{' is expected where"));
    EXPECT_THAT(refusal("HloModule"), HasSubstr("the module has no name: the end of the text stands there"));
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] negate(%b)\n")),
                StartsWith("f.hlo, line 4: a takes b, which no earlier instruction of its computation defines"));
    EXPECT_THAT(refusal(in_module("  %a = f32[] parameter(0)\n  %a = f32[] parameter(1)\n")),
                StartsWith("f.hlo, line 5: the computation main defines a a second time"));
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] call(), to_apply=%f\n")),
                StartsWith("f.hlo, line 4: a calls f, which the text does not define"));
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] call(), to_apply=%main\n")),
                StartsWith("f.hlo, line 4: the computation main calls itself"));
    const std::string f = "%f {\n  ROOT %a = f32[] parameter(0)\n}\n";
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] parameter(0)\n", f + f)),
                HasSubstr("the computation f is defined a second time"));
    EXPECT_THAT(refusal("HloModule m\n" + f), HasSubstr("no computation is marked ENTRY"));
    EXPECT_THAT(refusal("ENTRY " + f + "ENTRY %g {\n  %a = f32[] parameter(0)\n}"), HasSubstr("is a second ENTRY"));
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] parameter(0)\n  ROOT %b = f32[] parameter(1)\n")),
                HasSubstr("a second ROOT"));
    EXPECT_THAT(refusal(in_module("")), HasSubstr("the computation main has no instruction"));
    EXPECT_THAT(refusal(in_module("  %a = f32[3 parameter(0)\n")), HasSubstr("a whole number is expected"));
    EXPECT_THAT(refusal(in_module("  %a = f32[3]{1} parameter(0)\n")),
                HasSubstr("a layout names dimension 1 of a shape of 1"));
    EXPECT_THAT(refusal(in_module("  %a = f32[2,3]{1} parameter(0)\n")),
                HasSubstr("a layout orders 1 dimensions of a shape of 2"));
    EXPECT_THAT(refusal(in_module("  %a = f32[-1] parameter(0)\n")), HasSubstr("an extent of a shape is negative"));
    EXPECT_THAT(refusal(in_module("  %a = f32[99999999999999999999] parameter(0)\n")),
                HasSubstr("a whole number is expected"));
    EXPECT_THAT(refusal(in_module("  %a = f32[] constant(1), x=\"abc\n")), HasSubstr("a text is not closed"));
    EXPECT_THAT(refusal(in_module("  %a = f32[] constant(1), x={(1}\n")), HasSubstr("'}' closes what is not open"));
    EXPECT_THAT(refusal("ENTRY %m {\n  %a = f32[] constant(1)"), HasSubstr("the computation m is not closed"));
    EXPECT_THAT(refusal("/* forgotten"), HasSubstr("a comment is not closed"));
    EXPECT_THAT(refusal("\x1b[2J"), HasSubstr("a computation is expected where '\\x1b[2J' stands"));
}

TEST(HloParser, WhatIsNestedDeeplyIsRefused) {
    const std::string deep(100'000, '(');
    EXPECT_THAT(refusal(in_module("  %a = " + deep)), HasSubstr("tuples are nested deeper than 32 levels"));
    EXPECT_THAT(refusal(in_module("  %a = f32[] constant(" + deep)),
                HasSubstr("brackets are nested deeper than 64 levels"));
    std::string chain = "%f0 {\n  ROOT %a = f32[] parameter(0)\n}\n";
    for (int i = 1; i < 100; ++i) {
        chain += fmt::format("%f{} {{\n  ROOT %a = f32[] call(), to_apply=%f{}\n}}\n", i, i - 1);
    }
    EXPECT_THAT(refusal(in_module("  ROOT %a = f32[] call(), to_apply=%f99\n", chain)),
                StartsWith("f.hlo, line 199: computations call each other deeper than 64 levels"));
}

// Each computation runs the one before twice.
TEST(HloParser, WhatIsRunTooOftenIsNotFollowed) {
    std::string chain = "%f0 {\n  ROOT %a = f32[] parameter(0)\n}\n";
    for (int i = 1; i < 60; ++i) {
        chain += fmt::format(
            "%f{0} {{\n  %a = f32[] call(), to_apply=%f{1}\n  ROOT %b = f32[] call(), to_apply=%f{1}\n}}\n", i, i - 1);
    }
    const Module module = parse_module(in_module("  ROOT %a = f32[] call(), to_apply=%f59\n", chain), "f.hlo");
    EXPECT_THROW(promise_of(module), InputError);
}

// A result or a refusal, and no other end.
void read_anything(const std::string& text) {
    try {
        const Module module = parse_module(text, "f.hlo");
        promise_of(module);
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("f.hlo, line "));
    }
}

TEST(HloParser, ATextThatIsCutShortIsRefusedOrRead) {
    for (const char* name : {"h200/loop.hlo", "h200/shard_permute.hlo"}) {
        const std::string text = data_text(name);
        for (std::size_t length = 0; length < text.size() - 2; length += 97) {
            SCOPED_TRACE(length);
            EXPECT_NE(refusal(text.substr(0, length)), "not refused");
        }
    }
}

TEST(HloParser, ATextWithFlippedCharactersIsRefusedOrRead) {
    for (const char* name : {"h200/scan.hlo", "documents/int8_matmul.hlo"}) {
        const std::string text = data_text(name);
        for (std::size_t at = 0; at < text.size(); at += 41) {
            for (const char bit : {'\x01', '\x04', '\x10', '\x40'}) {
                std::string damaged = text;
                damaged[at] = static_cast<char>(damaged[at] ^ bit);
                SCOPED_TRACE(at);
                read_anything(damaged);
            }
        }
    }
}

}  // namespace
}  // namespace qkprof::hlo
