#include "thresholds.h"
#include "error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkprof {
namespace {

using testing::HasSubstr;

const std::vector<std::string> known_variants = {"fused_one", "fused_tile_bulk", "naive"};

std::vector<Threshold> parsed(const std::string& text) { return parse_thresholds(text, "t.toml", known_variants); }

Measurement measurement(const char* variant, DataType dtype, CacheState state) {
    Measurement m;
    m.variant = variant;
    m.problem.dtype = dtype;
    m.state = state;
    return m;
}

TEST(Thresholds, LaterEntriesOverrideInWhatTheySay) {
    const Thresholds thresholds(parsed(R"(
[[threshold]]
metrics = "real_time"
relative = 0.02
noise_without_aa = 0.1
[[threshold]]
metrics = "real_time"
variants = "fused_*"
dtypes = ["bf16", "f16"]
states = "warm"
sources = "counted"
relative = 0.05
[[threshold]]
metrics = "launches"
compared = false
[[threshold]]
metrics = "dram_read_bytes"
relative = 0.1
relative_to = "compulsory_bytes"
absolute = 10
[[threshold]]
metrics = "dram_read_bytes"
sources = "modelled"
relative = 0.2
)"));
    const Measurement bf16 = measurement("fused_one", DataType::bf16, CacheState::warm);
    const Allowance of_bf16 = thresholds.of("real_time", bf16, Source::counted);
    EXPECT_EQ(of_bf16.relative, 0.05);
    EXPECT_EQ(of_bf16.noise_without_aa, 0.1);
    EXPECT_EQ(of_bf16.place, "t.toml, line 6");
    for (const Measurement& other : {measurement("fused_one", DataType::f32, CacheState::warm),
                                     measurement("fused_one", DataType::bf16, CacheState::cold),
                                     measurement("naive", DataType::bf16, CacheState::warm)}) {
        EXPECT_EQ(thresholds.of("real_time", other, Source::counted).relative, 0.02);
        EXPECT_EQ(thresholds.of("real_time", other, Source::counted).place, "t.toml, line 2");
    }
    EXPECT_EQ(thresholds.of("real_time", bf16, Source::emulated).relative, 0.02);
    EXPECT_FALSE(thresholds.of("launches", bf16, Source::counted).compared);
    EXPECT_FALSE(thresholds.of("registers", bf16, Source::counted).compared);
    EXPECT_EQ(thresholds.of("dram_read_bytes", bf16, Source::counted).relative_to, "compulsory_bytes");
    const Allowance modelled = thresholds.of("dram_read_bytes", bf16, Source::modelled);
    EXPECT_EQ(modelled.relative_to, "");  // another relative is of the metric itself
    EXPECT_EQ(modelled.absolute, 10);
}

TEST(Thresholds, TheStandardSaysSomethingOfEachMetric) {
    const Thresholds thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml", known_variants));
    for (const std::string& metric : comparable_metrics()) {
        for (const Source source : {Source::counted, Source::emulated, Source::modelled}) {
            const Allowance allowance =
                thresholds.of(metric, measurement("naive", DataType::f32, CacheState::cold), source);
            EXPECT_NE(allowance.place, "") << metric;
        }
    }
    EXPECT_TRUE(
        thresholds.of("launches", measurement("naive", DataType::f32, CacheState::cold), Source::counted).exact());
}

TEST(Thresholds, WhatIsWrongIsSaidWithItsLine) {
    const auto says = [](const std::string& text, const std::string& sentence) {
        try {
            parsed(text);
            ADD_FAILURE() << text;
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), HasSubstr(sentence));
        }
    };
    const std::string head = "[[threshold]]\nmetrics = \"launches\"\n";
    says("", "t.toml has no [[threshold]].");
    says("threshold = 1", "t.toml has no [[threshold]].");
    says("threshold = [1]", "t.toml, line 1: a threshold must be a table.");
    says("[thresholds]", "t.toml, line 1: the file has no key 'thresholds'. Did you mean 'threshold'?");
    says("[[threshold]\n", "t.toml, line 1");
    says("[[threshold]]\nrelative = 0", "t.toml, line 1: a threshold lacks its 'metrics'.");
    says(head, "t.toml, line 1: a threshold says nothing");
    says("[[threshold]]\nmetrics = [\"launches\",\n \"lanuches\"]\nrelative = 0",
         "t.toml, line 3: there is no metric 'lanuches' that is compared. Did you mean 'launches'?");
    says("[[threshold]]\nmetrics = \"l2_floor_ratio\"\nrelative = 0",
         "there is no metric 'l2_floor_ratio' that is compared, as it follows from others.");
    says(head + "variants = \"fusd_*\"\nrelative = 0", "t.toml, line 3: no variant matches 'fusd_*'.");
    says(head + "dtypes = \"f8\"\nrelative = 0", "t.toml, line 3: there is no type 'f8'.");
    says(head + "states = \"hot\"\nrelative = 0", "t.toml, line 3: there is no cache state 'hot'.");
    says(head + "sources = \"guessed\"\nrelative = 0", "t.toml, line 3: there is no source 'guessed'.");
    says(head + "relatve = 0", "t.toml, line 3: a threshold has no key 'relatve'. Did you mean 'relative'?");
    for (const char* number : {"-0.1", "\"1 %\"", "nan", "inf", "true"}) {
        says(head + "relative = " + number,
             "t.toml, line 3: the 'relative' of a threshold must be a number from 0 on.");
    }
    says(head + "relative = 0\nrelative_to = \"copmulsory_bytes\"",
         "t.toml, line 4: there is no metric 'copmulsory_bytes' to be relative to. Did you mean 'compulsory_bytes'?");
    says(head + "relative = 50", "t.toml, line 3: the 'relative' of a threshold is 50, and 1 is 100 %");
    says("[[threshold]]\nmetrics = \"real_time\"\nabsolute = 1", "t.toml, line 3: a time has no 'absolute'");
    says(head + "noise_without_aa = 0.1", "t.toml, line 3: 'noise_without_aa' is of times alone");
    says(head + "compared = \"no\"", "t.toml, line 3: the 'compared' of a threshold must be true or false.");
}

}  // namespace
}  // namespace qkprof
