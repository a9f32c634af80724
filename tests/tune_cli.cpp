// `qkprof tune`, and tuning tables given to other commands, from outside: exit codes, messages, files. Without a GPU.
#include "profile.h"
#include "program.h"

#include <gmock/gmock.h>

namespace qkprof {
namespace {

using testing::HasSubstr;

class TuneCli : public Program {
  protected:
    fs::path write(const std::string& name, const std::string& text) const {
        fs::path path = folder_ / name;
        std::ofstream(path) << text;
        return path;
    }
    // The built-in table of a device that there is not.
    static std::string table() {
        std::string text = content(fs::path(QKPROF_PROFILES_FOLDER) / "h200" / "tuning.toml");
        const std::size_t place = text.find("NVIDIA H200");
        return text.replace(place, std::string("NVIDIA H200").size(), "GPU A");
    }
};

TEST_F(TuneCli, BadInputIsOneSentence) {
    expect_refused("tune --variants copy", "None of the chosen variants has a parameter to tune; there are: ");
    expect_refused("tune --sweep blocks=1", "blocks");  // of a variant that is not tuned
    expect_refused("tune --variants fused_bset", "There is no variant 'fused_bset'. Did you mean 'fused_best'?");
    expect_refused("tune --samples 0", "out of range");
    expect_refused("tune --format yaml", "There is no format 'yaml'.");
    expect_refused("tune --shapes 1x2x3", "is malformed");
    expect_refused("tune --sweep heads=3", "fused_best has no heads=3");
    expect_refused("tune --states cold", "qkprof tune has no option --states");
    expect_refused("tune --benchmark_filter=x", "qkprof tune has no option --benchmark_filter");
    expect_refused("tune --out .", "it is a folder");
    expect_refused("tune --out ''", "an empty value says nothing");
    expect_refused("tunee", "Did you mean 'tune'?");
    expect_refused("run --device emulated --tuning nowhere.toml", "nowhere.toml");
    expect_refused("run --device emulated --tuning ''", "an empty value says nothing");
}

TEST_F(TuneCli, WithoutAClockItCannotMeasureAndWritesNothing) {
    const Result r = qkprof("tune --device emulated --out t.toml");
    EXPECT_EQ(r.exit_code, 4);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err,
              "qkprof: Tuning compares times, and the emulated device has no clock: run it on a machine with a "
              "GPU.\n");
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TuneCli, ALauncherStartsNone) {
    const Result r = qkprof("tune --device emulated");
    EXPECT_EQ(r.exit_code, 4);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
    const Result ranked = qkprof("tune --device emulated");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    EXPECT_EQ(ranked.exit_code, 2);
    EXPECT_THAT(ranked.err, HasSubstr("start it once"));
}

TEST_F(TuneCli, AnOutThatIsNoTableStaysAsItIs) {
    for (const char* text : {"", "{}", "device = \"A\"\n[copy]\n"}) {
        const fs::path path = write("t.toml", text);
        const Result r = qkprof("tune --device emulated --out t.toml");
        EXPECT_EQ(r.exit_code, 2) << text;
        EXPECT_THAT(r.err, HasSubstr("t.toml"));
        EXPECT_EQ(content(path), text);
    }
}

TEST_F(TuneCli, PositionsOfAFileCannotBeTabled) {
    write("ids", "0 1 2 3");
    const Result r = qkprof("tune --device emulated --shapes 1x4x2x64 --positions int32:@ids --out t.toml");
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("its positions are from a file"));
    EXPECT_FALSE(fs::exists(folder_ / "t.toml"));
}

TEST_F(TuneCli, ListsWhatIsTuned) {
    const Result variants = qkprof("list variants");
    EXPECT_THAT(variants.out, HasSubstr("[tuned]"));
    const Result tables = qkprof("list tuning --format csv");
    EXPECT_EQ(tables.exit_code, 0);
    EXPECT_THAT(tables.out, HasSubstr("device,variant,problem,parameters,time_us,copy_us,copy_fraction\n"
                                      "NVIDIA H200,fused_best,"));
}

TEST_F(TuneCli, ARunSaysWhatItWasTunedBy) {
    const std::string run = "run --device emulated --variants fused_best --shapes 1x64x16x128 --states warm ";
    EXPECT_THAT(qkprof(run).out,
                HasSubstr("as tuned for 1x64x16x128 f32 on NVIDIA H200 (no table for emulated H100-class GPU)"));
    write("a.toml", table());
    const Result r = qkprof(run + "--tuning a.toml --out p.json");
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("as tuned for 1x64x16x128 f32 on GPU A (no table for emulated H100-class GPU)"));
    const Profile profile = read_profile(folder_ / "p.json");
    for (const Measurement& m : profile.measurements) {
        EXPECT_EQ(m.name(), "fused_best/1x64x16x128/f32/warm");
        EXPECT_EQ(m.tuned_from.value().device, "GPU A");
        EXPECT_TRUE(m.tuned_from.value().own);
    }
}

TEST_F(TuneCli, ADamagedTableIsSaidWithItsPlace) {
    write("a.toml", table() + "\n[fused_bset]\n");
    for (const char* command : {"run", "claims", "trace"}) {
        const Result r = qkprof(std::string(command) + " --device emulated --tuning a.toml");
        EXPECT_EQ(r.exit_code, 2) << command;
        EXPECT_THAT(r.err, HasSubstr("there is no tuned variant 'fused_bset'. Did you mean 'fused_best'?"));
    }
}

}  // namespace
}  // namespace qkprof
