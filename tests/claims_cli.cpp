// qkprof claims from outside: on the emulated device, on the recorded profiles of an H200, and its exit codes.
#include "profile.h"
#include "program.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

namespace qkprof {
namespace {

using testing::HasSubstr;

constexpr const char* recorded = QKPROF_PROFILES_FOLDER "/h200/seed_resident.json";

class ClaimsCli : public Program {
  protected:
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
};

// A claim on the recorded profile, with what it asks for.
std::string claim(const std::string& id, const std::string& relation) {
    return "[[claim]]\nid = '" + id +
           "'\nstatement = 's'\nsource = 'o'\nsubjects = 'fused_*'\nmeasure = 'launches'\n"
           "relation = '" +
           relation + "'\n[claim.control]\nsubjects = 'naive_*'\n";
}

std::map<std::string, std::string> verdicts_of(const std::string& json) {
    std::map<std::string, std::string> verdicts;
    const auto object = nlohmann::json::parse(json);
    for (const auto& item : object.at("claims")) {
        verdicts[item.at("id")] = item.at("verdict");
    }
    return verdicts;
}

TEST_F(ClaimsCli, OnTheEmulatedDeviceCountsAreJudgedAndTimesAreNot) {
    const Result r = qkprof("claims --device emulated --format json --out x.json");
    EXPECT_EQ(r.exit_code, 3) << r.err;
    const auto verdicts = verdicts_of(r.out);
    EXPECT_GE(verdicts.size(), 12U);
    for (const auto& [id, verdict] : verdicts) {
        const bool counted = id == "one_launch" || id == "best_uses_no_shared_memory";
        EXPECT_EQ(verdict, counted ? "supported" : "undecided") << id;
    }
    EXPECT_THAT(r.out, HasSubstr("real_time[fused_register_paired]: the emulated device has no clock"));
    EXPECT_THAT(r.out, HasSubstr("local_bytes: the device does not count it"));
    EXPECT_THAT(r.out, HasSubstr("l2_write_sectors: it is modelled, not counted, and says nothing about hardware"));
    // The profile that it keeps is judged alike.
    const Result again = qkprof("claims --format json --profile x.json");
    EXPECT_EQ(again.exit_code, 3);
    EXPECT_EQ(again.out, r.out);
}

TEST_F(ClaimsCli, AVariantWithAParameterIsMeasuredWhereAClaimNamesIt) {
    const auto names = [&](const std::string& arguments) {
        const Result r =
            qkprof("claims --device emulated --shapes 1x4x4x128 --dtypes f32 --states warm --out x.json " + arguments);
        EXPECT_NE(r.exit_code, 2) << r.err;
        std::vector<std::string> found;
        for (const Measurement& m : read_profile((folder_ / "x.json").string()).measurements) {
            found.push_back(m.name());
        }
        return found;
    };
    const std::string named = "fused_best/1x4x4x128/f32/warm/programmatic:0";
    EXPECT_THAT(names("--only programmatic_launch_hides_the_launch"), testing::Contains(named));
    EXPECT_THAT(names("--only one_launch"), testing::Not(testing::Contains(named)));
    EXPECT_THAT(names("--only programmatic_launch_hides_the_launch --variants copy"),
                testing::ElementsAre("copy/1x4x4x128/f32/warm"));
}

// The verdicts of the run that recorded it: 16 sizes in 3 types and 5 packed ones, 14 variants, both states, 30
// samples.
TEST_F(ClaimsCli, TheClaimsRunOfAnH200IsJudgedAsItWasThen) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const std::string only =
        "--only one_launch,no_intermediate_in_l2,shared_tables_gain_nothing,best_spills_nothing";  // all might take
                                                                                                   // minutes
#else
    const std::string only;
#endif
    const Result r = qkprof("claims --format json " + only + " --profile " QKPROF_PROFILES_FOLDER "/h200/claims.json");
    EXPECT_EQ(r.exit_code, 1) << r.err;
    EXPECT_EQ(r.err.find("10 claims are about frameworks, of which nothing was measured here") != std::string::npos,
              only.empty());
    std::map<std::string, std::string> recorded_verdicts = {{"one_launch", "supported"},
                                                            {"no_intermediate_in_dram", "supported"},
                                                            {"no_intermediate_is_written", "supported"},
                                                            {"streaming_hints_keep_the_tables", "supported"},
                                                            {"small_is_launch_bound_warm", "supported"},
                                                            {"small_is_launch_bound_cold", "supported"},
                                                            {"graph_removes_the_gap", "supported"},
                                                            {"graph_keeps_the_launches", "supported"},
                                                            {"no_intermediate_in_l2", "refuted"},
                                                            {"speed_up_is_the_ratio_of_bytes", "refuted"},
                                                            {"shared_tables_gain_nothing", "refuted"},
                                                            {"shared_head_vectors_gain_nothing", "refuted"},
                                                            {"persistence_gains_nothing", "refuted"},
                                                            {"fused_reaches_the_copy", "refuted"},
                                                            {"intermediates_predict_the_time", "refuted"},
                                                            {"rotation_is_free_where_dram_binds", "undecided"}};
    for (const char* of_best :
         {"best_streams_as_fast_as_the_copy", "best_is_as_fast_as_the_copy_in_the_l2",
          "best_is_as_fast_as_the_copy_at_4_mib", "best_takes_no_longer_than_the_copy_to_decode",
          "best_beats_the_copy_at_64_kib", "programmatic_launch_hides_the_launch",
          "best_is_never_slower_than_a_warp_a_head_vector", "best_uses_no_shared_memory", "best_spills_nothing",
          "best_is_at_the_floor_of_the_dram", "packed_best_streams_as_fast_as_the_copy",
          "packed_best_is_as_fast_as_the_copy_in_the_l2", "packed_best_takes_no_longer_than_the_copy_to_decode",
          "packed_best_beats_the_copy_at_one_token"}) {
        recorded_verdicts[of_best] = "supported";
    }
    std::erase_if(recorded_verdicts,
                  [&](const auto& v) { return !only.empty() && only.find(v.first) == std::string::npos; });
    EXPECT_EQ(verdicts_of(r.out), recorded_verdicts);
}

TEST_F(ClaimsCli, TheRecordedProfileOfAnH200) {
    const Result r = qkprof(std::string("claims --format json --profile ") + recorded);
    EXPECT_EQ(r.exit_code, 1) << r.err;
    auto verdicts = verdicts_of(r.out);
    EXPECT_EQ(verdicts["one_launch"], "supported");
    EXPECT_EQ(verdicts["no_intermediate_in_dram"], "supported");
    EXPECT_EQ(verdicts["no_intermediate_in_l2"], "supported");
    EXPECT_EQ(verdicts["no_intermediate_is_written"], "supported");
    EXPECT_EQ(verdicts["streaming_hints_keep_the_tables"], "supported");
    EXPECT_EQ(verdicts["rotation_is_free_where_dram_binds"], "supported");
    EXPECT_EQ(verdicts["shared_tables_gain_nothing"], "refuted");
    EXPECT_EQ(verdicts["shared_head_vectors_gain_nothing"], "refuted");
    EXPECT_EQ(verdicts["intermediates_predict_the_time"], "refuted");
    EXPECT_EQ(verdicts["fused_reaches_the_copy"], "undecided");
    EXPECT_THAT(r.out, HasSubstr("the interval reaches over the limit; about "));
    const Result text = qkprof(std::string("claims --only one_launch --profile ") + recorded);
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr("one_launch: supported. A fusion is exactly one kernel launch."));
    EXPECT_THAT(text.out, HasSubstr("control  naive_primitives       bites        8  14"));
    std::istringstream lines(text.out);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 120U) << line;  // bytes: here as good as characters
    }
}

TEST_F(ClaimsCli, ProblemsOfALongFormFitATerminal) {
    const std::string profile = QKPROF_PROFILES_FOLDER "/h200/gemma-3-27b_decode.json";
    write("any_form.toml",
          "[[claim]]\nid = 'a'\nstatement = 's'\nsource = 'o'\nsubjects = ['fused_*', 'naive_*']\n"
          "measure = 'real_time[copy] / real_time'\nrelation = '<= 0.6'\n[claim.control]\nsubjects = 'fused_*'\n");
    const Result r = qkprof("claims --claims any_form.toml --profile " + profile);
    EXPECT_THAT(r.out, HasSubstr("  1x1x32+16x128 packed in-place\n"));
    // A name in a sentence has no blanks to break it at.
    write("toothless.toml", claim("a", "from 1 to 14"));
    const Result sentence = qkprof("claims --claims toothless.toml --profile " + profile);
    EXPECT_THAT(sentence.out, HasSubstr("the test has no teeth"));
    std::istringstream lines(r.out + sentence.out);
    for (std::string line; std::getline(lines, line);) {
        const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
        EXPECT_LE(characters, 120) << line;
    }
}

TEST_F(ClaimsCli, ExitCodesFollowTheVerdicts) {
    write("supported.toml", claim("a", "= 1"));
    write("refuted.toml", claim("a", "= 1") + claim("b", "= 2") + claim("c", "from 1 to 14"));
    write("undecided.toml", claim("a", "= 1") + claim("c", "from 1 to 14"));
    const std::string profile = std::string(" --profile ") + recorded;
    EXPECT_EQ(qkprof("claims --claims supported.toml" + profile).exit_code, 0);
    EXPECT_EQ(qkprof("claims --claims refuted.toml" + profile).exit_code, 1);
    const Result r = qkprof("claims --claims undecided.toml" + profile);
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.out, HasSubstr("undecided: the test has no teeth"));
    EXPECT_EQ(qkprof("claims --claims refuted.toml --only a" + profile).exit_code, 0);
    const std::string timings = qkprof("claims --claims refuted.toml --only a --timings --format csv" + profile).err;
    EXPECT_LT(timings.find("reading profiles"), timings.find("judging")) << timings;
    EXPECT_NE(timings.find("where the wall time went"), std::string::npos) << timings;
}

TEST_F(ClaimsCli, AWrongResultIsTheExitCode) {
    Profile profile = read_profile(recorded);
    profile.measurements.at(5).verification.correct = false;
    write("x.json", to_json(profile));
    const Result r = qkprof("claims --only one_launch --profile x.json");
    EXPECT_EQ(r.exit_code, 5);
    EXPECT_THAT(r.err, HasSubstr("wrong result"));
}

TEST_F(ClaimsCli, BadInputIsOneSentence) {
    expect_refused("claims --profile nowhere.json", "There is no profile nowhere.json.");
    expect_refused("claims --claims nowhere.toml", "There is no claims file nowhere.toml.");
    expect_refused("claims --sweep heads=2", "--sweep measures other values of a parameter, and claims are about");
    expect_refused("claims --claims .", ". is not a file, as a claims file must be.");
    expect_refused("claims --claims /dev/zero", "/dev/zero is not a file, as a claims file must be.");
    expect_refused("claims --only one_lunch", "There is no claim 'one_lunch'. Did you mean 'one_launch'?");
    expect_refused("claims --format jsn", "There is no format 'jsn'");
    expect_refused("claims --onyl x", "qkprof claims has no option --onyl. Did you mean --only?");
    const std::string both = std::string("claims --profile ") + recorded;
    expect_refused(both + " --shapes seed", "--shapes says what to measure, and with --profile nothing is measured");
    expect_refused(both + " --benchmark_filter=x", "--benchmark_filter=x says what to measure");
    expect_refused(both + " " + recorded, "twice: give one profile of each measurement");
}

TEST_F(ClaimsCli, AClaimsFileMustBeASmallFile) {
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    write("large.toml", std::string((1 << 20) + 1, ' '));
    for (const auto& [name, sentence] : {std::pair{"fifo", "fifo is not a file, as a claims file must be."},
                                         {"large.toml", "large.toml has 1048577 bytes and a claims file at most "}}) {
        const Result r = qkprof(std::string("claims --claims ") + name);
        EXPECT_EQ(r.exit_code, 2) << name;
        EXPECT_THAT(r.err, HasSubstr(sentence));
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
}

TEST_F(ClaimsCli, AContradictionIsTheExitCode) {
    const Profile good = read_profile(recorded);
    const auto judged = [&](const Profile& profile) {
        write("x.json", to_json(profile));
        return qkprof("claims --only one_launch --profile x.json");
    };
    EXPECT_EQ(judged(good).exit_code, 0);
    Profile recorded_so = good;
    recorded_so.measurements.at(5).contradictions = {"It declares 1 and 2 were counted."};
    const Result said = judged(recorded_so);
    EXPECT_EQ(said.exit_code, 1);
    EXPECT_THAT(said.err, HasSubstr("It declares 1 and 2 were counted."));
    Profile counted_so = good;  // though its list of contradictions is empty
    Measurement& m = counted_so.measurements.at(5);
    m.declaration->load_bytes += 32;
    const Result found = judged(counted_so);
    EXPECT_EQ(found.exit_code, 1);
    EXPECT_THAT(found.err, HasSubstr(m.name() + " declares " + std::to_string(m.declaration->load_bytes)));
    EXPECT_EQ(std::count(found.err.begin(), found.err.end(), '\n'), 1) << found.err;
}

TEST_F(ClaimsCli, AFigureThatIsNotPossibleIsTheExitCode) {
    Profile profile = read_profile(recorded);
    const auto cold = std::find_if(profile.measurements.begin(), profile.measurements.end(),
                                   [](const Measurement& m) { return m.state == CacheState::cold; });
    ASSERT_NE(cold, profile.measurements.end());
    *cold->counters.at("dram_read_bytes").value /= 2;
    write("x.json", to_json(profile));
    const Result r = qkprof("claims --only one_launch --profile x.json");
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.err, HasSubstr(cold->name()));
    EXPECT_THAT(r.err, HasSubstr("what is measured here is not cold."));
}

TEST_F(ClaimsCli, TheFormsOfTheOutput) {
    const std::string judge = std::string("claims --only one_launch --profile ") + recorded + " --format ";
    EXPECT_THAT(qkprof(judge + "csv").out,
                HasSubstr("one_launch,supported,control,naive_primitives/128x1024x16x128/f32/cold,"));
    EXPECT_THAT(qkprof(judge + "markdown").out,
                HasSubstr("| one_launch | supported | 80 | 0 | 0 | bites in 24 of 24 |"));
    EXPECT_THAT(qkprof("list claims").out, HasSubstr("one_launch"));
}

}  // namespace
}  // namespace qkprof
