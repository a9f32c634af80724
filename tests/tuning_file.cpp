// The file of `qkprof tune --out`: entries of other problems stay, another device's table is refused.
#include "tuning_file.h"

#include "error.h"
#include "input_file.h"
#include "tuned_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace qkprof {
namespace {

using testing::HasSubstr;

class TuningFiles : public testing::Test {
  protected:
    ~TuningFiles() override { std::filesystem::remove(path_); }

    TuningFile opened(const std::string& device) const {
        TuningFile file(path_, known_);
        file.set_device(device);
        return file;
    }
    TuningTable read() const { return parse_tuning(read_input_file(path_, "table", 1 << 20), "file", known_); }

    std::vector<Variant> known_ = {tuned_variant()};
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("qkprof-tuning-" + std::to_string(getpid()) + ".toml");
};

TEST_F(TuningFiles, IsWrittenEntryByEntryAndUpdated) {
    TuningFile first = opened("GPU A");
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_THAT(first.summary(), HasSubstr("nothing was written"));
    first.add("best", tuning_entry({.sequence = 1}, 1, 1));
    EXPECT_EQ(read().device, "GPU A");
    EXPECT_EQ(read().entries.at("best").size(), 1U);
    first.add("best", tuning_entry({.sequence = 2}, 1, 1));
    EXPECT_THAT(first.summary(), HasSubstr(": 2 new, 0 replaced, 0 kept."));

    TuningFile second = opened("GPU A");
    second.add("best", tuning_entry({.sequence = 2}, 4, 2));
    second.add("best", tuning_entry({.sequence = 3}, 2, 2));
    EXPECT_THAT(second.summary(), HasSubstr(": 1 new, 1 replaced, 1 kept."));
    const std::vector<TuningEntry> entries = read().entries.at("best");
    ASSERT_EQ(entries.size(), 3U);
    EXPECT_EQ(entries[0].parameters.at("lanes"), 1);
    EXPECT_EQ(entries[1].parameters.at("lanes"), 4);
    EXPECT_EQ(entries[2].parameters.at("lanes"), 2);
}

TEST_F(TuningFiles, AnotherDevicesIsRefusedAndStays) {
    opened("GPU A").add("best", tuning_entry({.sequence = 1}, 1, 1));
    const std::string before = read_input_file(path_, "table", 1 << 20);
    try {
        opened("GPU B");
        FAIL() << "it was taken";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("is the table of GPU A, and what is tuned is GPU B"));
    }
    EXPECT_EQ(read_input_file(path_, "table", 1 << 20), before);
}

TEST_F(TuningFiles, WhatIsNoTableIsRefused) {
    std::ofstream(path_) << "{}";
    EXPECT_THROW(TuningFile(path_, known_), InputError);
}

}  // namespace
}  // namespace qkprof
