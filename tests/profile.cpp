// The profile file: what is written is read back, and what is damaged is refused with its place.
#include "profile.h"

#include "error.h"
#include "fake_device.h"

#include <fmt/format.h>
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
    EXPECT_FALSE(entry.contains("copy_fraction"));  // what is known of all samples stands in the first entry
    const Json& first = file["benchmarks"][3];
    EXPECT_DOUBLE_EQ(first["copy_fraction"], 0.8);
    EXPECT_EQ(first["global_load_sectors"], 96);
    EXPECT_EQ(first["global_load_sectors_source"], "counted");
    EXPECT_EQ(first["l2_read_sectors_source"], "modelled");
    EXPECT_TRUE(first["dram_read_bytes"].is_null());
    EXPECT_EQ(first["dram_read_bytes_reason"], "the fake has no DRAM");
    EXPECT_EQ(first["eps"].dump(), "1e-06");
    EXPECT_EQ(first["compulsory_bytes"], 2 * 1536 * 2 + 256 + 2 * 3 * 32 * 4);
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
    says(changed([](Json& f) { f["benchmarks"][0]["batch"] = -1; }), "'batch' is negative");
    says(changed([](Json& f) { f["benchmarks"][0]["batch"] = std::int64_t{1} << 62U; }),
         "'batch' is one of the extents");
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

// A problem that differs from the first form in every field.
Problem far_from_plain() {
    Problem p = {.batch = 2, .sequence = 3, .heads = 4, .key_heads = 2, .head_dim = 64, .dtype = DataType::bf16};
    p.eps = 0;
    p.rotary_base = 1e6;
    p.offset = 8;
    p.layout = Layout::packed;
    p.row_padding = 16;
    p.in_place = true;
    p.pairing = Pairing::interleaved;
    p.rotary_dim = 32;
    p.positions = listed_positions(PositionType::int64, {5, 0, 5, 99, 7, 1});
    p.context = 100;
    p.table_dtype = DataType::bf16;
    p.gamma_dtype = DataType::bf16;
    p.gemma = true;
    p.values = Values::not_finite;
    return p;
}

Json entry_of(const Problem& problem) {
    Profile profile = sample_profile();
    profile.measurements.resize(1);
    profile.measurements[0].problem = problem;
    return Json::parse(to_json(profile))["benchmarks"][0];
}

TEST(Profile, EveryFieldOfAProblemIsReadBack) {
    const auto expect_back = [](const Problem& problem) {
        Profile profile = sample_profile();
        for (Measurement& m : profile.measurements) {
            m.problem = problem;
        }
        const Profile after = parse_profile(to_json(profile), "memory");
        for (const Measurement& m : after.measurements) {
            EXPECT_EQ(m.problem, problem) << m.name();
            EXPECT_EQ(m.problem.compulsory_bytes(), problem.compulsory_bytes());
        }
        EXPECT_EQ(after.measurements.back().name(), profile.measurements.back().name());
    };
    const Problem all = far_from_plain();
    expect_back(all);
    // Each alone, which needs its own field in the file.
    const Problem standard = {.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64, .dtype = DataType::bf16};
    const auto expect_one = [&](auto Problem::*member, const char* key) {
        SCOPED_TRACE(key);
        Problem problem = standard;
        problem.*member = all.*member;
        expect_back(problem);
        EXPECT_TRUE(entry_of(problem).contains(key));
        EXPECT_FALSE(entry_of(standard).contains(key));
        Profile profile = sample_profile();  // and without the field the problem is another
        profile.measurements.resize(1);
        profile.measurements[0].problem = problem;
        Json file = Json::parse(to_json(profile));
        for (Json& entry : file["benchmarks"]) {
            entry.erase(key);
        }
        EXPECT_NE(refusal(file.dump()), "no error");
    };
    expect_one(&Problem::key_heads, "key_heads");
    expect_one(&Problem::layout, "layout");
    expect_one(&Problem::row_padding, "row_padding");
    expect_one(&Problem::in_place, "in_place");
    expect_one(&Problem::pairing, "pairing");
    expect_one(&Problem::rotary_dim, "rotary_dim");
    expect_one(&Problem::context, "context");
    expect_one(&Problem::table_dtype, "table_dtype");
    expect_one(&Problem::gamma_dtype, "gamma_dtype");
    expect_one(&Problem::gemma, "gemma");
    expect_one(&Problem::values, "values");
    for (const PositionOrder order :
         {PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered, PositionOrder::repeated}) {
        Problem problem = standard;
        problem.positions = {.type = PositionType::int32, .order = order};
        expect_back(problem);
    }
}

TEST(Profile, AnEntryOfTheFirstFormIsAsItWas) {
    const Problem plain = {.batch = 2, .sequence = 3, .heads = 4, .head_dim = 64, .dtype = DataType::bf16};
    const Json entry = entry_of(plain);
    EXPECT_EQ(entry["name"], "copy/2x3x4x64/bf16/cold/threads:64");
    std::string keys;
    for (const auto& [key, value] : entry.items()) {
        keys += key + " ";
        if (key == "non_standard") {
            break;
        }
    }
    EXPECT_EQ(
        keys,
        "name run_name run_type repetitions repetition_index threads iterations real_time cpu_time time_unit timer "
        "variant family batch sequence heads head_dim dtype state eps rotary_base seed offset parameters "
        "non_standard ");
}

// Written by an earlier version, on a GPU, with every counter.
TEST(Profile, ARecordedProfileIsWrittenAsItIs) {
    for (const char* name : {"decode.json", "seed_resident.json"}) {
        const auto path = std::filesystem::path(QKPROF_PROFILES_FOLDER) / "h200" / name;
        std::ifstream stream(path);
        Json recorded = Json::parse(stream);
        Json written = Json::parse(to_json(read_profile(path)));
        ASSERT_GT(recorded["benchmarks"].size(), 1000U);
        for (Json* file : {&recorded, &written}) {
            for (Json& entry : (*file)["benchmarks"]) {
                entry.erase("copy_fraction");  // from times that were rounded to another unit and back
                entry.erase("bound_fraction");
            }
        }
        EXPECT_TRUE(written["benchmarks"].dump() == recorded["benchmarks"].dump()) << name;
    }
}

TEST(Profile, TheNameSaysTheFormAndOldOnesWithoutTheOffsetAreRead) {
    EXPECT_EQ(entry_of(far_from_plain())["name"],
              "copy/2x3x4+2x64/packed/padding:16/in-place/interleaved/rotary:32/positions:int64-listed-" +
                  fmt::format("{:08x}", far_from_plain().positions.digest) +
                  "/context:100/tables:bf16/gamma:bf16/gemma/offset:8/values:not-finite/bf16/cold/threads:64");
    Profile profile = sample_profile();
    profile.measurements.resize(1);
    profile.measurements[0].problem.offset = 8;
    Json file = Json::parse(to_json(profile));
    for (Json& entry : file["benchmarks"]) {
        EXPECT_EQ(entry["name"], "copy/2x3x4x64/offset:8/bf16/cold/threads:64");
        entry["name"] = "copy/2x3x4x64/bf16/cold/threads:64";
    }
    EXPECT_EQ(parse_profile(file.dump(), "old").measurements.at(0).problem.offset, 8);
    for (Json& entry : file["benchmarks"]) {
        entry["name"] = "copy/2x3x4x64/offset:4/bf16/cold/threads:64";
    }
    EXPECT_NE(refusal(file.dump()).find("'name' is not what its variant"), std::string::npos);
}

TEST(Profile, AFieldOfTheFormThatIsWrongIsSaid) {
    Profile profile = sample_profile();
    profile.measurements.resize(1);
    profile.measurements[0].problem = far_from_plain();
    const Json good = Json::parse(to_json(profile));
    const auto says = [&](const char* key, const Json& value, const std::string& part) {
        Json file = good;
        file["benchmarks"][0][key] = value;
        const std::string message = refusal(file.dump());
        EXPECT_NE(message.find(part), std::string::npos) << key << ": " << message;
    };
    for (const char* key : {"key_heads", "row_padding", "rotary_dim", "context", "offset"}) {
        says(key, -1, std::string("'") + key + "' is negative");
        says(key, "many", std::string("'") + key + "' is not a whole number");
    }
    for (const char* key : {"layout", "pairing", "table_dtype", "gamma_dtype", "values"}) {
        says(key, "bogus", std::string("'") + key + "' is a word that this qkprof does not know");
        says(key, 3, std::string("'") + key + "' is not text");
    }
    for (const char* key : {"in_place", "gemma"}) {
        says(key, "yes", std::string("'") + key + "' is neither true nor false");
    }
    says("row_padding", std::int64_t{1} << 60U, "'batch' is one of the extents");
    says("context", std::int64_t{1} << 60U, "'batch' is one of the extents");
    says("key_heads", std::int64_t{1} << 60U, "'batch' is one of the extents");
    says("rotary_dim", 66, "is no problem of qkprof: the rotary dim is 66");
    says("table_dtype", "f16", "is no problem of qkprof: tables and gamma are in f32 or in the type of q, bf16");
    const auto positions = [](const char* type, const char* order, std::int64_t distinct) {
        return Json({{"type", type}, {"order", order}, {"distinct", distinct}, {"digest", 1}});
    };
    says("positions", 3, "'positions' is not a JSON object");
    says("positions", positions("implicit", "listed", 3), "'type' is a word");
    says("positions", positions("int64", "sorted", 3), "'order' is a word");
    says("positions", positions("int64", "listed", -3), "'distinct' is negative");
    says("positions", positions("int64", "listed", 0), "'positions' is of no distinct position, and there are tokens");
    says("positions", positions("int64", "listed", 7), "'positions' is of more distinct positions than there are");
    says("positions", Json({{"type", "int64"}, {"order", "listed"}, {"distinct", 3}}), "'digest' is missing");
    says("positions", Json({{"type", "int64"}, {"order", "listed"}, {"distinct", 3}, {"digest", -1}}),
         "'digest' is not a whole number");
    Json file = good;
    file["benchmarks"][0]["context"] = 2;
    EXPECT_NE(refusal(file.dump()).find("'positions' is of more distinct positions than there are"), std::string::npos);
    file["benchmarks"][0]["positions"] = {{"type", "int64"}, {"order", "ordered"}};
    file["benchmarks"][0]["context"] = 2;
    EXPECT_NE(refusal(file.dump()).find("the tables have 2 positions (the context) and the sequence 3"),
              std::string::npos);
}

// The entries [0] to [2] are samples of copy, [3] to [5] of fused, the others untimed.
TEST(Profile, WhatStandsTwiceIsRefused) {
    const Json good = Json::parse(to_json(sample_profile()));
    const auto says = [&](auto change, const std::string& part) {
        Json file = good;
        change(file["benchmarks"]);
        const std::string message = refusal(file.dump());
        EXPECT_NE(message.find(part), std::string::npos) << message;
    };
    const std::string place = "p.json, benchmarks[2] (copy/2x3x4x64/bf16/cold/threads:64): ";
    const std::string not_above = "'repetition_index' is negative, or not above that of the entry of this name before";
    says([](Json& all) { all[2]["repetition_index"] = 1; }, place + not_above);
    says([](Json& all) { all[0]["repetition_index"] = -1; }, not_above);
    says([](Json& all) { all[2].erase("repetition_index"); }, place + "'repetition_index' is missing");
    says([](Json& all) { all.push_back(all[0]); }, "benchmarks[11] (copy/2x3x4x64/bf16/cold/threads:64): " + not_above);
    says([](Json& all) { all.push_back(all[6]); }, "'name' is that of an entry before it");
    says([](Json& all) { all[2]["real_time"] = nullptr; }, place + "'name' is that of an entry before it");
    // Of eps, base and seed the name says nothing.
    says([](Json& all) { all[2]["eps"] = 1e-5; }, place + "'eps' is not what the first entry of this name says");
    says([](Json& all) { all[2]["rotary_base"] = 5.0; }, "'rotary_base' is not what the first entry");
    says([](Json& all) { all[2]["launches"] = 2; }, "'launches' is not what the first entry");
    says([](Json& all) { all[2]["refused"] = "it cannot"; }, "'refused' is not what the first entry");
    says(
        [](Json& all) {  // a whole second measurement
            Json other = all[0];
            other["seed"] = 7;
            other["repetition_index"] = 3;
            all.push_back(other);
        },
        "'seed' is not what the first entry");
    Profile profile = sample_profile();
    profile.measurements.resize(1);
    profile.measurements[0].problem.offset = 8;
    Json file = Json::parse(to_json(profile));
    Json old = file["benchmarks"][0];  // as an earlier version names it
    old["name"] = "copy/2x3x4x64/bf16/cold/threads:64";
    file["benchmarks"].push_back(old);
    EXPECT_NE(refusal(file.dump()).find("'name' is another word for a measurement"), std::string::npos);
}

TEST(Profile, NumbersThatCannotBeAreRefused) {
    Profile profile = sample_profile();
    profile.environment.device.backend = Backend::cuda;
    for (Measurement& m : profile.measurements) {
        m.stream_seconds = m.seconds;
    }
    const Json good = Json::parse(to_json(profile));
    ASSERT_EQ(refusal(good.dump()), "no error");
    const auto says = [&](const std::string& pointer, const Json& value, const std::string& part) {
        Json file = good;
        file[Json::json_pointer(pointer)] = value;
        const std::string message = refusal(file.dump());
        EXPECT_NE(message.find(part), std::string::npos) << pointer << ": " << message;
    };
    const std::string entry = "/benchmarks/0/";
    const std::string place = "p.json, benchmarks[0] (copy/2x3x4x64/bf16/cold/threads:64): ";
    for (const char* key : {"launches", "global_load_sectors", "shared_bytes", "l2_read_sectors", "declared_launches",
                            "declared_load_bytes", "declared_store_bytes", "declared_shared_bytes", "wrong_elements",
                            "error_norm", "cpu_time", "eps", "offset"}) {
        says(entry + key, -1, fmt::format("{}'{}' is negative", place, key));
    }
    for (const char* key : {"global_load_sectors", "global_store_sectors", "shared_bytes"}) {
        says(entry + key, 1.5, fmt::format("{}'{}' is not a whole number", place, key));
    }
    says(entry + "declared_launches", 1.5, "'declared_launches' is not a whole number");
    says(entry + "kernels/0/registers", -1, "'kernels'[0]: 'registers' is negative");
    says(entry + "kernels/0/launches", -1, "'kernels'[0]: 'launches' is negative");
    says(entry + "kernels/0/static_shared", -1, "'kernels'[0]: 'static_shared' is negative");
    says(entry + "kernels/0/dynamic_shared", -1, "'kernels'[0]: 'dynamic_shared' is negative");
    says(entry + "kernels/0/grid/1", 0, "'kernels'[0]: 'grid' is 0");
    says(entry + "kernels/0/block/1", -4, "'kernels'[0]: 'block' is negative");
    says(entry + "contradictions", "none", "'contradictions' is not a list of sentences");
    says(entry + "contradictions", nullptr, "'contradictions' is not a list of sentences");
    says(entry + "contradictions", Json::object(), "'contradictions' is not a list of sentences");
    says(entry + "non_standard", "threads", "'non_standard' is not a list of names");
    says(entry + "eps", 1001, place + "'eps' is above 1000");
    says(entry + "rotary_base", 0.5, place + "'rotary_base' is below 1");
    says(entry + "offset", (1 << 20) + 1, place + "'offset' is above 1048576");
    says("/benchmarks/2/stream_time", 0, "(copy/2x3x4x64/bf16/cold/threads:64): 'stream_time' is not above 0");
    says("/benchmarks/2/stream_time", -1, "'stream_time' is not above 0");
    says("/benchmarks/2/stream_time", nullptr, "'stream_time' is not a number");
    const std::string device = "/context/device/";
    says(device + "backend", "opencl", "p.json, 'context', 'device': 'backend' is neither cuda nor emulated");
    says(device + "l2_bytes", 0, "p.json, 'context', 'device': 'l2_bytes' is 0");
    says(device + "l2_bytes", -1, "'l2_bytes' is negative");
    says(device + "multiprocessors", -1, "'multiprocessors' is negative");
    says(device + "memory_bytes", -1, "'memory_bytes' is negative");
    std::string overflow = good.dump();
    const std::string eps = "\"eps\":1e-06";
    overflow.replace(overflow.find(eps), eps.size(), "\"eps\":1e999");
    EXPECT_NE(refusal(overflow).find("p.json is not JSON: number overflow"), std::string::npos) << refusal(overflow);
}

TEST(Profile, OldOnesThatRepeatTheFactsInEachEntryAreRead) {
    Json file = Json::parse(to_json(sample_profile()));
    Json& all = file["benchmarks"];
    for (std::size_t i = 0; i < 6; ++i) {
        Json whole = all[i < 3 ? 0 : 3];
        whole.update(all[i]);
        all[i] = whole;
    }
    const Profile profile = parse_profile(file.dump(), "old");
    EXPECT_EQ(profile.measurements.size(), 7U);
    EXPECT_EQ(profile.measurements[1].seconds.size(), 3U);
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
