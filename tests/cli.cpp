// The program from outside: exit codes, messages, files. On the emulated device, so on any machine.
#include "device.h"
#include "profile.h"
#include "program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace qkprof {
namespace {

class Cli : public Program {
  protected:
    static constexpr const char* small = "run --device emulated --shapes 1x2x2x64 --variants fused_register ";
};

TEST_F(Cli, HelpAndVersion) {
    EXPECT_EQ(qkprof("--help").exit_code, 0);
    EXPECT_NE(qkprof("--help").out.find("list"), std::string::npos);
    EXPECT_NE(qkprof("run --help").out.find("--shapes"), std::string::npos);
    EXPECT_EQ(qkprof("--version").out.rfind("qkprof ", 0), 0U);
}

TEST_F(Cli, BadInputIsOneSentence) {
    const std::string run = "run --device emulated --out x.json ";
    expect_refused("", "Name a command");
    expect_refused("rnu", "There is no command 'rnu'. Did you mean 'run'?");
    expect_refused("--bogus", "There is no command '--bogus'.");
    expect_refused("doctor --device emulated", "The doctor examines a GPU");
    expect_refused("doctor --device cuda:x", "The number of the GPU");
    expect_refused("doctor --format xml", "xml");
    expect_refused("list bogus", "There is no list of 'bogus'.");
    expect_refused("list variants --format yaml", "There is no format 'yaml'.");
    expect_refused(run + "--shape 1x1x1x64", "Did you mean --shapes?");
    expect_refused(run + "--variants fused_regster", "Did you mean 'fused_register'?");
    expect_refused(run + "--variants ''", "has an empty item");
    expect_refused(run + "--shapes 1x2x3", "is malformed at character 6");
    expect_refused(run + "--shapes 1x-2x3x64", "the sequence is negative");
    expect_refused(run + "--shapes 1x1x1x63", "head_dim is 63");
    expect_refused(run + "--shapes 99999x99999x99999x128", "more than 2147483647 head vectors");
    expect_refused(run + "--shapes resdient", "Did you mean 'resident'?");
    expect_refused(run + "--shapes 2000000x1024x1x2048", "GiB free");
    expect_refused(run + "--context 2147483647", "GiB free: choose a smaller context.");
    expect_refused(run + "--dtypes f8", "there is no 'f8'");
    expect_refused(run + "--states hot", "there is no 'hot'");
    expect_refused("run --device tpu", "There is no device 'tpu'");
    expect_refused("run --device cuda:x", "not a whole number");
    expect_refused(run + "--metrics dram__bytes_read.sum", "the emulated device has none");
    expect_refused(run + "--metrics a,,b", "--metrics 'a,,b' has an empty item");
    expect_refused(run + "--sweep threads", "not of the form");
    expect_refused(run + "--sweep threads=7 --variants fused_register", "its values are 64, 128, 256, 512");
    expect_refused(run + "--sweep bogus=7", "None of the chosen variants has a parameter 'bogus'");
    expect_refused(run + "--samples 0", "out of range");
    expect_refused(run + "--samples many", "not a whole number");
    expect_refused(run + "--eps -1", "--eps '-1' is not a number");
    expect_refused(run + "--eps nan", "--eps 'nan' is not a number");
    expect_refused(run + "--rotary-base 0", "--rotary-base '0'");
    expect_refused(run + "--offset -1", "out of range");
    expect_refused(run + "--emulated-l2 big", "is not a size");
    expect_refused("list models --format yaml", "There is no format 'yaml'.");
    expect_refused(run + "--emulated-l2 1", "is not between 64K and 1G");
    expect_refused(run + "--eps 1e39", "is over 1000");
    expect_refused(run + "--benchmark_filter=copy", "the emulated device has no clock");
    expect_refused(run + "--shapes ''", "an empty value says nothing");
    expect_refused(run + "--metrics ''", "an empty value says nothing");
    expect_refused("run --device emulated --out ''", "an empty value says nothing");
    expect_refused(run + "--format yaml", "There is no format 'yaml'.");
    expect_refused(run + "--benchmark_out=y.json", "use --out FILE");
    expect_refused(run + "extra", "'extra' is not expected");
    expect_refused("run --device emulated --out no/such/folder/x.json", "cannot be written");
    expect_refused("run --device emulated --out .", "it is a folder");
    expect_refused("run --device emulated --out /dev/stdout", "--out /dev/stdout: standard output goes there");
    expect_refused("run --device emulated --out /dev/stderr", "--out /dev/stderr: standard error goes there");
}

TEST_F(Cli, AWrongWordAboutTheProblemIsOneSentence) {
    const std::string run = "run --device emulated --out x.json --shapes 1x6x2x64 ";
    expect_refused(run + "--layout striped", "--layout: there is no 'striped'; there are separate and packed.");
    expect_refused(run + "--row-padding -1", "--row-padding -1 is out of range");
    expect_refused(run + "--row-padding few", "--row-padding 'few' is not a whole number");
    expect_refused(run + "--pairing thirds", "there is no 'thirds'; there are half-split and interleaved.");
    expect_refused(run + "--rotary-dim 0", "--rotary-dim 0 is out of range");
    expect_refused(run + "--rotary-dim 33", "'1x6x2x64 rotary:33 f32' cannot be run: the rotary dim is 33");
    expect_refused(run + "--rotary-dim 66", "at most the head_dim, 64");
    expect_refused(run + "--positions int16", "there is no 'int16'; there are implicit, int32 and int64.");
    expect_refused(run + "--positions int32:sorted",
                   "no order 'sorted'; there are ordered, reversed, scattered, repeated");
    expect_refused(run + "--positions int32:listed", "there is no order 'listed'");
    expect_refused(run + "--positions implicit:reversed", "implicit positions are those in the sequence");
    expect_refused(run + "--positions ''", "an empty value says nothing");
    expect_refused(run + "--context 0", "--context 0 is out of range");
    expect_refused(run + "--context 5", "the tables have 5 positions (the context) and the sequence 6.");
    expect_refused(run + "--table-dtype f8", "there is no 'f8'; there are f32, storage (that of q), bf16 and f16.");
    expect_refused(run + "--table-dtype bf16", "'1x6x2x64 tables:bf16 f32' cannot be run: tables and gamma are in f32");
    expect_refused(run + "--gamma-dtype f16 --dtypes f16,bf16", "gamma:f16 bf16' cannot be run");
    expect_refused(run + "--values big", "there are normal, zeros, largest, smallest and not-finite.");
    expect_refused(run + "--gemma=-1", "--gemma: it takes no value, and '-1' is given.");
    expect_refused(run + "--gemma=2", "--gemma: it takes no value, and '2' is given.");
    expect_refused(run + "--in-place=maybe", "--in-place: it takes no value, and 'maybe' is given.");
    expect_refused(run + "--levels=false", "--levels: it takes no value, and 'false' is given.");
    expect_refused(run + "--layout packed --layout packed", "--layout is given twice: give it once");
    expect_refused(run + "--variants copy --variants fused_register --variants copy",
                   "--variants is given 3 times: give it once, a list with commas.");
    expect_refused(run + "--sweep a=1 --sweep b=2 --gemma=2", "--gemma: it takes no value");
    expect_refused(run + "--in-plce", "Did you mean --in-place?");
    expect_refused(run + "--eps ''", "an empty value says nothing");
    expect_refused("run --device emulated --shapes model:qwen3-9b", "Did you mean 'model:qwen3-");
    expect_refused("run --device emulated --shapes 1x2x3+x64", "at character 7: the number of key heads");
    expect_refused(
        "run --device emulated --context 40960 --shapes 1x64x32+8x128,model:qwen3-8b/decode",
        "1x64x32+8x128 context:40960 f32 twice, with eps 1e-06 and rotary base 10000 and with 1e-06 and 1000000");
    expect_refused("trace --device emulated --layout striped", "there is no 'striped'");
}

TEST_F(Cli, PositionsAreReadFromAFile) {
    const fs::path file = fs::temp_directory_path() / ("qkprof-positions-" + std::to_string(getpid()));
    const auto write = [&](const std::string& text) { std::ofstream(file) << text; };
    const std::string run = "run --device emulated --shapes 1x6x2x64 --positions int32:@" + file.string() + " ";
    const auto refused = [&](const std::string& text, const std::string& sentence) {
        write(text);
        expect_refused(run, sentence);
    };
    refused("", "holds no position");
    refused(" ,\n", "holds no position");
    refused("0 1 2\n3 four 5", ", line 2: the position 'four' is not a whole number.");
    refused("0 1 2\n\n3 4 5.5", ", line 3: the position '5.5' is not a whole number.");
    refused("0 1 2 3 4 99999999999999999999", ", line 1: the position 99999999999999999999 is out of range");
    refused(std::string("0 1\0 2", 6), R"(, line 1: the position '1\x00' is not a whole number.)");
    refused("0 \x1b[31m\xff", R"(, line 1: the position '\x1b[31m\xff' is not a whole number.)");
    refused(std::string(50, '0') + "5", ", line 1: the position '" + std::string(40, '0') + "...' is not a whole");
    refused("0 1 2 3 4", "there are 5 position ids for 6 tokens.");
    refused("0 1 2 3 4 6", "the position of token 5 is 6, and the tables have rows for 0 to 5");
    refused("0 -1 2 3 4 5", "the position of token 1 is -1");
    write(std::string(100, '0'));
    fs::resize_file(file, (std::uintmax_t{1} << 28U) + 1);
    expect_refused(run, "has 268435457 bytes and a list of positions at most 268435456: it is not read.");
    fs::remove(file);
    expect_refused(run, "There is no list of positions " + file.string());
    expect_refused("run --device emulated --positions int32:@/tmp",
                   "/tmp is not a file, as a list of positions must be.");
    write("5,4\t3\r\n2, 1\n\n0\n");
    const Result r = qkprof(run + "--variants copy --format csv");
    EXPECT_NE(r.out.find("\ncopy/1x6x2x64/positions:int32-listed-"), std::string::npos) << r.out << r.err;
    fs::remove(file);
}

TEST_F(Cli, AnOptionWinsOverAModelAndAModelOverTheStandard) {
    const auto first = [&](const std::string& options) {
        const Result r =
            qkprof("run --device emulated --variants copy --shapes model:glm-4.5/decode --format json " + options);
        const Profile profile = parse_profile(r.out, "stdout");
        EXPECT_EQ(profile.measurements.size(), 8U) << r.err;
        return profile.measurements.at(0).problem;
    };
    const Problem as_it_is = first("");
    EXPECT_EQ(as_it_is.text(' '), "1x1x96+8x128 rotary:64 context:131072");
    EXPECT_EQ(as_it_is.eps, 1e-5F);
    EXPECT_EQ(as_it_is.rotary_base, 1e6);
    EXPECT_EQ(first("--eps 1e-6").eps, 1e-6F);  // the standard, and yet said
    EXPECT_EQ(first("--rotary-base 10000").rotary_base, 1e4);
    EXPECT_EQ(first("--rotary-dim 128").text(' '), "1x1x96+8x128 context:131072");
    EXPECT_EQ(first("--context 256 --pairing interleaved --gemma").text(' '),
              "1x1x96+8x128 interleaved rotary:64 context:256 gemma");
}

TEST_F(Cli, AnOptionWinsOverAPreset) {
    const auto names = [&](const std::string& options) {
        return qkprof("run --device emulated --variants copy --states warm --shapes gate --format csv " + options).out;
    };
    const std::string as_it_is = names("");
    EXPECT_NE(as_it_is.find("\ncopy/1x9x3x80/packed/in-place/f32/warm,"), std::string::npos) << as_it_is;
    EXPECT_NE(as_it_is.find("/positions:int32-repeated/f32/warm,"), std::string::npos) << as_it_is;
    const std::string separate =
        names("--layout separate --positions implicit --seed 2");  // the standard, and yet said
    EXPECT_EQ(separate.find("packed"), std::string::npos) << separate;
    EXPECT_EQ(separate.find("positions"), std::string::npos) << separate;
    EXPECT_NE(separate.find("\ncopy/1x9x3x80/in-place/f32/warm,"), std::string::npos) << separate;
}

TEST_F(Cli, APresetWithOptionsIsListedALineAProblem) {
    const std::string table = qkprof("list shapes").out;
    EXPECT_NE(table.find("\n           1x9x3x80 --layout packed --in-place\n"), std::string::npos) << table;
    const std::string csv = qkprof("list shapes --format csv").out;
    EXPECT_NE(csv.find("\ngate,1x9x3x80 --layout packed --in-place,"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nprefill,\"1x1024x16x128,1x8192x16x128\","), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nresident,1xSx16x128,"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\nsweep,BxSx16x128,"), std::string::npos) << csv;
}

TEST_F(Cli, TheModelsAreListedWithWhereTheirTokensStand) {
    const Result r = qkprof("list models");
    EXPECT_NE(r.out.find("at the positions 0, 1, 2"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("--positions int64:scattered"), std::string::npos) << r.out;
    expect_refused("run --device emulated --shapes model:qwen3-8b/decode --context 10",
                   "'1x64x32+8x128 context:10 f32' cannot be run: the tables have 10 positions");
}

TEST_F(Cli, AProblemIsTheSameHoweverItIsSaid) {
    const Result r = qkprof(
        "run --device emulated --variants copy --states warm --shapes 1x8x2x64,1x8x2+0x64,1x4x2x64 --rotary-dim 64 "
        "--context 8 "
        "--positions implicit --layout separate --format csv");
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 3) << r.out;
    EXPECT_NE(r.out.find("\ncopy/1x8x2x64/f32/warm,"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\ncopy/1x4x2x64/context:8/f32/warm,"), std::string::npos) << r.out;
    const Result json = qkprof(
        "run --device emulated --variants copy --states warm --shapes 1x8x2x64 --rotary-dim 64 --context 8 --format "
        "json");
    EXPECT_TRUE(parse_profile(json.out, "stdout").measurements.at(0).problem ==
                (Problem{.batch = 1, .sequence = 8, .heads = 2, .head_dim = 64}));
}

TEST_F(Cli, StorageIsTheTypeOfEachProblem) {
    const Result r = qkprof(
        "run --device emulated --variants copy --shapes 1x2x2x64 --dtypes f32,bf16,f16 --table-dtype storage "
        "--gamma-dtype "
        "storage --states warm --format csv");
    EXPECT_NE(r.out.find("\ncopy/1x2x2x64/f32/warm"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\ncopy/1x2x2x64/tables:bf16/gamma:bf16/bf16/warm"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\ncopy/1x2x2x64/tables:f16/gamma:f16/f16/warm"), std::string::npos) << r.out;
}

TEST_F(Cli, EpsMayBeZero) { EXPECT_EQ(qkprof(std::string(small) + "--eps 0").exit_code, 0); }

TEST_F(Cli, TheVariantsAreListedWithWhatTheyDo) {
    const std::string text = qkprof("list variants").out;
    const std::size_t table = text.find("what it does");
    ASSERT_NE(table, std::string::npos);
    std::istringstream lines(text.substr(table));
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 120U) << line;
    }
    EXPECT_NE(qkprof("list variants --format csv").out.find(",key heads,packed,padding,in place,positions,"),
              std::string::npos);
    EXPECT_NE(qkprof("list variants --format json").out.find("\"narrow gamma\": "), std::string::npos);
    EXPECT_NE(qkprof("list variants --format markdown").out.find("| what it does | keys | packed |"),
              std::string::npos);
    EXPECT_NE(qkprof("list models --format csv").out.find("config.json of Qwen/Qwen3-8B"), std::string::npos);
}

TEST_F(Cli, ARunOnTheEmulatedDevicePassesAndKeepsAProfile) {
    const Result r = qkprof(std::string(small) + "--dtypes f32,bf16 --out p.json");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_NE(r.out.find("1x2x2x64 bf16"), std::string::npos);
    const Profile profile = read_profile(folder_ / "p.json");
    EXPECT_TRUE(profile.environment.complete);
    ASSERT_EQ(profile.measurements.size(), 4U);
    EXPECT_EQ(profile.measurements[3].name(), "fused_register/1x2x2x64/bf16/warm");
    EXPECT_EQ(profile.measurements[3].counters.at("launches").value, 1.0);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Cli, TheEmulatedDeviceCountsTheSameOnEveryRun) {
    const auto counts = [&] { return qkprof(std::string(small) + "--format csv").out; };
    const std::string first = counts();
    EXPECT_GT(first.size(), 100U);
    EXPECT_EQ(counts(), first);
}

TEST_F(Cli, AStandardErrorThatCannotBeWrittenEndsNothing) {
    const std::string command =
        "cd " + folder_.string() + " && " QKPROF_PROGRAM " " + small + " --progress >o 2>/dev/full";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_NE(content(folder_ / "o").find("fused_register"), std::string::npos);
}

// A limit on the size of files that the table passes and the profile does not.
TEST_F(Cli, AFileThatCannotBeWrittenLosesNoResults) {
    const std::string command = "cd " + folder_.string() + " && (trap '' XFSZ; ulimit -f 2; exec " QKPROF_PROGRAM " " +
                                small + " --out p.json) >o 2>e";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 4);
    EXPECT_NE(content(folder_ / "o").find("fused_register"), std::string::npos);
    EXPECT_NE(content(folder_ / "e").find("p.json could not be written"), std::string::npos);
}

TEST_F(Cli, EveryFormatIsPrinted) {
    EXPECT_EQ(qkprof(std::string(small) + "--format csv").out.rfind("name,variant,", 0), 0U);
    EXPECT_EQ(qkprof(std::string(small) + "--format markdown").out.rfind("**1x2x2x64 f32", 0), 0U);
    const Result json = qkprof(std::string(small) + "--format json");
    EXPECT_EQ(parse_profile(json.out, "stdout").measurements.size(), 2U);
    for (const char* what : {"variants", "shapes", "models", "metrics", "devices"}) {
        for (const char* format : {"table", "csv", "json", "markdown"}) {
            const Result r = qkprof(std::string("list ") + what + " --format " + format);
            EXPECT_EQ(r.exit_code, 0) << what << format;
            EXPECT_GT(r.out.size(), 20U) << what << format;
        }
    }
}

TEST_F(Cli, ALongHeadingIsWrappedAtWords) {
    const std::string run =
        "run --device emulated --shapes 1x8x2+1x64 --dtypes bf16 --variants copy --layout packed --row-padding 16 "
        "--in-place --pairing interleaved --rotary-dim 32 --positions int64:scattered --context 4096 "
        "--table-dtype storage --gamma-dtype storage --gemma --values largest --levels";
    std::istringstream lines(qkprof(run).out);
    std::string line;
    std::size_t indented = 0;
    while (std::getline(lines, line)) {
        EXPECT_LE(line.size(), 120U) << line;
        indented += line.starts_with("  ") ? 1 : 0;
    }
    EXPECT_EQ(indented, 2U);
    EXPECT_NE(qkprof(run + " --format markdown").out.find("gemma, values largest**\n"), std::string::npos);
}

TEST_F(Cli, LevelsAreASecondTable) {
    EXPECT_EQ(qkprof(small).out.find("against the floor"), std::string::npos);
    for (const char* format : {"table", "markdown"}) {
        const Result r = qkprof(std::string(small) + "--levels --format " + format);
        EXPECT_EQ(r.exit_code, 0) << r.err;
        EXPECT_NE(r.out.find("1x2x2x64 f32 against the floor"), std::string::npos) << r.out;
    }
    const Result json = qkprof(std::string(small) + "--levels --format json");
    EXPECT_EQ(parse_profile(json.out, "stdout").measurements.size(), 2U);
}

TEST_F(Cli, TheTimingsAreAFurtherTableAndInTheProfile) {
    const std::string heading = "where the wall time went";
    EXPECT_EQ(qkprof(std::string(small) + "--out p.json").out.find(heading), std::string::npos);
    EXPECT_TRUE(read_profile(folder_ / "p.json").environment.timings.empty());
    for (const char* format : {"table", "markdown", "csv", "json"}) {
        SCOPED_TRACE(format);
        const bool for_programs = format == std::string("csv") || format == std::string("json");
        const Result r = qkprof(std::string(small) + "--timings --out p.json --format " + format);
        EXPECT_EQ(r.exit_code, 0) << r.err;
        const std::string& said = for_programs ? r.err : r.out;
        EXPECT_LT(said.find(heading), said.find("verification"));
        EXPECT_LT(said.find("writing the profile"), said.find("other"));
        EXPECT_EQ(said.find("noise"), std::string::npos);
        EXPECT_EQ((for_programs ? r.out : r.err).find(heading), std::string::npos);
    }
    const std::vector<StepTime> timings = read_profile(folder_ / "p.json").environment.timings;
    ASSERT_GE(timings.size(), 7U);
    EXPECT_EQ(timings.front().step, Step::start);
    EXPECT_EQ(timings.back().step, Step::other);
    EXPECT_EQ(timings[3], (StepTime{Step::verification, timings[3].seconds, 1}));
    EXPECT_GT(timings[3].seconds, 0);
    EXPECT_EQ(parse_profile(qkprof(std::string(small) + "--timings --format json").out, "stdout")
                  .environment.timings.at(4)
                  .step,
              Step::counting);
}

TEST_F(Cli, NothingIsSaidOnStandardErrorUnlessAsked) {
    EXPECT_EQ(qkprof(small).err, "");
    EXPECT_NE(qkprof(std::string(small) + "--progress").err.find("fused_register, verify"), std::string::npos);
}

TEST_F(Cli, NothingButRefusalsIsInconclusive) {
    const Result r = qkprof("run --device emulated --shapes 1x1x1x100 --variants fused_register");
    EXPECT_EQ(r.exit_code, 3);
    EXPECT_NE(r.err.find("Nothing was measured"), std::string::npos) << r.err;
    EXPECT_NE(r.out.find("refused: head_dim 100 is not"), std::string::npos) << r.out;
    const Result beside_copy =
        qkprof("run --device emulated --shapes 1x4x2+1x64 --row-padding 1 --variants copy,fused_register_paired");
    EXPECT_EQ(beside_copy.exit_code, 3);
    EXPECT_EQ(beside_copy.err,
              "qkprof: Only the ceiling was measured: every other chosen variant refused every problem.\n");
    EXPECT_NE(beside_copy.out.find("copy (ceiling)"), std::string::npos) << beside_copy.out;
}

TEST_F(Cli, AnEmptyProblemPasses) {
    EXPECT_EQ(qkprof("run --device emulated --shapes 0x4x2x64,2x0x2x64,2x4x0x64 --variants fused_register").exit_code,
              0);
}

TEST_F(Cli, TheDoctorSaysWhatCanBeDoneWithoutAGpu) {
    if (!discover_gpus().gpus.empty()) {
        GTEST_SKIP() << "this machine has a GPU: gpu_doctor examines it";
    }
    for (const char* format : {"table", "markdown", "csv", "json"}) {
        const Result r = qkprof(std::string("doctor --format ") + format);
        EXPECT_EQ(r.exit_code, 4) << format;
        EXPECT_NE((r.out + r.err).find("cuda:0 cannot be opened: "), std::string::npos) << r.out << r.err;
        EXPECT_NE((r.out + r.err).find("qkprof run --device emulated"), std::string::npos) << r.out << r.err;
    }
    EXPECT_EQ(qkprof("doctor --device cuda:7").exit_code, 4);
}

TEST_F(Cli, ATraceNeedsAGpu) {
    const Result r = qkprof("trace --device emulated --shapes 1x2x2x64");
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err.rfind("qkprof: There is nothing to trace on the emulated device", 0), 0U) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_EQ(qkprof("trace --device cuda:1000").exit_code, 4);
    EXPECT_NE(qkprof("trace --help").out.find("--sweep"), std::string::npos);
}

TEST_F(Cli, TheNoiseOfTimesNeedsAClock) {
    for (const char* aa : {"--aa", "--aa 2", "--aa=2"}) {
        const Result r = qkprof(std::string(small) + aa);
        EXPECT_EQ(r.exit_code, 4);
        EXPECT_EQ(r.err,
                  "qkprof: --aa measures the noise of times, and the emulated device has no clock: leave it out.\n");
    }
    expect_refused(std::string(small) + "--aa 0", "--aa 0 is out of range");
    expect_refused(std::string(small) + "--aa many", "--aa 'many' is not a whole number.");
}

TEST_F(Cli, ATraceOfWhatANameCannotTellIsBadInput) {
    const std::string trace = "trace --device emulated --variants fused_register ";
    expect_refused(trace + "--shapes 1x2x2x64,1x4x2x64", "these are 2: 1x2x2x64 f32 and 1x4x2x64 f32.");
    expect_refused(trace + "--sweep threads=64,128", "sweep one value at a time");
    expect_refused(trace + "--variant copy", "Did you mean --variants?");
    expect_refused(trace + "--samples 3", "qkprof trace has no option --samples");
    expect_refused(trace + "--dtypes f8", "there is no 'f8'");
}

class Interrupted : public Cli, public testing::WithParamInterface<int> {
  protected:
    // The exit code of a run that gets the signal once one variant is verified.
    int exit_code_after(int signal, void (*disposition)(int), const char* shape) const {
        const pid_t child = fork();
        if (child == 0) {
            std::signal(signal, disposition);
            if (std::freopen((folder_ / "log").c_str(), "w", stdout) == nullptr || dup2(1, 2) < 0) {
                _exit(99);
            }
            execl(QKPROF_PROGRAM, "qkprof", "run", "--device", "emulated", "--shapes", shape, "--out",
                  (folder_ / "p.json").c_str(), "--progress", static_cast<char*>(nullptr));
            _exit(99);
        }
        while (content(folder_ / "log").find("count") == std::string::npos) {
            usleep(20000);
        }
        kill(child, signal);
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
};

TEST_P(Interrupted, OnceLeavesAValidProfile) {
    EXPECT_EQ(exit_code_after(GetParam(), SIG_DFL, "64x256x16x128"), 3) << content(folder_ / "log");
    const Profile profile = read_profile(folder_ / "p.json");
    EXPECT_FALSE(profile.environment.complete);
    EXPECT_GE(profile.measurements.size(), 1U);
    EXPECT_NE(content(folder_ / "log").find("interrupted: this is what was measured until then"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, testing::Values(SIGINT, SIGTERM, SIGHUP));

class HungUp : public Interrupted {};

TEST_P(HungUp, UnderNohupEndsNothing) {
    EXPECT_EQ(exit_code_after(GetParam(), SIG_IGN, "4x128x8x128"), 0) << content(folder_ / "log");
    EXPECT_TRUE(read_profile(folder_ / "p.json").environment.complete);
}

INSTANTIATE_TEST_SUITE_P(Signals, HungUp, testing::Values(SIGHUP));

TEST_F(Cli, AStandardOutputThatCannotBeWrittenLosesNoFile) {
    EXPECT_EQ(qkprof(std::string(small) + "--out p.json >/dev/full; exit $?").exit_code, 4);
    EXPECT_TRUE(read_profile(folder_ / "p.json").environment.complete);
}

}  // namespace
}  // namespace qkprof
