// Files that a user names and that are none, or not what they are to be.
#include "input_file.h"

#include "error.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace qkprof {
namespace {

namespace fs = std::filesystem;

class InputFile : public testing::Test {
  protected:
    InputFile() {
        std::string pattern = (fs::temp_directory_path() / "qkprof-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~InputFile() override { fs::remove_all(folder_); }

    fs::path write(const char* name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return folder_ / name;
    }
    static std::string refusal(const fs::path& path, std::uintmax_t largest) {
        try {
            read_input_file(path, "profile", largest);
        } catch (const InputError& error) {
            return error.what();
        }
        return "no error";
    }

    fs::path folder_;
};

TEST_F(InputFile, IsReadByteForByte) {
    const std::string bytes("a\0\r\n\xff", 5);
    EXPECT_EQ(read_input_file(write("file", bytes), "profile", bytes.size()), bytes);
    EXPECT_EQ(read_input_file(write("empty", ""), "profile", 0), "");
    fs::create_symlink(folder_ / "file", folder_ / "link");
    EXPECT_EQ(read_input_file(folder_ / "link", "profile", 100), bytes);
}

TEST_F(InputFile, WhatIsNoFileIsRefused) {
    const std::string path = (folder_ / "x").string();
    EXPECT_EQ(refusal(path, 1), "There is no profile " + path + ".");
    EXPECT_EQ(refusal(path + "/y", 1), "There is no profile " + path + "/y.");
    EXPECT_EQ(refusal("", 1), "There is no profile .");
    fs::create_symlink(path, folder_ / "dangling");
    EXPECT_EQ(refusal(folder_ / "dangling", 1), "There is no profile " + (folder_ / "dangling").string() + ".");
    EXPECT_EQ(refusal(folder_, 1), folder_.string() + " is not a file, as a profile must be.");
    EXPECT_EQ(refusal("/dev/zero", 1), "/dev/zero is not a file, as a profile must be.");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(refusal(path, 1), path + " is not a file, as a profile must be.");  // and does not wait for a writer
}

TEST_F(InputFile, WhatIsTooLargeIsNotRead) {
    const fs::path path = write("file", "{}");
    EXPECT_EQ(refusal(path, 2), "no error");
    EXPECT_EQ(refusal(path, 1), path.string() + " has 2 bytes and a profile at most 1: it is not read.");
    constexpr std::uintmax_t terabyte = std::uintmax_t{1} << 40U;  // of holes: no machine has the memory
    fs::resize_file(path, terabyte);
    EXPECT_EQ(refusal(path, terabyte - 1),
              path.string() + " has 1099511627776 bytes and a profile at most 1099511627775: it is not read.");
}

TEST_F(InputFile, WhatCannotBeReadIsRefused) {
    const fs::path path = write("file", "{}");
    fs::permissions(path, fs::perms::none);
    if (access(path.c_str(), R_OK) == 0) {
        GTEST_SKIP() << "NOT_RUN: this user may read every file";
    }
    EXPECT_EQ(refusal(path, 2), "The profile " + path.string() + " cannot be read.");
}

TEST_F(InputFile, ANameIsShownAsText) {
    EXPECT_EQ(refusal("/no\x1b[2J\n", 1), R"(There is no profile /no\x1b[2J\x0a.)");
}

}  // namespace
}  // namespace qkprof
