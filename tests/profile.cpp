// The profile file: what is written is read back.
#include "profile.h"

#include "error.h"
#include "sample_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

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
        EXPECT_EQ(a.declaration.has_value(), b.declaration.has_value());
        if (a.declaration && b.declaration) {
            EXPECT_EQ(a.declaration->load_bytes, b.declaration->load_bytes);
            EXPECT_EQ(a.declaration->shared_bytes, b.declaration->shared_bytes);
        }
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

TEST(Profile, WhatWasTunedFromIsReadBack) {
    Profile before = sample_profile();
    const TunedFrom from = {.device = "GPU A", .problem = "1x64x16x128 f32", .own = false, .parameters = {"heads"}};
    before.measurements[1].tuned_from = from;
    const Json file = Json::parse(to_json(before));
    EXPECT_EQ(file["benchmarks"][3]["tuned_from"].dump(),
              R"({"device":"GPU A","problem":"1x64x16x128 f32","own":false,"parameters":["heads"]})");
    EXPECT_FALSE(file["benchmarks"][0].contains("tuned_from"));
    const Profile after = parse_profile(to_json(before), "memory");
    EXPECT_EQ(after.measurements[1].tuned_from, from);
    EXPECT_FALSE(after.measurements[0].tuned_from.has_value());
    const auto damaged = [&](const char* key, const Json& value) {
        Json changed = file;
        changed["benchmarks"][3]["tuned_from"][key] = value;
        EXPECT_THROW(parse_profile(changed.dump(), "memory"), InputError) << key << ' ' << value;
    };
    damaged("device", 1);
    damaged("problem", Json());
    damaged("own", "yes");
    damaged("parameters", {"lanes"});    // there is none
    damaged("parameters", {"threads"});  // it was given
}

TEST(Profile, TheTimesOfFurtherRunsAreReadBack) {
    Profile before = sample_profile();
    const std::vector<std::vector<double>> runs = {{1.25e-6, 3e-3}, {}, {7e-9}};
    before.measurements[0].aa_seconds = runs;
    before.measurements[2].aa_seconds = runs;  // it has no time of its own, and no unit
    before.measurements[1].aa_seconds = {{}};
    const Json file = Json::parse(to_json(before));
    EXPECT_EQ(file["benchmarks"][0]["aa_times"].dump(), "[[1.25,3000.0],[],[0.007]]");  // in its unit, us
    EXPECT_FALSE(file["benchmarks"][1].contains("aa_times"));
    EXPECT_FALSE(file["benchmarks"][7].contains("aa_times"));
    const Profile after = parse_profile(file.dump(), "memory");
    for (const std::size_t i : {0U, 2U}) {
        ASSERT_EQ(after.measurements[i].aa_seconds.size(), runs.size());
        for (std::size_t run = 0; run < runs.size(); ++run) {
            ASSERT_EQ(after.measurements[i].aa_seconds[run].size(), runs[run].size());
            for (std::size_t s = 0; s < runs[run].size(); ++s) {
                EXPECT_DOUBLE_EQ(after.measurements[i].aa_seconds[run][s], runs[run][s]);
            }
        }
    }
    EXPECT_EQ(after.measurements[1].aa_seconds, before.measurements[1].aa_seconds);
    EXPECT_TRUE(after.measurements[3].aa_seconds.empty());
    Json in_ns = file;
    for (std::size_t i = 0; i < 3; ++i) {
        in_ns["benchmarks"][i]["time_unit"] = "ns";
    }
    EXPECT_DOUBLE_EQ(parse_profile(in_ns.dump(), "memory").measurements[0].aa_seconds[0][0], 1.25e-9);
}

// Of the context that a user gives on the command line.
TEST(Profile, AControlCharacterIsWrittenAsText) {
    Profile before = sample_profile();
    before.environment.further = {{"who\x1b", "\x1b[2J"}};
    const Profile after = parse_profile(to_json(before), "memory");
    ASSERT_EQ(after.environment.further.size(), 1U);
    EXPECT_EQ(after.environment.further[0].first, R"(who\x1b)");
    EXPECT_EQ(after.environment.further[0].second, R"(\x1b[2J)");
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
    EXPECT_EQ(CopyFractions(all).of(all[2]).reason, "no copy of the same problem and state was timed alike");
}

TEST(Profile, TheMedianIsTheMiddle) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({5}), 5);
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

TEST(ReadProfile, RefusesWhatIsNoFile) {
    EXPECT_THROW(read_profile("/no/such/file"), InputError);
    EXPECT_THROW(read_profile("/tmp"), InputError);
    EXPECT_THROW(read_profile("/dev/zero"), InputError);
    const auto path = std::filesystem::temp_directory_path() / "qkprof-test-huge.json";
    std::ofstream(path) << "{}";
    std::filesystem::resize_file(path, (std::uintmax_t{64} << 20U) + 1);
    EXPECT_THROW(read_profile(path), InputError);
    try {
        read_profile(path);
    } catch (const InputError& error) {
        EXPECT_EQ(error.what(), path.string() + " has 67108865 bytes and a profile at most 67108864: it is not read.");
    }
    std::ofstream(path) << to_json(sample_profile());
    EXPECT_EQ(read_profile(path).measurements.size(), 7U);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace qkprof
