// Tuning tables as files: read back as they are written, and what is said of damaged ones.
#include "tuning_table.h"

#include "error.h"
#include "tuned_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace qkprof {
namespace {

using testing::HasSubstr;

const std::vector<Variant>& known() {
    static const std::vector<Variant> all = {tuned_variant(), fake_variant("plain")};
    return all;
}

TuningTable parsed(const std::string& toml) { return parse_tuning(toml, "t.toml", known()); }

// The only entry of the variant, with the given keys of an entry.
TuningEntry entry_of(const std::string& keys) {
    return parsed("device = \"GPU A\"\n[best]\nentries = [{" + keys + "}]\n").entries.at("best").at(0);
}

std::string refusal_of(const std::string& toml) {
    try {
        parsed(toml);
    } catch (const InputError& error) {
        return error.what();
    }
    return "read";
}

std::string refused_entry(const std::string& keys) {
    return refusal_of("device = \"GPU A\"\n[best]\nentries = [{" + keys + "}]\n");
}

constexpr const char* good = R"(shape = "1x64x16x128", dtype = "f32", parameters = {heads = 1, lanes = 4})";

// A problem in every way another.
Problem far_from_plain() {
    Problem p = {.batch = 2, .sequence = 8, .heads = 4, .key_heads = 2, .head_dim = 96, .dtype = DataType::bf16};
    p.offset = 2;
    p.layout = Layout::packed;
    p.row_padding = 16;
    p.in_place = true;
    p.pairing = Pairing::interleaved;
    p.rotary_dim = 32;
    p.positions = {.type = PositionType::int64, .order = PositionOrder::scattered};
    p.context = 4096;
    p.table_dtype = DataType::bf16;
    p.gamma_dtype = DataType::bf16;
    p.gemma = true;
    return p;
}

TEST(TuningTable, IsReadAsItIsWritten) {
    TuningTable table = {.device = "GPU \"A\" \\", .entries = {}};
    table.entries["best"] = {tuning_entry(far_from_plain(), 1, 2), tuning_entry({.sequence = 64, .heads = 16}, 2, 1)};
    table.entries["best"][1].seconds = table.entries["best"][1].copy_seconds = std::nullopt;
    const std::string text = to_toml(table);
    const TuningTable read = parsed(text);
    EXPECT_EQ(read.device, table.device);
    ASSERT_EQ(read.entries.at("best").size(), 2U);
    const TuningEntry& plain = read.entries.at("best")[0];  // sorted: f32 stands before bf16
    EXPECT_EQ(plain.problem, table.entries["best"][1].problem);
    EXPECT_FALSE(plain.seconds.has_value());
    EXPECT_FALSE(plain.copy_seconds.has_value());
    const TuningEntry& far = read.entries.at("best")[1];
    EXPECT_EQ(far.problem, far_from_plain());
    EXPECT_EQ(far.parameters, (Parameters{{"heads", 2}, {"lanes", 1}}));
    EXPECT_DOUBLE_EQ(far.seconds.value(), 2e-6);
    EXPECT_DOUBLE_EQ(far.copy_seconds.value(), 1.5e-6);
    EXPECT_EQ(to_toml(read), text);
    EXPECT_THAT(text, HasSubstr(R"(    {shape = "1x64x16x128", dtype = "f32", parameters = {heads = 1, lanes = 2}},)"
                                "\n"));
}

TEST(TuningTable, WhatIsGivenIsReadAsItIsWritten) {
    TuningTable table = {.device = "A", .entries = {{"best", {tuning_entry({.sequence = 64}, 1, 2)}}}};
    table.entries["best"].push_back(table.entries["best"][0]);
    table.entries["best"][1].given = {"lanes"};
    const TuningTable read = parsed(to_toml(table));
    EXPECT_THAT(read.entries.at("best").at(0).given, testing::IsEmpty());
    EXPECT_THAT(read.entries.at("best").at(1).given, testing::ElementsAre("lanes"));
    EXPECT_THAT(to_toml(table), HasSubstr(R"(, given = ["lanes"])"));
    for (const char* bad : {"given = []", "given = 1", "given = [\"threads\"]", "given = [\"lanes\", \"lanes\"]"}) {
        EXPECT_THAT(refusal_of(std::string("device = \"A\"\n[best]\nentries = [{") + good + ", " + bad + "}]"),
                    HasSubstr("'given' is a list of tuned parameters of best, each once"));
    }
}

TEST(TuningTable, SeedEpsBaseAndValuesAreNotWritten) {
    Problem problem = {.sequence = 64};
    problem.seed = 9;
    problem.eps = 0.5F;
    problem.rotary_base = 5;
    problem.values = Values::zeros;
    const TuningTable table = {.device = "A", .entries = {{"best", {tuning_entry(problem, 1, 1)}}}};
    EXPECT_EQ(parsed(to_toml(table)).entries.at("best").at(0).problem, (Problem{.sequence = 64}));
}

TEST(TuningTable, AContextAsLongAsTheSequenceIsNoOtherProblem) {
    EXPECT_EQ(entry_of(std::string("context = 64, ") + good).problem.context, 0);
}

TEST(TuningTable, DamageIsSaidWithItsPlace) {
    EXPECT_THAT(refusal_of(""), HasSubstr("t.toml is no tuning table: it lacks its 'device'"));
    EXPECT_THAT(refusal_of("device = 3"), HasSubstr("lacks its 'device'"));
    EXPECT_THAT(refusal_of("device = \"A\\u001b\""), HasSubstr("line 1: the 'device' has a control character"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[[="), HasSubstr("t.toml, line 2"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[bets]"),
                HasSubstr("t.toml, line 2: there is no tuned variant 'bets'. Did you mean 'best'?"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[plain]"), HasSubstr("there is no tuned variant 'plain'"));
    EXPECT_THAT(refusal_of("device = \"A\"\nbest = 1"), HasSubstr("'best' is not a table [best]"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[best]"), HasSubstr("[best] has 'entries', a list"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[best]\nentrys = []"), HasSubstr("line 3: [best] has no key 'entrys'"));
    EXPECT_THAT(refusal_of("device = \"A\"\n[best]\nentries = [1]"), HasSubstr("line 3: an entry is a table"));
    const std::string entry = std::string("{") + good + "}";
    EXPECT_THAT(refusal_of("device = \"A\"\n[best]\nentries = [" + entry + ",\n" + entry + "]"),
                HasSubstr("line 4: 1x64x16x128 f32 stands there twice."));
    EXPECT_THAT(refusal_of("device = \"A\"\n[best]\nentries = [" + entry + "]"), "read");
}

TEST(TuningTable, ADamagedEntryIsSaidWithItsPlace) {
    const std::string place = "t.toml, line 3: ";
    EXPECT_THAT(refused_entry(""), HasSubstr(place + "a shape is text"));
    EXPECT_THAT(refused_entry(R"(shape = "1x64x16x128", dtype = "f8", parameters = {})"),
                HasSubstr(place + "the 'dtype' of an entry is f32, bf16 or f16."));
    EXPECT_THAT(refused_entry(R"(shape = "1x64x16x128", parameters = {})"), HasSubstr("the 'dtype' of an entry"));
    EXPECT_THAT(refused_entry(R"(shape = "1x64x16x127", dtype = "f32", parameters = {})"), HasSubstr(place));
    EXPECT_THAT(refused_entry(std::string("in-plce = true, ") + good), HasSubstr("Did you mean 'in-place'?"));
    EXPECT_THAT(refused_entry(std::string("paramters = 1, ") + good), HasSubstr("Did you mean 'parameters'?"));
    EXPECT_THAT(refused_entry(std::string("positions = \"int32:@x\", ") + good), HasSubstr("names no file"));
    EXPECT_THAT(refused_entry(R"(shape = "1x64x16x128", dtype = "f32")"), HasSubstr("an entry has 'parameters'"));
    const auto parameters = [](const std::string& table) {
        return refused_entry(R"(shape = "1x64x16x128", dtype = "f32", parameters = )" + table);
    };
    EXPECT_THAT(parameters("3"), HasSubstr("an entry has 'parameters'"));
    EXPECT_THAT(parameters("{heads = 1}"), HasSubstr(place + "the entry lacks 'lanes' of best, which is tuned."));
    EXPECT_THAT(parameters("{heads = 1, lanes = 3}"), HasSubstr(place + "the 'lanes' of best is one of 1, 2, 4."));
    EXPECT_THAT(parameters("{heads = 1, lanes = -1}"), HasSubstr("one of 1, 2, 4"));
    EXPECT_THAT(parameters("{heads = 1, lanes = 1.0}"), HasSubstr("one of 1, 2, 4"));
    EXPECT_THAT(parameters("{heads = 1, lanes = 4294967297}"), HasSubstr("one of 1, 2, 4"));
    EXPECT_THAT(parameters("{heads = 1, lanes = 1, threads = 64}"), HasSubstr("best has no tuned parameter 'threads'"));
    for (const char* time : {"0", "-1", "nan", "inf", "\"1\"", "1e300"}) {
        EXPECT_THAT(refused_entry(std::string("time_us = ") + time + ", " + good),
                    HasSubstr(place + "'time_us' is a time in microseconds, above 0."))
            << time;
    }
}

TEST(TuningTable, MergesByProblem) {
    TuningTable table = {
        .device = "A",
        .entries = {{"best", {tuning_entry({.sequence = 1}, 1, 1), tuning_entry({.sequence = 2}, 1, 1)}},
                    {"other", {tuning_entry({.sequence = 1}, 1, 1)}}}};
    const TuningTable newer = {
        .device = "A",
        .entries = {{"best", {tuning_entry({.sequence = 2, .seed = 4}, 4, 1), tuning_entry({.sequence = 3}, 4, 1)}}}};
    const Merged merged = merge(table, newer);
    EXPECT_EQ(merged.added, 1U);
    EXPECT_EQ(merged.replaced, 1U);
    EXPECT_EQ(merged.kept, 2U);
    ASSERT_EQ(table.entries["best"].size(), 3U);
    EXPECT_EQ(table.entries["best"][0].parameters.at("lanes"), 1);
    EXPECT_EQ(table.entries["best"][1].parameters.at("lanes"), 4);
    EXPECT_EQ(table.entries["other"].size(), 1U);
}

// Those of the program name variants, parameters and values that there are, and say something of every tuned variant.
TEST(TuningTable, TheBuiltInOnesAreGood) {
    const std::vector<TuningTable>& tables = embedded_tuning(Backend::emulated);
    ASSERT_FALSE(tables.empty());
    for (const Variant& variant : variants(Backend::emulated)) {
        const auto has = [&](const TuningTable& table) { return table.entries.contains(variant.name); };
        EXPECT_TRUE(!variant.tuned() || std::any_of(tables.begin(), tables.end(), has)) << variant.name;
    }
}

TEST(TuningTable, HoldsNoPositionsOfAFile) {
    Problem problem;
    EXPECT_EQ(untabled(problem), "");
    problem.positions = listed_positions(PositionType::int32, {0});
    EXPECT_NE(untabled(problem), "");
}

}  // namespace
}  // namespace qkprof
