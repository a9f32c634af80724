// Runs the program from outside, in a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace qkprof {

namespace fs = std::filesystem;

struct Result {
    int exit_code;
    std::string out;
    std::string err;
};

class Program : public testing::Test {
  protected:
    Program() {
        std::string pattern = (fs::temp_directory_path() / "qkprof-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~Program() override { fs::remove_all(folder_); }

    static std::string content(const fs::path& path) {
        std::ifstream stream(path);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    Result qkprof(const std::string& arguments) const {
        const fs::path out = folder_ / "stdout";
        const fs::path err = folder_ / "stderr";
        const std::string command = "cd " + folder_.string() + " && " QKPROF_PROGRAM " " + arguments + " >" +
                                    out.string() + " 2>" + err.string();
        const int status = std::system(command.c_str());
        Result result = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
        fs::remove(out);
        fs::remove(err);
        return result;
    }

    // Bad input: exit code 2, one sentence, and nothing on disk.
    void expect_refused(const std::string& arguments, const std::string& sentence) const {
        SCOPED_TRACE(arguments);
        const Result r = qkprof(arguments);
        EXPECT_EQ(r.exit_code, 2);
        EXPECT_EQ(r.out, "");
        EXPECT_NE(r.err.find(sentence), std::string::npos) << r.err;
        EXPECT_EQ(r.err.rfind("qkprof: ", 0), 0U) << r.err;
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
        EXPECT_TRUE(fs::is_empty(folder_));
    }

    fs::path folder_;
};

}  // namespace qkprof
