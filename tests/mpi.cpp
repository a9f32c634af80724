// The program as a real mpirun starts it, on the emulated device.
#include "fleet_folder.h"
#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkprof {
namespace {

using testing::HasSubstr;

constexpr const char* small = "--device emulated --shapes 1x4x2x64 --variants fused_register ";

class Mpi : public Program {
  protected:
    void SetUp() override {
        if (std::system("command -v mpirun >/dev/null") != 0) {
            GTEST_SKIP() << "NOT_RUN: there is no mpirun (Debian's openmpi-bin)";
        }
        if (std::system("mpirun --version | grep -q 'Open MPI'") != 0) {
            GTEST_SKIP() << "NOT_RUN: mpirun is not Open MPI's";
        }
    }

    // As `ranks` ranks; what it leaves goes into the folder `out`.
    Result mpirun(int ranks, const std::string& arguments, const std::string& options = "") {
        fs::create_directory(folder_ / "out");
        const std::string command =
            fmt::format("cd {} && mpirun --allow-run-as-root --oversubscribe {} -n {} " QKPROF_PROGRAM
                        " {} >stdout 2>stderr </dev/null",
                        (folder_ / "out").string(), options, ranks, arguments);
        const int status = std::system(command.c_str());
        Result result = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(folder_ / "out/stdout"),
                         content(folder_ / "out/stderr")};
        fs::remove(folder_ / "out/stdout");
        fs::remove(folder_ / "out/stderr");
        return result;
    }

    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
            names.push_back(entry.path().filename().string());
        }
        return names;
    }

    static std::size_t count(const std::string& text, const std::string& what) {
        std::size_t found = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
            ++found;
        }
        return found;
    }
};

TEST_F(Mpi, EachRankKeepsAProfileAndTheFirstPrints) {
    const Result r = mpirun(3, std::string("run ") + small + "--out p.json --benchmark_context=who=me");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(count(r.out, "1x4x2x64 f32"), 1U) << r.out;
    EXPECT_EQ(count(r.out, "\x1b"), 0U) << "colours, and nobody looks";
    EXPECT_EQ(r.err, "");
    EXPECT_THAT(files(), testing::UnorderedElementsAre("p.rank0.json", "p.rank1.json", "p.rank2.json"));
    for (int rank = 0; rank < 3; ++rank) {
        const Profile profile = read_profile(folder_ / fmt::format("out/p.rank{}.json", rank));
        EXPECT_THAT(
            profile.environment.further,
            testing::UnorderedElementsAre(testing::Pair("rank", fmt::format("{}", rank)), testing::Pair("ranks", "3"),
                                          testing::Pair("launcher", "Open MPI"), testing::Pair("who", "me")));
        EXPECT_TRUE(profile.environment.complete);
    }
}

TEST_F(Mpi, TheProfilesAreAFleet) {
    ASSERT_EQ(mpirun(3, std::string("run ") + small + "--out p.json").exit_code, 0);
    const std::vector<FleetMember> members = read_fleet(folder_ / "out");
    const Fleet fleet =
        lay_side_by_side(members,
                         Thresholds(parse_thresholds(embedded_thresholds_toml, "thresholds.toml",
                                                     {"fused_tile_bulk", "fused_table_shared", "fused_tile_shared"})),
                         {});
    ASSERT_EQ(fleet.models.size(), 1U);
    EXPECT_EQ(fleet.models[0].gpus.size(), 3U);
    EXPECT_EQ(fleet.models[0].gpus[2].rank, "2");
    EXPECT_GT(fleet.models[0].gpus[2].counts, 10U);
    EXPECT_EQ(exit_of(fleet, true), Exit::passed);
    const Result r = qkprof("compare --fleet out --strict");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("3 GPUs on 1 host"));
    EXPECT_EQ(r.err, "");
}

TEST_F(Mpi, ClaimsToo) {
    const Result r =
        mpirun(2, "claims --device emulated --shapes 1x4x2x64 --only one_launch --format csv --out c.json");
    EXPECT_EQ(count(r.out, "claim,verdict"), 1U) << r.out << r.err;
    EXPECT_THAT(files(), testing::UnorderedElementsAre("c.rank0.json", "c.rank1.json"));
}

TEST_F(Mpi, OneProcessAloneIsNoRank) {
    EXPECT_EQ(mpirun(1, std::string("run ") + small + "--out p.json").exit_code, 0);
    EXPECT_THAT(files(), testing::ElementsAre("p.json"));
}

TEST_F(Mpi, WithoutAFileEachRankSaysWhatIsWrong) {
    const Result r = mpirun(3, std::string("run ") + small);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, testing::ContainsRegex("qkprof\\[[0-2]\\]: Open MPI started this process as one of 3: each "
                                              "keeps a profile of its own, so name a file with --out"));
    EXPECT_EQ(count(r.err, "qkprof: "), 0U) << r.err;
}

TEST_F(Mpi, WhatIsBeingDoneIsSaidByRank) {
    const Result r = mpirun(2, std::string("run ") + small + "--out p.json --progress");
    EXPECT_THAT(r.err, HasSubstr("qkprof[0]: [1/1] 1x4x2x64 f32: fused_register, verify"));
    EXPECT_THAT(r.err, HasSubstr("qkprof[1]: [1/1] 1x4x2x64 f32: fused_register, verify"));
}

// As the README says it of Open MPI.
TEST_F(Mpi, ARankThatFailsEndsTheOthersUnlessItIsToldOtherwise) {
    fs::create_directories(folder_ / "out/p.rank1.json");  // a folder, so that rank 1 cannot write there
    const std::string run = std::string("run ") + small + "--out p.json";
    const Result ended = mpirun(3, run);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, HasSubstr("qkprof[1]: --out p.rank1.json: it is a folder; name a file."));
    const Result told = mpirun(3, run, "--mca orte_abort_on_non_zero_status 0");
    EXPECT_EQ(told.exit_code, 0);
    EXPECT_THAT(told.err, HasSubstr("qkprof[1]: --out p.rank1.json: it is a folder; name a file."));
    for (const char* file : {"p.rank0.json", "p.rank2.json"}) {
        EXPECT_TRUE(read_profile(folder_ / "out" / file).environment.complete);
    }
}

}  // namespace
}  // namespace qkprof
