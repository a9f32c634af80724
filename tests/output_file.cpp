// A result file is whole at every moment, and nothing is left beside it.
#include "output_file.h"

#include "error.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace qkprof {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
  protected:
    OutputFileTest() {
        std::string pattern = (fs::temp_directory_path() / "qkprof-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~OutputFileTest() override { fs::remove_all(folder_); }

    std::string content(const std::string& name) const {
        std::ifstream stream(folder_ / name);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }

    fs::path folder_;
};

TEST_F(OutputFileTest, CheckingWritesNothing) {
    const OutputFile file(folder_ / "a.json");
    EXPECT_EQ(files(), 0);
}

TEST_F(OutputFileTest, ReplacesTheWholeContent) {
    const OutputFile file(folder_ / "a.json");
    file.write("a long first content");
    file.write("short");
    EXPECT_EQ(content("a.json"), "short");
    EXPECT_EQ(files(), 1);
}

// Beside it a file of a longer name is made, which the file system refuses here; the file itself could be.
TEST_F(OutputFileTest, SaysWhyItCannotBeWritten) {
    const std::string longest(255, 'a');
    try {
        const OutputFile file(folder_ / longest);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("cannot be written: File name too long"), std::string::npos)
            << error.what();
    }
}

TEST_F(OutputFileTest, WritesThroughALink) {
    std::ofstream(folder_ / "real.json") << "old";
    fs::create_symlink("real.json", folder_ / "link.json");
    OutputFile(folder_ / "link.json").write("new");
    EXPECT_EQ(content("real.json"), "new");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
}

TEST_F(OutputFileTest, KeepsTheModeOfWhatItReplaces) {
    std::ofstream(folder_ / "private.json") << "old";
    fs::permissions(folder_ / "private.json", fs::perms::owner_read | fs::perms::owner_write);
    OutputFile(folder_ / "private.json").write("new");
    EXPECT_EQ(content("private.json"), "new");
    EXPECT_EQ(fs::status(folder_ / "private.json").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, RefusesPlacesThatCannotBeWritten) {
    EXPECT_THROW(OutputFile{folder_}, InputError);
    EXPECT_THROW(OutputFile{folder_ / "no such folder" / "a.json"}, InputError);
    EXPECT_THROW(OutputFile{"/dev/null"}, InputError);
    EXPECT_THROW(OutputFile{folder_ / ""}, InputError);
    EXPECT_EQ(files(), 0);
    fs::create_symlink("nowhere.json", folder_ / "dangling.json");
    EXPECT_THROW(OutputFile{folder_ / "dangling.json"}, InputError);
    EXPECT_TRUE(fs::is_symlink(folder_ / "dangling.json"));
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, AFullDiskLeavesTheOldContent) {
    const OutputFile file(folder_ / "a.json");
    file.write("old");
    rlimit before = {};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 10;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(file.write("longer than ten bytes"), CannotMeasure);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(content("a.json"), "old");
    EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace qkprof
