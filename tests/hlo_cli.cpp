// qkprof hlo on the command line: files, folders, exit codes.
#include "exec/exec_profile.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace qkprof {
namespace {

using testing::HasSubstr;

class HloCli : public Program {
  protected:
    static std::string data(const std::string& name) { return std::string(QKPROF_TESTS_FOLDER) + "/data/hlo/" + name; }

    // In which the kernel ran so often in one call of the range "call".
    void write_profile(const std::string& kernel, std::uint64_t count, bool complete = true) const {
        exec::ExecProfile profile;
        profile.complete = complete;
        profile.work.kernels.emplace_back();
        profile.work.kernels.back().name = kernel;
        profile.work.kernels.back().count = count;
        profile.work.launches = count;
        exec::RangeRow& range = profile.ranges.emplace_back();
        range.name = "call";
        range.calls = 1;
        range.first_calls.resize(1);
        range.first_calls.front().launches = count;
        range.least_launches = range.most_launches = count;
        range.work = profile.work;
        std::ofstream(folder_ / "p.json") << to_json(profile);
    }
    std::string out(const std::string& arguments) const {
        const Result r = qkprof("hlo " + arguments);
        EXPECT_EQ(r.exit_code, 0) << r.err;
        EXPECT_EQ(r.err, "");
        return r.out;
    }
};

TEST_F(HloCli, PrintsAPromise) {
    EXPECT_THAT(out(data("documents/qk_norm_rope_fusion.hlo")), HasSubstr("8 warps, tile 8x1x16x64"));
    EXPECT_THAT(out(data("documents/qk_norm_rope_fusion.hlo")), HasSubstr("Promises exactly 1 kernel an execution."));
    EXPECT_THAT(out(data("documents/qk_norm_rope_ffi.hlo") + " --format markdown"), HasSubstr("| unknown |"));
    const auto json = nlohmann::json::parse(out(data("h200/loop.hlo") + " --format json"));
    EXPECT_EQ(json["totals"]["libraries"]["least"], 10);
    EXPECT_EQ(json["totals"]["libraries"]["most"], nullptr);
}

TEST_F(HloCli, ComparesWithTheHloBefore) {
    const std::string table = out(data("h200/int8mm.hlo") + " --before " + data("h200/int8mm.before.hlo"));
    EXPECT_THAT(table, HasSubstr("Before optimisation: "));
    EXPECT_THAT(table, HasSubstr("None is left outside of fusions."));
}

TEST_F(HloCli, TheHloBeforeIsOfTheSameModuleAndNotOptimised) {
    expect_refused("hlo " + data("h200/loop.hlo") + " --before " + data("h200/scan.before.hlo"),
                   "holds jit_scan, and the optimised text is of jit_loop");
    expect_refused("hlo " + data("h200/loop.hlo") + " --before " + data("h200/loop.hlo"),
                   "--before is optimised itself");
}

TEST_F(HloCli, ReadsAFolderOfDumps) {
    const std::string table = out(data("h200/dump") + " --module jit_attn");
    EXPECT_THAT(table, HasSubstr("Before optimisation:"));
    EXPECT_THAT(table, HasSubstr("The largest values in temporary memory: gemm_fusion_dot.5"));
    EXPECT_THAT(table, HasSubstr("XLA records 7 commands of what is executed in 1 command buffer"));
    const auto json = nlohmann::json::parse(out(data("h200/dump") + " --module jit_scan --format json"));
    EXPECT_EQ(json["buffers"]["temporaries"], 513);
    expect_refused("hlo " + data("h200/dump"), "choose one with --module GLOB");
    expect_refused("hlo " + data("h200/loop.hlo") + " --module jit_scan",
                   "--module chooses among the modules of a folder");
}

TEST_F(HloCli, ExitCodesOfWhatRan) {
    const std::string file = data("h200/qk_seed.hlo") + " --observed p.json";
    write_profile("fusion_8", 1);
    EXPECT_EQ(qkprof("hlo " + file + " --range call").exit_code, 0);
    EXPECT_EQ(qkprof("hlo " + file).exit_code, 0);
    write_profile("fusion_8", 2);
    const Result twice = qkprof("hlo " + file + " --range call");
    EXPECT_EQ(twice.exit_code, 1);
    EXPECT_THAT(twice.out, HasSubstr("fusion.8: promised 1, ran 2."));
    write_profile("another", 1);
    EXPECT_EQ(qkprof("hlo " + file).exit_code, 3);
    const Result none = qkprof("hlo " + file + " --range nowhere");
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_THAT(none.err, HasSubstr("--range nowhere: there was no such range."));
    write_profile("fusion_8", 1, false);
    const Result cut = qkprof("hlo " + file + " --range call");
    EXPECT_EQ(cut.exit_code, 3);
    EXPECT_THAT(cut.err, HasSubstr("The profile is not complete"));
    EXPECT_THAT(cut.out, HasSubstr("but the profile may hold less than ran"));
}

TEST_F(HloCli, BadInputIsOneSentence) {
    std::ofstream(folder_ / "empty.hlo").close();
    const Result empty = qkprof("hlo empty.hlo");
    EXPECT_EQ(empty.exit_code, 2);
    EXPECT_THAT(empty.err, HasSubstr("qkprof: empty.hlo, line 1: no computation is marked ENTRY"));
    fs::remove(folder_ / "empty.hlo");
    expect_refused("hlo nowhere.hlo", "There is no HLO file nowhere.hlo.");
    expect_refused("hlo /dev/zero", "is not a file, as a HLO file must be.");
    expect_refused("hlo " + data("h200/loop.hlo") + " --buffers " + data("h200/loop.hlo"),
                   "it does not begin with BufferAssignment:");
    expect_refused("hlo " + data("h200/loop.hlo") + " --range call",
                   "--range chooses a range of the profile of --observed");
    expect_refused("hlo " + data("h200/loop.hlo") + " --befor x", "Did you mean --before?");
    expect_refused("hlo", "");
}

}  // namespace
}  // namespace qkprof
