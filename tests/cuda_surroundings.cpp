// What the system's files say of counters and of other profilers: files made up by the test.
#include "cuda/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace qkprof::cuda {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Surroundings : public testing::Test {
  protected:
    Surroundings() {
        std::string pattern = (fs::temp_directory_path() / "qkprof-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~Surroundings() override { fs::remove_all(folder_); }
    fs::path write(const fs::path& name, const std::string& text) const {
        fs::create_directories((folder_ / name).parent_path());
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    fs::path folder_;
};

TEST_F(Surroundings, TheDriverSaysWhoGetsTheCounters) {
    const std::string before = "ResmanDebugLevel: 4294967295\nRmLogonRC: 1\n";
    EXPECT_EQ(counters_restricted(before + "RmProfilingAdminOnly: 1\nPreserveVideoMemoryAllocations: 0\n"), true);
    EXPECT_EQ(counters_restricted(before + "RmProfilingAdminOnly: 0\n"), false);
    EXPECT_FALSE(counters_restricted(before).has_value());
    EXPECT_FALSE(counters_restricted("").has_value());
    EXPECT_FALSE(counters_restricted("RmProfilingAdminOnly: maybe\n").has_value());
}

TEST_F(Surroundings, ARestrictionIsSaidWithHowToLiftIt) {
    EXPECT_THAT(counter_permission(write("params", "RmProfilingAdminOnly: 1\n")),
                HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_EQ(counter_permission(write("params", "RmProfilingAdminOnly: 0\n")), "all users");
    EXPECT_THAT(counter_permission(folder_ / "none"), HasSubstr("unknown"));
}

TEST_F(Surroundings, ProfilersAreFoundAmongTheProcesses) {
    write("proc/1/comm", "bash\n");
    write("proc/20/comm", "ncu\n");
    write("proc/300/comm", "nv-hostengine\n");
    write("proc/301/comm", "ncurses\n");
    write("proc/meminfo", "ncu\n");
    EXPECT_THAT(profilers_running(folder_ / "proc"), ElementsAre("ncu (20)", "nv-hostengine (300)"));
    EXPECT_THAT(profilers_running(folder_ / "nothing"), IsEmpty());
}

}  // namespace
}  // namespace qkprof::cuda
