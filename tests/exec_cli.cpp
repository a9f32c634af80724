// qkprof exec from outside, with programs of this machine and a library that tells of work that is made up.
#include "exec/exec_profile.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <thread>

namespace qkprof {
namespace {

using exec::ExecProfile;
using exec::read_exec_profile;
using testing::HasSubstr;
using testing::Not;

class ExecCli : public Program {
  protected:
    ExecCli() {
        setenv("QKPROF_EXEC_LIBRARY", MADE_UP_INJECTION, 1);
        work("calls");
    }
    static void work(const char* chosen) { setenv("MADE_UP_WORK", chosen, 1); }
    Result exec(const std::string& arguments) const { return qkprof("exec " + arguments); }
    ExecProfile profile() const { return read_exec_profile(folder_ / "p.json"); }
};

TEST_F(ExecCli, WhatTheCommandDidIsOnStandardErrorAndItsOutputIsItsOwn) {
    const Result r = exec("--out p.json --trace t.json -- sh -c 'echo out; echo err >&2'");
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_EQ(r.out, "out\n");
    EXPECT_THAT(r.err, HasSubstr("err\n"));
    EXPECT_THAT(r.err, HasSubstr("kernel(float*, int)      6"));
    EXPECT_THAT(r.err, HasSubstr("made-up@step "));
    const ExecProfile kept = profile();
    EXPECT_TRUE(kept.complete);
    EXPECT_EQ(kept.exit_code, 0);
    EXPECT_EQ(kept.command.at(2), "echo out; echo err >&2");
    EXPECT_EQ(kept.work.launches, 6U);
    EXPECT_EQ(kept.ranges.at(0).first_calls.size(), 3U);
    EXPECT_TRUE(kept.processes.at(0).all_sent);
    EXPECT_GT(kept.wall_seconds, 0);
    const auto trace = nlohmann::json::parse(content(folder_ / "t.json"));
    EXPECT_GT(trace.at("traceEvents").size(), 12U);
}

TEST_F(ExecCli, TheExitCodeIsTheCommandsOwn) {
    EXPECT_EQ(exec("-- true").exit_code, 0);
    EXPECT_EQ(exec("-- sh -c 'exit 7'").exit_code, 7);
    EXPECT_EQ(exec("sh -c 'exit 7'").exit_code, 7);
    const Result killed = exec("--out p.json -- sh -c 'kill -9 $$'");
    EXPECT_EQ(killed.exit_code, 128 + 9);
    EXPECT_THAT(killed.err, HasSubstr("qkprof: The command was ended by SIGKILL.\n"));
    EXPECT_EQ(profile().signal, "SIGKILL");
    EXPECT_FALSE(profile().exit_code);
    EXPECT_EQ(exec("--per-call nothing -- sh -c 'exit 7'").exit_code, 7);
}

TEST_F(ExecCli, ACommandThatCannotBeRunIsOneSentence) {
    expect_refused("exec", "and none is given");
    expect_refused("exec --", "and none is given");
    expect_refused("exec -- no-such-program", "The command no-such-program cannot be run: No such file");
    expect_refused("exec -- /tmp", "The command /tmp cannot be run: Permission denied.");
    expect_refused("exec --otu x.json -- true", "qkprof exec has no option --otu. Did you mean --out?");
    expect_refused("exec --top many -- true", "--top 'many' is not a whole number.");
    expect_refused("exec --wait -1 -- true", "--wait -1 is out of range");
    expect_refused("exec --trace-events 0 -- true", "--trace-events 0 is out of range");
    expect_refused("exec --format yaml -- true", "There is no format 'yaml'.");
    expect_refused("exec --out '' -- true", "an empty value says nothing");
    expect_refused("exec --quiet=2 -- true", "it takes no value");
    expect_refused("exec --out no/such/folder/p.json -- touch made", "--out no/such/folder/p.json cannot be written");
    expect_refused("exec --trace . -- touch made", "--trace .: it is a folder");
    expect_refused("exec --show p.json -- true", "leave out one");
    expect_refused("exec --show p.json", "There is no exec profile p.json.");
}

// What stands behind the command, or behind --, is the command's.
TEST_F(ExecCli, TheCommandKeepsItsOptions) {
    EXPECT_EQ(exec("--quiet echo --quiet --top x -- --help").out, "--quiet --top x -- --help\n");
    EXPECT_EQ(exec("--quiet -- echo -- --out y").out, "-- --out y\n");
    EXPECT_EQ(exec("--quiet -- echo run --help").out, "run --help\n");
    EXPECT_EQ(exec("--help").exit_code, 0);
    EXPECT_THAT(exec("--help").out, HasSubstr("--per-call"));
}

TEST_F(ExecCli, WithoutTheLibraryOrBesideAnotherToolNothingIsRun) {
    setenv("QKPROF_EXEC_LIBRARY", "/no/such/library.so", 1);
    Result r = exec("-- touch made");
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_THAT(r.err, HasSubstr("QKPROF_EXEC_LIBRARY is /no/such/library.so, and there is no such library."));
    setenv("QKPROF_EXEC_LIBRARY", MADE_UP_INJECTION, 1);
    setenv("CUDA_INJECTION64_PATH", "/other.so", 1);
    r = exec("-- touch made");
    unsetenv("CUDA_INJECTION64_PATH");
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_THAT(r.err, HasSubstr("CUDA_INJECTION64_PATH is set, to /other.so"));
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ExecCli, TheEnvironmentOfTheCommandNamesTheLibrary) {
#ifdef __SANITIZE_ADDRESS__  // whose own library must be the first
    const std::string others;
#else
    const std::string others = "libm.so.6";
    setenv("LD_PRELOAD", others.c_str(), 1);
#endif
    const std::string out = exec("--quiet -- env").out;
    unsetenv("LD_PRELOAD");
    EXPECT_THAT(out, HasSubstr("CUDA_INJECTION64_PATH=" MADE_UP_INJECTION "\n"));
    EXPECT_THAT(out, HasSubstr("NVTX_INJECTION64_PATH=" MADE_UP_INJECTION "\n"));
    EXPECT_THAT(out, HasSubstr("LD_PRELOAD=" MADE_UP_INJECTION + (others.empty() ? "" : ":" + others) + "\n"));
    EXPECT_THAT(out, HasSubstr("MADE_UP_WORK=calls\n"));
    EXPECT_EQ(out.find("LD_PRELOAD="), out.rfind("LD_PRELOAD="));
}

TEST_F(ExecCli, ACommandWithoutCudaIsSaidToBeThat) {
    work("none");
    const Result r = exec("--out p.json -- sh -c 'exit 3'");
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_THAT(r.err, HasSubstr("qkprof: No process of the command used CUDA.\n"));
    EXPECT_EQ(profile().work.launches, 0U);
    EXPECT_EQ(profile().processes.size(), 1U);
}

TEST_F(ExecCli, EachProcessThatTheCommandStartsIsWatched) {
    const Result r = exec("--out p.json -- sh -c '/bin/true; /bin/true; exit 0'");
    EXPECT_EQ(r.exit_code, 0);
    const ExecProfile kept = profile();
    ASSERT_EQ(kept.processes.size(), 3U);
    EXPECT_EQ(kept.processes[1].parent, kept.processes[0].process);
    EXPECT_EQ(kept.work.launches, 18U);
    EXPECT_EQ(kept.ranges.at(0).calls, 9U);
}

TEST_F(ExecCli, AProcessThatEndsAtOnceIsSaidToLackRecords) {
    if (std::system("/usr/bin/python3 -c '' 2>/dev/null") != 0) {
        GTEST_SKIP() << "no /usr/bin/python3";
    }
    work("killed");
    const Result r = exec("--out p.json --per-call step -- /usr/bin/python3 -c 'import os; os._exit(6)'");
    EXPECT_EQ(r.exit_code, 6);
    EXPECT_THAT(r.err,
                HasSubstr("ended, or was killed, before its last records were sent: what it submitted in its last "
                          "moments may be missing, 2 submission(s)"));
    EXPECT_THAT(r.err, HasSubstr("  0 to 2 launches per call, in 3 calls: 0 in 1, 2 in 2\n"));
    EXPECT_THAT(r.err, HasSubstr("  2 submissions in it got no record"));
    EXPECT_EQ(profile().processes.at(0).without_record, 2U);
    EXPECT_EQ(profile().work.launches, 4U);
}

TEST_F(ExecCli, NonsenseOfALibraryEndsNothingElse) {
    work("nonsense");
    const Result r = exec("--out p.json -- sh -c 'exit 5'");
    EXPECT_EQ(r.exit_code, 5);
    EXPECT_THAT(r.err, HasSubstr("what its library sent was not understood: a message of the unknown kind"));
    EXPECT_THAT(profile().processes.at(0).failure, HasSubstr("not understood"));
}

TEST_F(ExecCli, PerCallSaysWhatOneCallLaunched) {
    Result r = exec("--quiet --per-call 'made-up@st*' -- true");
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_THAT(r.err, HasSubstr("made-up@step\n  2 launches per call, in each of 3 calls\n"));
    r = exec("--quiet --per-call stepp -- true");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("qkprof: --per-call stepp: there was no such range. There were made-up@step.\n"));
    r = exec("--quiet --per-call made-up@stepp -- true");
    EXPECT_THAT(r.err, HasSubstr("Did you mean 'made-up@step'?"));
}

TEST_F(ExecCli, AKeptProfileIsShownOnStandardOutput) {
    (void)exec("--quiet --out p.json -- true");
    Result r = exec("--show p.json");
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_THAT(r.out, HasSubstr("made-up@step "));
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(exec("--show p.json --format json").out, content(folder_ / "p.json"));
    EXPECT_THAT(exec("--show p.json --format csv").out, HasSubstr("\nrange,made-up@step,made-up@step,3,6,0,6,2,2,"));
    EXPECT_THAT(exec("--show p.json --format markdown").out, HasSubstr("| kernel(float*, int) | 6 |"));
    EXPECT_THAT(exec("--show p.json --per-call step").out, HasSubstr("2 launches per call"));
    r = exec("--show p.json --per-call other");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(r.out, "");
    std::string text = content(folder_ / "p.json");
    std::ofstream(folder_ / "p.json") << text.substr(0, text.size() / 2);
    r = exec("--show p.json");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("The exec profile p.json is not JSON: line "));
}

TEST_F(ExecCli, AProcessThatOutlivesTheCommandIsWaitedForAndSaid) {
    work("stays");
    const auto begin = std::chrono::steady_clock::now();
    Result r = exec("--quiet --out p.json --wait 0 -- true");
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
    EXPECT_THAT(r.err, HasSubstr("1 process still ran when this was written"));
    EXPECT_EQ(profile().work.launches, 6U);
    r = exec("--quiet --wait 30 -- true");
    EXPECT_THAT(r.err, Not(HasSubstr("still ran")));
}

// The command gets the signal, and what was seen is kept.
TEST_F(ExecCli, ASignalIsPassedOnAndLosesNothing) {
    const std::string run = "cd " + folder_.string() +
                            " && { " QKPROF_PROGRAM
                            " exec --quiet --out p.json --trace t.json -- sh -c 'trap \"exit 42\" TERM; echo ready "
                            ">started; while :; do sleep 0.05; done' 2>err & own=$!; while [ ! -s started ]; do sleep "
                            "0.05; done; kill -TERM $own; wait $own; }";
    const int status = std::system(run.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 42) << content(folder_ / "err");
    EXPECT_EQ(profile().exit_code, 42);
    EXPECT_GE(profile().work.launches, 6U);
    EXPECT_TRUE(nlohmann::json::accept(content(folder_ / "t.json")));
}

TEST_F(ExecCli, ACommandThatDoesNotEndIsLeftAtTheSecondSignal) {
    const std::string run =
        "cd " + folder_.string() +
        " && { " QKPROF_PROGRAM
        " exec --quiet --out p.json -- sh -c 'trap : TERM; echo $$ >started; i=0; while [ $i -lt 100 ]; do sleep "
        "0.1; i=$((i+1)); done' 2>err & own=$!; while [ ! -s started ]; do sleep 0.05; done; kill -TERM $own; sleep "
        "0.5; kill -TERM $own; wait $own; code=$?; kill -9 $(cat started); exit $code; }";
    const int status = std::system(run.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
    EXPECT_THAT(content(folder_ / "err"), HasSubstr("did not end when it was told to"));
    EXPECT_FALSE(profile().complete);
    EXPECT_GE(profile().work.launches, 6U);
}

}  // namespace
}  // namespace qkprof
