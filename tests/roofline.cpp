// Measurements against the floor and the roofline: on counters of an H200 (f32, 128 a head, 16 heads) and on planted
// faults.
#include "roofline.h"

#include "error.h"
#include "fake_device.h"
#include "golden.h"
#include "results.h"
#include "run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace qkprof {
namespace {

using testing::HasSubstr;

constexpr std::int64_t l2_bytes = 60 << 20;
const Problem seed = {.batch = 128, .sequence = 1024, .heads = 16, .head_dim = 128};
const Problem resident = {.batch = 1, .sequence = 960, .heads = 16, .head_dim = 128};
const Problem small = {.batch = 1, .sequence = 256, .heads = 16, .head_dim = 128};

Measurement measured(const std::string& variant, const Problem& problem, CacheState state, double seconds,
                     const std::array<double, 6>& counts) {
    Measurement m;
    m.variant = variant;
    m.family = variant == "copy" ? Family::ceiling : Family::register_only;
    m.problem = problem;
    m.state = state;
    m.verification = correct_result();
    constexpr std::array names = {"dram_read_bytes",  "dram_write_bytes",    "l2_read_sectors",
                                  "l2_write_sectors", "global_load_sectors", "global_store_sectors"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        m.counters[names.at(i)] = counted(counts.at(i));
    }
    m.counters["shared_wavefronts"] = counted(0);
    m.seconds = {seconds * 0.999, seconds, seconds * 1.001};
    m.host_seconds = {1, 1, 1};
    m.timer = "graph_events";
    return m;
}

Profile h200(std::vector<Measurement> measurements) {
    Profile profile;
    DeviceInfo device = FakeDevice().info();
    device.l2_bytes = l2_bytes;
    device.facts = {{"memory_clock_mhz", "3201"}, {"memory_bus_bits", "6016"}};
    profile.environment = environment_of(device, "qkprof");
    profile.environment.complete = true;
    profile.measurements = std::move(measurements);
    return profile;
}

const Measurement copy_seed =
    measured("copy", seed, CacheState::cold, 502e-6, {1073786368, 1047764736, 33554432, 33554432, 33554432, 33554432});
const Measurement fused_seed = measured("fused_register", seed, CacheState::cold, 525e-6,
                                        {1082036480, 1049236224, 36923668, 33554432, 100663296, 33554432});
const Measurement copy_resident =
    measured("copy", resident, CacheState::warm, 2.9e-6, {256, 0, 245760, 245760, 245760, 245760});
const Measurement copy_small = measured("copy", small, CacheState::warm, 1.46e-6, {256, 0, 65536, 65536, 65536, 65536});
const Measurement fused_small =
    measured("fused_register", small, CacheState::warm, 1.92e-6, {0, 0, 73632, 65536, 196608, 65536});

Profile usual() { return h200({copy_seed, fused_seed, copy_resident, copy_small, fused_small}); }

double ratio(const Measurement& m, Level level) { return traffic_of(m, level, l2_bytes).ratio().value.value(); }

TEST(Traffic, OfACopyIsItsFloor) {
    EXPECT_EQ(ratio(copy_seed, Level::l1), 1);
    EXPECT_EQ(ratio(copy_seed, Level::l2), 1);
    // The L2 held back less than all of its size.
    EXPECT_NEAR(ratio(copy_seed, Level::dram), 1.0177, 1e-4);
}

TEST(Traffic, OfAVariantIsHeldAgainstTheCompulsoryBytes) {
    EXPECT_NEAR(ratio(fused_seed, Level::l1), 1.9995, 1e-4);
    EXPECT_NEAR(ratio(fused_seed, Level::l2), 1.0499, 1e-4);
    EXPECT_NEAR(ratio(fused_seed, Level::dram), 1.0221, 1e-4);
}

TEST(Traffic, HasNoRatioWhereTheOperationNeedsNothing) {
    const Traffic dram = traffic_of(copy_small, Level::dram, l2_bytes);
    EXPECT_EQ(dram.bytes.value, 256.0);
    EXPECT_EQ(dram.floor, 0);
    EXPECT_EQ(dram.ratio().reason, "the operation needs nothing of this level");
    Measurement tiled = fused_small;
    tiled.counters["shared_wavefronts"] = counted(3);
    EXPECT_EQ(traffic_of(tiled, Level::shared, l2_bytes).bytes.value, 384.0);
    EXPECT_EQ(traffic_of(tiled, Level::shared, l2_bytes).floor, 0);
    tiled.problem.batch = 0;
    for (const Level level : levels) {
        EXPECT_EQ(traffic_of(tiled, level, l2_bytes).floor, 0) << name_of(level);
    }
}

TEST(Traffic, TheFloorOfTheDramDependsOnTheStateAndTheL2) {
    const auto floor = [](const Problem& problem, CacheState state) {
        return traffic_of(measured("fused", problem, state, 1, {}), Level::dram, l2_bytes).floor;
    };
    const auto bytes = [](std::int64_t count) { return static_cast<double>(count); };
    // Cold and small: out may stay in the L2.
    EXPECT_EQ(floor(small, CacheState::cold), bytes(small.compulsory_bytes() - small.tensor_bytes()));
    EXPECT_EQ(floor(seed, CacheState::cold), bytes(seed.compulsory_bytes() - l2_bytes));
    EXPECT_EQ(floor(small, CacheState::warm), 0);
    EXPECT_EQ(floor(seed, CacheState::warm), bytes(seed.compulsory_bytes() - l2_bytes));
    Problem half = small;
    half.dtype = DataType::bf16;
    EXPECT_EQ(floor(half, CacheState::cold), bytes(256 * 16 * 128 * 2 + 128 * 4 + 256 * 64 * 4 * 2));
}

// What the L2 holds of a tensor in place is spared twice: its reading and its writing.
TEST(Traffic, TheFloorOfTheDramInPlace) {
    Problem problem = seed;
    problem.in_place = true;
    const auto floor = [&](CacheState state) {
        return traffic_of(measured("fused", problem, state, 1, {}), Level::dram, l2_bytes).floor;
    };
    const std::int64_t constants = problem.compulsory_bytes() - 2 * problem.tensor_bytes();
    const std::int64_t not_held = problem.tensor_bytes() - l2_bytes;
    ASSERT_GT(not_held, 0);
    EXPECT_EQ(floor(CacheState::cold), static_cast<double>(problem.tensor_bytes() + constants + not_held));
    EXPECT_EQ(floor(CacheState::warm), static_cast<double>(2 * not_held + constants));
}

TEST(Traffic, IsUnknownWithAReasonAndModelledWhereACounterIs) {
    Measurement m = fused_seed;
    m.counters["l2_read_sectors"].source = Source::modelled;
    m.counters["dram_write_bytes"] = {.value = {}, .source = Source::counted, .reason = "no permission"};
    EXPECT_EQ(traffic_of(m, Level::l2, l2_bytes).ratio().source, Source::modelled);
    EXPECT_EQ(traffic_of(m, Level::dram, l2_bytes).ratio().reason, "no permission");
    EXPECT_EQ(Roofline(h200({copy_seed, m})).bound_of(m).fraction.reason, "no permission");
}

TEST(Roofline, TakesItsCeilingsFromTheCopiesOfTheRun) {
    const Roofline roofline(usual());
    EXPECT_DOUBLE_EQ(roofline.dram().rate.value(), 2121551104 / 502e-6);
    EXPECT_EQ(roofline.dram().source, "copy/128x1024x16x128/f32/cold");
    EXPECT_DOUBLE_EQ(roofline.l2().rate.value(), 491520 * 32 / 2.9e-6);
    EXPECT_EQ(roofline.l2().source, "copy/1x960x16x128/f32/warm");
    EXPECT_DOUBLE_EQ(roofline.dram_on_paper().rate.value(), 3201e6 * 2 * 6016 / 8);
}

TEST(Roofline, NamesTheLevelThatTakesLongest) {
    const Roofline roofline(usual());
    EXPECT_EQ(roofline.bound_of(copy_seed).by, "DRAM");
    EXPECT_DOUBLE_EQ(roofline.bound_of(copy_seed).fraction.value.value(), 1);
    EXPECT_EQ(roofline.bound_of(fused_seed).by, "DRAM");
    EXPECT_NEAR(roofline.bound_of(fused_seed).fraction.value.value(), 0.9606, 1e-4);
    EXPECT_EQ(roofline.bound_of(copy_resident).by, "L2");
    Measurement wasteful = fused_seed;  // little from the DRAM, much from the L2
    wasteful.counters["l2_read_sectors"] = counted(2e8);
    EXPECT_EQ(roofline.bound_of(wasteful).by, "L2");
}

TEST(Roofline, CallsLatencyWhatACopyCannotHideEither) {
    Measurement copy = copy_small;
    copy.seconds = {1.7e-6};
    Measurement fused = fused_small;
    fused.seconds = {2e-6};
    const Bound bound = Roofline(h200({copy_resident, copy, fused})).bound_of(fused);
    EXPECT_EQ(bound.by, "latency");
    EXPECT_DOUBLE_EQ(bound.fraction.value.value(), 0.85);
}

TEST(Roofline, IsUnknownWithAReasonWithoutACeiling) {
    EXPECT_THAT(Roofline(h200({copy_seed, copy_small, fused_small})).bound_of(fused_small).fraction.reason,
                HasSubstr("--shapes resident"));
    EXPECT_THAT(Roofline(h200({copy_resident, fused_seed})).bound_of(fused_seed).fraction.reason,
                HasSubstr("--shapes streaming"));
    EXPECT_EQ(Roofline(h200({copy_seed, copy_resident, fused_small})).bound_of(fused_small).fraction.reason,
              "no copy of the same problem and state was timed alike");
    Measurement untimed = fused_seed;
    untimed.seconds.clear();
    untimed.no_time_reason = "the emulated device has no clock";
    EXPECT_EQ(Roofline(usual()).bound_of(untimed).fraction.reason, "the emulated device has no clock");
}

TEST(Roofline, ACopyThatLeaksIntoTheDramIsNoCeilingOfTheL2) {
    Measurement leaking = copy_resident;
    leaking.counters["dram_read_bytes"] = counted(1e6);
    EXPECT_FALSE(Roofline(h200({leaking})).l2().rate.has_value());
}

// 110 % of what clock and width of the memory give.
Profile too_fast() {
    Profile profile = usual();
    const double seconds = (1082036480.0 + 1049236224.0) / (1.1 * 3201e6 * 2 * 6016 / 8);
    profile.measurements[1].seconds = {seconds, seconds, seconds};
    return profile;
}

TEST(MeasurementErrors, AreFiguresOverThePaperPeak) {
    const Profile profile = too_fast();
    const std::vector<std::string> errors = Roofline(profile).errors_of(profile.measurements[1]);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0],
              "fused_register/128x1024x16x128/f32/cold: 5296 GB/s through the DRAM, by its counters and its time, is "
              "more than the 4814 GB/s that the memory can do (3201 MHz x 2 x 6016 bits): one of them is measured "
              "wrongly.");
    EXPECT_EQ(verdict_of(profile), Exit::failed);
    EXPECT_THAT(to_text(results_table(profile), false), HasSubstr(errors[0]));
    EXPECT_THAT(to_csv(results_rows(profile)), HasSubstr("mismeasured"));
    const auto file = nlohmann::json::parse(to_json(profile));
    EXPECT_EQ(file["benchmarks"][3]["measurement_errors"][0], errors[0]);
    EXPECT_EQ(file["benchmarks"][0]["measurement_errors"].size(), 0U);
}

TEST(MeasurementErrors, AreColdCallsThatReadLessThanTheirInputs) {
    Profile profile = usual();
    Measurement& fused = profile.measurements[1];
    const auto inputs = static_cast<double>(seed.compulsory_bytes() - seed.tensor_bytes());
    fused.counters["dram_read_bytes"] = counted(inputs);
    EXPECT_THAT(Roofline(profile).errors_of(fused), testing::IsEmpty());
    fused.counters["dram_read_bytes"] = counted(inputs - 32);
    const std::vector<std::string> errors = Roofline(profile).errors_of(fused);
    EXPECT_THAT(errors, testing::ElementsAre("fused_register/128x1024x16x128/f32/cold: 1074266592 bytes read from the "
                                             "DRAM are fewer than the 1074266624 that a cold call must read: the L2 "
                                             "held some of them, and what is measured here is not cold."));
    EXPECT_EQ(verdict_of(profile), Exit::failed);
    fused.counters["dram_read_bytes"] = {.value = inputs - 32, .source = Source::modelled, .reason = {}};
    EXPECT_THAT(Roofline(profile).errors_of(fused), testing::IsEmpty());
    fused.counters["dram_read_bytes"] = counted(inputs - 32);
    fused.seconds.clear();  // the counts show it alone
    EXPECT_EQ(Roofline(profile).errors_of(fused), errors);
    fused.state = CacheState::warm;
    EXPECT_THAT(Roofline(profile).errors_of(fused), testing::IsEmpty());

    Measurement& copy = profile.measurements[0];  // which needs no tables
    copy.counters["dram_read_bytes"] = counted(static_cast<double>(seed.tensor_bytes()));
    EXPECT_THAT(Roofline(profile).errors_of(copy), testing::IsEmpty());
    copy.counters["dram_read_bytes"] = counted(static_cast<double>(seed.tensor_bytes()) - 1);
    EXPECT_EQ(Roofline(profile).errors_of(copy).size(), 1U);
}

TEST(MeasurementErrors, AnImpossibleCopyIsNoCeiling) {
    Profile profile = usual();
    profile.measurements[0].seconds = {400e-6, 400e-6, 400e-6};
    const Roofline roofline(profile);
    EXPECT_EQ(roofline.errors_of(profile.measurements[0]).size(), 1U);
    EXPECT_TRUE(roofline.errors_of(profile.measurements[1]).empty());
    EXPECT_FALSE(roofline.dram().rate.has_value());
}

TEST(MeasurementErrors, AreFiguresFarOverWhatACopyReached) {
    Profile profile = usual();
    profile.environment.device.facts.clear();
    const auto errors_at = [&](std::size_t index, double times_the_ceiling) {
        Measurement& m = profile.measurements.at(index);
        const double fraction = Roofline(profile).bound_of(m).fraction.value.value();
        for (double& seconds : m.seconds) {
            seconds *= fraction / times_the_ceiling;
        }
        return Roofline(profile).errors_of(m);
    };
    EXPECT_TRUE(errors_at(1, 1.05).empty());  // reading alone is that much faster
    EXPECT_THAT(errors_at(1, 1.2), testing::ElementsAre(HasSubstr("120 % of the best that a copy reached")));
    EXPECT_TRUE(errors_at(4, 1.4).empty());  // what launching costs the copy
    EXPECT_THAT(errors_at(4, 1.7), testing::ElementsAre(HasSubstr("through the L2")));
}

TEST(MeasurementErrors, AWarmCallMayBeFasterThanTheDram) {
    Profile profile = usual();
    ASSERT_GT(static_cast<double>(resident.compulsory_bytes()) / 2.9e-6, 4814e9);
    for (const Measurement& m : profile.measurements) {
        EXPECT_TRUE(Roofline(profile).errors_of(m).empty()) << m.name();
    }
    EXPECT_EQ(verdict_of(profile), Exit::passed);
}

TEST(RooflineInAProfile, IsWrittenAndComputedAnewWhenRead) {
    const Profile profile = usual();
    const auto file = nlohmann::json::parse(to_json(profile));
    const auto& entry = file["benchmarks"][3];
    EXPECT_EQ(entry["l1_traffic_bytes"], 4294967296);
    EXPECT_EQ(entry["l1_traffic_bytes_source"], "counted");
    EXPECT_EQ(entry["l1_floor_bytes"], seed.compulsory_bytes());
    EXPECT_NEAR(entry["dram_floor_ratio"].get<double>(), 1.0221, 1e-4);
    EXPECT_EQ(entry["shared_traffic_bytes"], 0);
    EXPECT_EQ(entry["bound_by"], "DRAM");
    EXPECT_NEAR(entry["bound_fraction"].get<double>(), 0.9606, 1e-4);
    EXPECT_EQ(file["context"]["ceilings"]["dram_bytes_per_second_from"], "copy/128x1024x16x128/f32/cold");
    const Profile read = parse_profile(file.dump(), "memory");
    EXPECT_EQ(read.measurements[1].counters.size(), profile.measurements[1].counters.size());
    EXPECT_EQ(to_text(levels_table(read), false), to_text(levels_table(profile), false));
}

TEST(RooflineInAProfile, EveryNumberIsDocumented) {
    const auto documented = [](const std::string& name) {
        return std::any_of(metrics().begin(), metrics().end(),
                           [&](const Metric& metric) { return metric.derived && metric.name == name; });
    };
    for (const auto& [name, number] : Roofline(usual()).numbers_of(fused_seed)) {
        EXPECT_TRUE(documented(name)) << name;
    }
    EXPECT_TRUE(documented("bound_by"));
}

TEST(LevelsTable, Text) { expect_golden("levels.txt", to_text(levels_table(usual()), false)); }
TEST(LevelsTable, Markdown) { expect_golden("levels.md", to_markdown(levels_table(usual()))); }

TEST(LevelsTable, OfAnEmulatedRunMarksWhatIsModelledAndHasNoBound) {
    Measurement m = fused_seed;
    m.seconds.clear();
    m.no_time_reason = "the emulated device has no clock";
    for (const char* name : {"dram_read_bytes", "dram_write_bytes", "l2_read_sectors", "l2_write_sectors"}) {
        m.counters[name].source = Source::modelled;
    }
    expect_golden("levels_emulated.txt", to_text(levels_table(h200({m})), false));
}

}  // namespace
}  // namespace qkprof
