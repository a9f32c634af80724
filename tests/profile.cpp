// The profile file: what is written is read back, and what is damaged is refused with its place.
#include "profile.h"

#include "error.h"
#include "fake_device.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

Measurement timed(const std::string& variant, Family family, double seconds) {
    Measurement m;
    m.variant = variant;
    m.family = family;
    m.problem = {.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64, .dtype = DataType::bf16, .seed = ~0ULL};
    m.state = CacheState::cold;
    m.parameters = {{"threads", 64}, {"heads", 2}};
    m.non_standard = {{"threads", 64}};
    m.verification = correct_result();
    m.declaration = {.launches = 1, .load_bytes = 3072, .store_bytes = 3072, .shared_bytes = 512};
    m.counters = as_declared(m.declaration);
    m.counters["l2_read_sectors"] = {.value = 12.5, .source = Source::modelled, .reason = {}};
    m.counters["sm__x.sum.per_second"] = counted(0.25);
    m.kernels = {{.name = "a<float>(int)",
                  .launches = 2.5,
                  .grid = {1LL << 31, 2, 3},
                  .block = {64, 1, 1},
                  .registers = 40,
                  .static_shared = 16,
                  .dynamic_shared = 512},
                 {.name = "b", .launches = 1, .grid = {1, 1, 1}, .block = {32, 1, 1}, .registers = {}}};
    m.seconds = {seconds, seconds * 1.5, seconds * 0.75};
    m.host_seconds = {1e-3, 2e-3, 3e-3};
    m.timer = "graph_events";
    return m;
}

Profile sample_profile() {
    FakeDevice device;
    Profile profile;
    profile.environment = environment_of(device.info(), "qkprof");
    profile.environment.complete = true;
    profile.environment.further = {{"who", "me"}};
    profile.measurements.push_back(timed("copy", Family::ceiling, 8e-6));
    profile.measurements.push_back(timed("fused", Family::register_only, 1e-5));
    Measurement untimed = timed("counted", Family::split, 1);
    untimed.seconds.clear();
    untimed.host_seconds.clear();
    untimed.timer.clear();
    untimed.no_time_reason = "the fake device has no clock";
    untimed.contradictions = {"It declares 1 and 2 were counted."};
    profile.measurements.push_back(untimed);
    Measurement wrong = untimed;
    wrong.variant = "wrong";
    wrong.contradictions.clear();
    wrong.verification = {.correct = false,
                          .error_norm = std::numeric_limits<double>::quiet_NaN(),
                          .wrong_elements = 5,
                          .first_wrong = WrongElement{.batch = 1,
                                                      .position = 2,
                                                      .head = 3,
                                                      .column = 4,
                                                      .got = std::numeric_limits<double>::quiet_NaN(),
                                                      .expected = 0.5},
                          .fault = {}};
    profile.measurements.push_back(wrong);
    Measurement refused;
    refused.variant = "picky";
    refused.problem = untimed.problem;
    refused.refused = "it is not in the mood";
    profile.measurements.push_back(refused);
    Measurement faulted = refused;
    faulted.variant = "broken";
    faulted.refused.clear();
    faulted.verification.fault = "it read past the end of q";
    profile.measurements.push_back(faulted);
    Measurement lost = refused;
    lost.variant = "lost";
    lost.refused.clear();
    lost.not_run = "the GPU has no memory free";
    profile.measurements.push_back(lost);
    return profile;
}

TEST(Profile, IsReadBackAsItWasWritten) {
    const Profile before = sample_profile();
    const Profile after = parse_profile(to_json(before), "memory");
    EXPECT_EQ(after.environment.date, before.environment.date);
    EXPECT_EQ(after.environment.host_name, before.environment.host_name);
    EXPECT_EQ(after.environment.version, before.environment.version);
    EXPECT_EQ(after.environment.commit, before.environment.commit);
    EXPECT_EQ(after.environment.complete, true);
    EXPECT_EQ(after.environment.further, before.environment.further);
    EXPECT_EQ(after.environment.device.description, before.environment.device.description);
    EXPECT_EQ(after.environment.device.l2_bytes, before.environment.device.l2_bytes);
    EXPECT_EQ(after.environment.device.facts, before.environment.device.facts);
    EXPECT_EQ(after.environment.device.limits.shared_bytes_per_block,
              before.environment.device.limits.shared_bytes_per_block);
    ASSERT_EQ(after.measurements.size(), before.measurements.size());
    for (std::size_t i = 0; i < before.measurements.size(); ++i) {
        const Measurement& a = after.measurements[i];
        const Measurement& b = before.measurements[i];
        SCOPED_TRACE(b.name());
        EXPECT_EQ(a.name(), b.name());
        EXPECT_EQ(a.family, b.family);
        EXPECT_EQ(a.problem, b.problem);
        EXPECT_EQ(a.parameters, b.parameters);
        EXPECT_EQ(a.non_standard, b.non_standard);
        EXPECT_EQ(a.refused, b.refused);
        EXPECT_EQ(error_of(a), error_of(b));
        EXPECT_EQ(a.verification.correct, b.verification.correct);
        EXPECT_EQ(a.declaration.load_bytes, b.declaration.load_bytes);
        EXPECT_EQ(a.declaration.shared_bytes, b.declaration.shared_bytes);
        EXPECT_EQ(a.contradictions, b.contradictions);
        EXPECT_EQ(a.kernels, b.kernels);
        EXPECT_EQ(a.not_run, b.not_run);
        EXPECT_EQ(a.timer, b.timer);
        ASSERT_EQ(a.seconds.size(), b.seconds.size());
        for (std::size_t s = 0; s < b.seconds.size(); ++s) {
            EXPECT_DOUBLE_EQ(a.seconds[s], b.seconds[s]);
            EXPECT_DOUBLE_EQ(a.host_seconds[s], b.host_seconds[s]);
        }
        if (b.ran() && b.verification.fault.empty()) {
            ASSERT_EQ(a.counters.size(), b.counters.size());
            for (const auto& [name, counter] : b.counters) {
                EXPECT_EQ(a.counters.at(name).value, counter.value) << name;
                EXPECT_EQ(a.counters.at(name).reason, counter.reason) << name;
                if (counter.value) {
                    EXPECT_EQ(a.counters.at(name).source, counter.source) << name;
                }
            }
        }
    }
    EXPECT_TRUE(std::isnan(after.measurements[3].verification.error_norm));
}

TEST(Profile, IsGoogleBenchmarksSchema) {
    const Json file = Json::parse(to_json(sample_profile()));
    EXPECT_EQ(file["context"]["library_build_type"].get<std::string>().size() > 0, true);
    EXPECT_EQ(file["context"]["who"], "me");
    ASSERT_EQ(file["benchmarks"].size(), 3U + 3U + 5U);
    const Json& entry = file["benchmarks"][4];
    EXPECT_EQ(entry["name"], "fused/2x3x4x64/bf16/cold/threads:64");
    EXPECT_EQ(entry["run_name"], entry["name"]);
    EXPECT_EQ(entry["run_type"], "iteration");
    EXPECT_EQ(entry["repetitions"], 3);
    EXPECT_EQ(entry["repetition_index"], 1);
    EXPECT_EQ(entry["threads"], 1);
    EXPECT_EQ(entry["time_unit"], "us");
    EXPECT_DOUBLE_EQ(entry["real_time"], 15.0);
    EXPECT_DOUBLE_EQ(entry["cpu_time"], 2000.0);
    EXPECT_DOUBLE_EQ(entry["copy_fraction"], 0.8);
    EXPECT_EQ(entry["global_load_sectors"], 96);
    EXPECT_EQ(entry["global_load_sectors_source"], "counted");
    EXPECT_EQ(entry["l2_read_sectors_source"], "modelled");
    EXPECT_TRUE(entry["dram_read_bytes"].is_null());
    EXPECT_EQ(entry["dram_read_bytes_reason"], "the fake has no DRAM");
    EXPECT_EQ(entry["eps"].dump(), "1e-06");
    EXPECT_EQ(entry["compulsory_bytes"], 2 * 1536 * 2 + 256 + 2 * 3 * 32 * 4);
    const Json& untimed = file["benchmarks"][6];
    EXPECT_TRUE(untimed["real_time"].is_null());
    EXPECT_EQ(untimed["real_time_reason"], "the fake device has no clock");
    EXPECT_TRUE(untimed["copy_fraction"].is_null());
    EXPECT_FALSE(untimed.contains("time_unit"));  // by which compare.py knows what it can compare
    EXPECT_EQ(untimed["run_type"], "aggregate");  // and leave out of its geometric mean
    const Json& refused = file["benchmarks"][8];
    EXPECT_EQ(refused["error_occurred"], true);
    EXPECT_EQ(refused["error_message"], "refused: it is not in the mood");
    EXPECT_FALSE(refused.contains("launches"));
}

TEST(Profile, TheCeilingIsTheFastestCopyOfTheSameProblemAndState) {
    std::vector<Measurement> all = {timed("copy", Family::ceiling, 8e-6), timed("copy", Family::ceiling, 4e-6),
                                    timed("fused", Family::register_only, 1e-5)};
    EXPECT_DOUBLE_EQ(CopyFractions(all).of(all[2]).value.value(), 0.4);
    all[2].state = CacheState::warm;
    EXPECT_FALSE(CopyFractions(all).of(all[2]).value.has_value());
    EXPECT_EQ(CopyFractions(all).of(all[2]).reason, "no copy of the same problem and state was timed");
}

TEST(Profile, TheMedianIsTheMiddle) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({5}), 5);
}

std::string refusal(const std::string& text) {
    try {
        parse_profile(text, "p.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Profile, DamageIsSaidWithItsPlace) {
    const auto says = [](const std::string& text, const std::string& part) {
        const std::string message = refusal(text);
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    const Json good = Json::parse(to_json(sample_profile()));
    const auto changed = [&](auto change) {
        Json file = good;
        change(file);
        return file.dump();
    };
    says("", "The profile p.json is empty.");
    says(" \n", "The profile p.json is empty.");
    says("{\"context\": ", "The profile p.json is not JSON: parse error at line 1");
    says("[]", "p.json is not a JSON object.");
    says("{}", "p.json is not a profile of qkprof");
    says(std::string(100000, '['), "not JSON");
    says(changed([](Json& f) { f["context"]["schema_version"] = 99; }), "newer qkprof (schema 99");
    says(changed([](Json& f) { f["context"]["schema_version"] = "1"; }), "'schema_version' is not a whole number");
    says(changed([](Json& f) { f.erase("benchmarks"); }), "'benchmarks' is missing");
    says(changed([](Json& f) { f["benchmarks"] = 1; }), "'benchmarks' is not a list");
    says(changed([](Json& f) { f["benchmarks"][2]["real_time"] = "fast"; }),
         "p.json, benchmarks[2] (copy/2x3x4x64/bf16/cold/threads:64): 'real_time' is not a number.");
    says(changed([](Json& f) { f["benchmarks"][2]["real_time"] = 0; }), "'real_time' is not above 0");
    says(changed([](Json& f) { f["benchmarks"][2]["time_unit"] = "weeks"; }), "'time_unit' is none of");
    says(changed([](Json& f) { f["benchmarks"][0]["dtype"] = "f8"; }),
         "'dtype' is a word that this qkprof does not know");
    says(changed([](Json& f) { f["benchmarks"][0]["batch"] = -1; }), "'batch' is one of four extents");
    says(changed([](Json& f) { f["benchmarks"][0]["batch"] = 1e30; }), "'batch' is not a whole number");
    says(changed([](Json& f) { f["benchmarks"][0]["launches"] = "one"; }), "'launches' is not a number");
    says(changed([](Json& f) { f["benchmarks"][0]["kernels"] = 3; }), "'kernels' is not a list");
    says(changed([](Json& f) {
             f["benchmarks"][0]["kernels"][1]["grid"] = {1, 2};
         }),
         "'kernels'[1]: 'grid' is not a list of three numbers");
    says(changed([](Json& f) { f["benchmarks"][0]["kernels"][0]["registers"] = "few"; }),
         "'kernels'[0]: 'registers' is not a whole number");
    says(changed([](Json& f) { f["benchmarks"][0].erase("declared_launches"); }), "'declared_launches' is missing");
    says(changed([](Json& f) { f["benchmarks"][0]["variant"] = "other"; }), "'name' is not what its variant");
    says(changed([](Json& f) { f["benchmarks"][1] = 5; }), "p.json, benchmarks[1] is not a JSON object");
}

TEST(Profile, AnyTruncationIsRefused) {
    const std::string good = to_json(sample_profile());
    for (std::size_t length = 0; length + 2 < good.size(); length += 97) {
        EXPECT_NE(refusal(good.substr(0, length)), "no error") << length;
    }
}

TEST(ReadProfile, RefusesWhatIsNoFile) {
    EXPECT_THROW(read_profile("/no/such/file"), InputError);
    EXPECT_THROW(read_profile("/tmp"), InputError);
    EXPECT_THROW(read_profile("/dev/zero"), InputError);
    const auto path = std::filesystem::temp_directory_path() / "qkprof-test-huge.json";
    std::ofstream(path) << "{}";
    std::filesystem::resize_file(path, (std::uintmax_t{1} << 30U) + 1);
    EXPECT_THROW(read_profile(path), InputError);
    std::ofstream(path) << to_json(sample_profile());
    EXPECT_EQ(read_profile(path).measurements.size(), 7U);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace qkprof
