// Exec profiles to JSON and back, and those that are damaged or made up.
#include "error.h"
#include "sample_exec_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace qkprof::exec {
namespace {

using Json = nlohmann::ordered_json;

std::string refusal(const std::string& text) {
    try {
        (void)parse_exec_profile(text, "e.json");
    } catch (const InputError& error) {
        return error.what();
    }
    return "no error";
}

TEST(ExecProfile, WhatIsWrittenReadsBackTheSame) {
    const ExecProfile profile = sample_exec_profile();
    const std::string text = to_json(profile);
    const ExecProfile read = parse_exec_profile(text, "e.json");
    EXPECT_EQ(to_json(read), text);
    EXPECT_EQ(read.command, profile.command);
    EXPECT_EQ(read.exit_code, 3);
    EXPECT_EQ(read.work.kernels.at(0).name, profile.work.kernels.at(0).name);
    EXPECT_EQ(read.work.kernels.at(0).seconds->most, 5.000000001e-6);
    EXPECT_EQ(read.work.kernels.at(0).forms.at(0).dynamic_shared, 49152);
    EXPECT_FALSE(read.work.kernels.at(1).seconds);
    EXPECT_EQ(read.work.copies.at(1).kind, TransferKind::fill);
    EXPECT_EQ(read.processes.at(0).devices, profile.processes.at(0).devices);
    EXPECT_EQ(read.ranges.at(0).first_calls, profile.ranges.at(0).first_calls);
    EXPECT_EQ(read.ranges.at(1).inside, profile.ranges.at(1).inside);
    EXPECT_EQ(read.ranges.at(0).late_records, 1U);
}

TEST(ExecProfile, AKernelARangeAndACallIsALine) {
    std::istringstream lines(to_json(sample_exec_profile()));
    int kernels = 0;
    int calls = 0;
    for (std::string line; std::getline(lines, line);) {
        kernels += line.find("{\"name\":") != std::string::npos ? 1 : 0;
        calls += line.rfind("    [3,0,3,", 0) == 0 ? 1 : 0;
        EXPECT_EQ(std::min(line.find("{\"name\":"), line.size()), std::min(line.rfind("{\"name\":"), line.size()));
    }
    EXPECT_EQ(kernels, 2 + 2 + 1);
    EXPECT_EQ(calls, 200);
}

TEST(ExecProfile, DamageIsSaidWithItsPlace) {
    const Json good = Json::parse(to_json(sample_exec_profile()));
    ASSERT_EQ(refusal(good.dump()), "no error");
    const std::string work = "/work";  // the profile's, a JSON pointer
    const auto says = [&](const std::string& pointer, const Json& value, const std::string& sentence) {
        Json file = good;
        file[Json::json_pointer(pointer)] = value;
        EXPECT_EQ(refusal(file.dump()), sentence);
    };
    EXPECT_EQ(refusal(" \n"), "The exec profile e.json is empty.");
    EXPECT_EQ(refusal("[]"), "e.json is not a JSON object.");
    EXPECT_EQ(refusal("{}"), "e.json is no exec profile, as qkprof exec --out writes it.");
    EXPECT_EQ(refusal(R"({"benchmarks": []})"),
              "e.json is no exec profile, as qkprof exec --out writes it: it is one of qkprof run.");
    says("/exec_schema", 99, "e.json is of a newer qkprof (exec schema 99; this one reads up to 1): use that one.");
    says("/exec_schema", 0, "e.json: 'exec_schema' is below 1, which no qkprof writes.");
    says("/exit_code", "none", "e.json: 'exit_code' is not a whole number in its range.");
    says("/wall_seconds", -1, "e.json: 'wall_seconds' is negative.");
    says("/command", 3, "e.json: 'command' is not a list of texts.");
    says(work + "/kernels/0/count", -1, "e.json, 'work', 'kernels'[0]: 'count' is not a whole number in its range.");
    says(work + "/kernels/0/seconds/p99", nullptr, "e.json, 'work', 'kernels'[0], 'seconds': 'p99' is not a number.");
    says(work + "/kernels/0/forms/1/grid", Json::array({1, 2}),
         "e.json, 'work', 'kernels'[0], 'forms'[1]: 'grid' is not a list of three numbers.");
    says(work + "/copies/0/kind", "copy to the moon",
         "e.json, 'work', 'copies'[0]: 'kind' is a word that this qkprof does not know.");
    says("/processes/1", 3, "e.json, 'processes'[1] is not a JSON object.");
    says("/ranges/0/calls", 0, "e.json, 'ranges'[0]: 'calls' is 0.");
    says("/ranges/0/calls", 2, "e.json, 'ranges'[0]: 'first_calls' is not a list of some of its calls.");
    says("/ranges/0/first_calls", Json::array(),
         "e.json, 'ranges'[0]: 'first_calls' is not a list of some of its calls.");
    says("/ranges/0/first_calls/1", 3,
         "e.json, 'ranges'[0]: 'first_calls' is not a list of calls, each of six numbers.");
    says("/ranges/0/first_calls/1/4", "x",
         "e.json, 'ranges'[0]: 'first_calls' is a list with a call whose time is no number from 0.");
    Json file = good;
    file.erase("remarks");
    EXPECT_EQ(refusal(file.dump()), "e.json: 'remarks' is missing.");
}

TEST(ExecProfile, AnyTruncationAndAnyFlippedBitIsReadOrRefused) {
    const std::string good = to_json(sample_exec_profile());
    for (std::size_t length = 1; length + 2 < good.size(); length += 13) {
        ASSERT_THAT(refusal(good.substr(0, length)), testing::HasSubstr("The exec profile e.json is not JSON: line "));
    }
    std::size_t refused = 0;
    for (std::size_t at = 0; at < good.size(); at += 7) {
        std::string changed = good;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        refused += refusal(changed) != "no error" ? 1 : 0;
    }
    EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace qkprof::exec
