// Tables against golden files (tests/golden/). QKPROF_UPDATE_GOLDEN=1 build/tests/results writes them anew.
#include "results.h"

#include "fake_device.h"
#include "golden.h"

#include <gtest/gtest.h>

namespace qkprof {
namespace {

Measurement made_up(const std::string& variant, Family family, CacheState state, double seconds) {
    Measurement m;
    m.variant = variant;
    m.family = family;
    m.problem = {.batch = 2, .sequence = 1024, .heads = 16, .head_dim = 128};
    m.state = state;
    m.verification = correct_result();
    m.declaration = Declaration{.launches = 1, .load_bytes = 16777216, .store_bytes = 16777216, .shared_bytes = 0};
    m.counters = as_declared(*m.declaration);
    m.counters["dram_write_bytes"] = counted(1e6);
    m.counters["l2_read_sectors"] = {.value = 524288, .source = Source::modelled, .reason = {}};
    m.counters["l2_write_sectors"] = {.value = 524288, .source = Source::modelled, .reason = {}};
    if (seconds > 0) {
        m.seconds = {seconds, seconds * 1.02, seconds * 0.99, seconds * 1.01};
        m.host_seconds = {1, 1, 1, 1};
        m.timer = "graph_events";
    } else {
        m.no_time_reason = "the emulated device has no clock";
    }
    return m;
}

Profile made_up_profile() {
    FakeDevice device;
    Profile profile;
    profile.environment = environment_of(device.info(), "qkprof");
    profile.environment.complete = true;
    for (const CacheState state : {CacheState::cold, CacheState::warm}) {
        const double slower = state == CacheState::cold ? 2 : 1;
        profile.measurements.push_back(made_up("copy", Family::ceiling, state, 5.41e-6 * slower));
        Measurement fused = made_up("fused_register", Family::register_only, state, 5.87e-6 * slower);
        fused.non_standard = {{"threads", 64}};
        fused.parameters = fused.non_standard;
        profile.measurements.push_back(fused);
    }
    Measurement contradicted = made_up("extra_launch", Family::split, CacheState::warm, 1.234e-3);
    contradicted.counters["launches"].value = 2;
    contradicted.contradictions = {"extra_launch declares 1 launches a call and 2 were counted."};
    profile.measurements.push_back(contradicted);
    Measurement wrong = made_up("wrong, \"quoted\" | piped", Family::naive, CacheState::cold, 0);
    wrong.verification.correct = false;
    wrong.verification.error_norm = 0.125;
    wrong.verification.wrong_elements = 1;
    wrong.verification.first_wrong =
        WrongElement{.batch = 1, .position = 1023, .head = 15, .column = 127, .got = 1.5, .expected = -1.5};
    profile.measurements.push_back(wrong);
    Measurement refused = made_up("fused_tile_bulk", Family::shared_memory, CacheState::cold, 0);
    refused.refused = "q and out are aligned to 2 bytes and it needs 16";
    profile.measurements.push_back(refused);
    refused.state = CacheState::warm;
    profile.measurements.push_back(refused);
    Measurement emulated = made_up("fused_register", Family::register_only, CacheState::warm, 0);
    emulated.problem = {.batch = 1, .sequence = 1, .heads = 1, .head_dim = 64, .dtype = DataType::bf16, .offset = 1};
    emulated.counters["l2_read_sectors"] = {.value = {}, .source = Source::modelled, .reason = "the model is off"};
    profile.measurements.push_back(emulated);
    return profile;
}

TEST(Results, Text) { expect_golden("results.txt", to_text(results_table(made_up_profile()), false)); }
TEST(Results, Colours) { expect_golden("results_colour.txt", to_text(results_table(made_up_profile()), true)); }
TEST(Results, Markdown) { expect_golden("results.md", to_markdown(results_table(made_up_profile()))); }
TEST(Results, Csv) { expect_golden("results.csv", to_csv(results_rows(made_up_profile()))); }

TEST(Results, AnInterruptedRunSaysSo) {
    Profile profile = made_up_profile();
    profile.environment.complete = false;
    EXPECT_EQ(results_table(profile).notes.back(), "interrupted: this is what was measured until then");
}

TEST(Results, AProblemThatWasNotRunIsANoteAndNoRow) {
    Profile profile = made_up_profile();
    for (Measurement& m : profile.measurements) {
        m.not_run = m.refused.empty() ? "the GPU has no memory free" : "";
    }
    const Table table = results_table(profile);
    EXPECT_TRUE(table.sections.front().rows.empty());
    EXPECT_EQ(table.sections.front().notes.front(), "copy (ceiling): not run: the GPU has no memory free");
    EXPECT_NE(to_csv(results_rows(profile)).find(",not run,not run: the GPU has no memory free,"), std::string::npos);
}

TEST(Results, AMetricThatWasAskedForHasAColumn) {
    Profile profile = made_up_profile();
    profile.measurements.at(0).counters["sm__x.sum"] = counted(1234567);
    profile.measurements.at(1).counters["sm__x.sum"] = {
        .value = {}, .source = Source::counted, .reason = "no permission"};
    const std::string text = to_text(results_table(profile), false);
    EXPECT_NE(text.find("sm__x.sum"), std::string::npos);
    EXPECT_NE(text.find("1234567"), std::string::npos);
    EXPECT_NE(text.find("- sm__x.sum: no permission"), std::string::npos) << text;
    EXPECT_NE(to_csv(results_rows(profile)).find(",sm__x.sum,sm__x.sum_source\n"), std::string::npos);
}

TEST(Results, TheHeadingSaysTheForm) {
    Profile profile = made_up_profile();
    profile.measurements.resize(1);
    Problem& p = profile.measurements.front().problem;
    p = {.batch = 1, .sequence = 64, .heads = 32, .key_heads = 8, .head_dim = 128, .dtype = DataType::bf16};
    p.layout = Layout::packed;
    p.in_place = true;
    p.positions = {.type = PositionType::int64, .order = PositionOrder::scattered};
    p.context = 40960;
    EXPECT_EQ(results_table(profile).sections.front().heading,
              "1x64x32+8x128 bf16, 1.28 MiB compulsory, packed, in-place, positions int64-scattered, context 40960");
    EXPECT_EQ(levels_table(profile).sections.front().heading,
              "1x64x32+8x128 bf16 against the floor, packed, in-place, positions int64-scattered, context 40960");
    EXPECT_NE(to_csv(results_rows(profile))
                  .find("\ncopy/1x64x32+8x128/packed/in-place/positions:int64-scattered/context:40960/bf16/cold,copy,"),
              std::string::npos);
    EXPECT_NE(to_csv(results_rows(profile)).find(",1x64x32+8x128 packed in-place positions:int64-scattered "),
              std::string::npos);
}

TEST(Results, AnEmptyProfileIsNoTable) { EXPECT_TRUE(results_table({}).sections.empty()); }

TEST(Results, ManyRowsTakeLittleTime) {  // not quadratic: 20,000 measurements, each a problem of its own
    Profile profile;
    profile.environment.complete = true;
    for (int i = 0; i < 20000; ++i) {
        profile.measurements.push_back(made_up("fused", Family::naive, CacheState::cold, 1e-6));
        profile.measurements.back().problem.seed = static_cast<std::uint64_t>(i);
    }
    EXPECT_GT(to_text(results_table(profile), false).size(), 20000U);
    EXPECT_GT(to_csv(results_rows(profile)).size(), 20000U);
}

TEST(FormatTime, FitsTheUnit) {
    EXPECT_EQ(format_time(508.1234e-6), "508.1 us");
    EXPECT_EQ(format_time(1.4567e-6), "1.457 us");
    EXPECT_EQ(format_time(8.4e-7), "840.0 ns");
    EXPECT_EQ(format_time(0.0123), "12.30 ms");
    EXPECT_EQ(format_time(3.5), "3.500 s");
    EXPECT_EQ(format_time(999.96e-6), "1.000 ms");
}

TEST(FormatBytes, FitsTheUnit) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1.00 KiB");
    EXPECT_EQ(format_bytes(33.6 * 1024 * 1024), "33.6 MiB");
    EXPECT_EQ(format_bytes(0x1p31), "2.00 GiB");
}

TEST(RelativeSpread, IsHalfTheQuartileDistance) {
    EXPECT_FALSE(relative_spread({1, 2}).has_value());
    EXPECT_DOUBLE_EQ(relative_spread({1, 2, 3, 4, 5}).value(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(relative_spread({7, 7, 7}).value(), 0.0);
}

}  // namespace
}  // namespace qkprof
