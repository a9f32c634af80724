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
    says("\xef\xbb\xbf", "The profile p.json is not JSON: line 1, column 2: unexpected end of input");
    says("{\"context\": ", "The profile p.json is not JSON: line 1, column 13: unexpected end of input");
    says("[]", "p.json is not a JSON object.");
    says("{}", "p.json is not a profile of qkprof");
    says(std::string(100000, '['), "p.json is nested deeper than 32 levels: it is not read.");
    says(changed([](Json& f) { f["context"]["schema_version"] = 99; }), "newer qkprof (schema 99");
    says(changed([](Json& f) { f["context"]["schema_version"] = "1"; }), "'schema_version' is not a whole number");
    says(changed([](Json& f) { f["context"]["schema_version"] = 1.5; }), "'schema_version' is not a whole number");
    says(changed([](Json& f) { f["context"]["schema_version"] = 0; }),
         "p.json, 'context': 'schema_version' is below 1, which no qkprof writes.");
    says(changed([](Json& f) { f["context"]["schema_version"] = -1; }), "'schema_version' is below 1");
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
    says(changed([](Json& f) { f["benchmarks"][0].erase("declared_load_bytes"); }), "'declared_load_bytes' is missing");
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
    EXPECT_NE(refusal(overflow).find("too large a number '1e999'."), std::string::npos) << refusal(overflow);
}

// In the file's own unit, whatever that is.
TEST(DamagedProfile, TimesThatNoClockShowsAreRefused) {
    const Json good = Json::parse(to_json(sample_profile()));
    const auto says = [&](const char* key, const Json& value, const char* unit, const std::string& part) {
        Json file = good;
        for (std::size_t i = 0; i < 3; ++i) {
            file["benchmarks"][i]["time_unit"] = unit;
        }
        file["benchmarks"][1][key] = value;
        const std::string message = refusal(file.dump());
        EXPECT_NE(message.find(part), std::string::npos) << key << ": " << message;
    };
    says("real_time", 1, "ns", "no error");
    says("real_time", 1e-300, "ns", "'real_time' is no time between 1e-12 and 1e9 seconds");
    says("real_time", 1e300, "s", "'real_time' is no time between 1e-12 and 1e9 seconds");
    says("cpu_time", 1e300, "s", "'cpu_time' is above 1e9 seconds");
    says("cpu_time", 0, "s", "no error");
}

TEST(DamagedProfile, TimesOfFurtherRunsAreCheckedEachWithItsPlace) {
    Profile profile = sample_profile();
    profile.measurements[0].aa_seconds = {{1e-6, 2e-6}, {3e-6}};
    const Json good = Json::parse(to_json(profile));
    ASSERT_EQ(refusal(good.dump()), "no error");
    const std::string place = "p.json, benchmarks[0] (copy/2x3x4x64/bf16/cold/threads:64): 'aa_times' is ";
    const auto says = [&](const char* pointer, const Json& value, const std::string& part) {
        Json file = good;
        file[Json::json_pointer(pointer)] = value;
        EXPECT_EQ(refusal(file.dump()), place + part);
    };
    const std::string no_time = " is no time between 1e-12 and 1e9 seconds.";
    says("/benchmarks/0/aa_times", 3, "not a list of lists of times.");
    says("/benchmarks/0/aa_times", Json::object(), "not a list of lists of times.");
    says("/benchmarks/0/aa_times/1", 3, "not a list of lists of times.");
    says("/benchmarks/0/aa_times/0/1", 0, "a list whose [0][1]" + no_time);
    says("/benchmarks/0/aa_times/1/0", -1, "a list whose [1][0]" + no_time);
    says("/benchmarks/0/aa_times/1/0", 1e300, "a list whose [1][0]" + no_time);
    says("/benchmarks/0/aa_times/1/0", nullptr, "a list whose [1][0]" + no_time);
    says("/benchmarks/0/aa_times/1/0", "fast", "a list whose [1][0]" + no_time);
    Json file = good;  // they are of all samples
    file["benchmarks"][1]["aa_times"] = Json::array();
    EXPECT_NE(refusal(file.dump()).find("'aa_times' is not what the first entry"), std::string::npos);
}

// A made-up name or key must not fill the terminal, or tell it what to do.
TEST(DamagedProfile, WhatIsQuotedIsShortAndPrintable) {
    Json file = Json::parse(to_json(sample_profile()));
    file["benchmarks"][0]["name"] = std::string(1 << 20, 'x');
    EXPECT_LT(refusal(file.dump()).size(), 500U);
    file["benchmarks"][0]["name"] = "\x1b[2J";
    EXPECT_EQ(refusal(file.dump()), "p.json, 'benchmarks'[0], 'name' is text with a control character.");
    file["benchmarks"][0].erase("name");
    file["benchmarks"][0][std::string(1 << 20, 'x') + "_source"] = "counted";
    EXPECT_LT(refusal(file.dump()).size(), 500U);
    const std::string good = to_json(sample_profile());
    const std::size_t context = good.find("{\"date\"") + 1;
    EXPECT_EQ(refusal(std::string(good).insert(context, "\"date\": \"once\", ")),
              "p.json, 'context' has 'date' twice.");
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

// At every byte, and every byte but the last ones changed into one that JSON allows nowhere.
TEST(DamagedProfile, AnyTruncationIsRefused) {
    const std::string good = to_json(sample_profile());
    for (std::size_t length = 1; length + 2 < good.size(); length += 11) {
        const std::string message = refusal(good.substr(0, length));
        ASSERT_NE(message.find("The profile p.json is not JSON: line "), std::string::npos) << length << message;
        std::string changed = good;
        changed[length] = '\x01';
        ASSERT_NE(refusal(changed).find("The profile p.json is not JSON: line "), std::string::npos) << length;
    }
}

}  // namespace
}  // namespace qkprof
