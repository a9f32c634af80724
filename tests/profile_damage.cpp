// Profiles that are damaged, foreign or made up: each is refused, and what is wrong is said with its place.
#include "sample_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace qkprof {
namespace {

using Json = nlohmann::ordered_json;

TEST(DamagedProfile, DamageIsSaidWithItsPlace) {
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

// The entries [0] to [2] are samples of copy, [3] to [5] of fused, the others untimed.
TEST(DamagedProfile, WhatStandsTwiceIsRefused) {
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

TEST(DamagedProfile, NumbersThatCannotBeAreRefused) {
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

TEST(DamagedProfile, OldOnesThatRepeatTheFactsInEachEntryAreRead) {
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

TEST(DamagedProfile, AnyTruncationIsRefused) {
    const std::string good = to_json(sample_profile());
    for (std::size_t length = 0; length + 2 < good.size(); length += 97) {
        EXPECT_NE(refusal(good.substr(0, length)), "no error") << length;
    }
}

}  // namespace
}  // namespace qkprof
