// The profile that is kept as it grows: not so often that it costs a run its time.
#include "keeper.h"

#include "error.h"
#include "sample_profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace qkprof {
namespace {

namespace fs = std::filesystem;

class KeeperTest : public testing::Test {
  protected:
    ~KeeperTest() override { fs::remove(path_); }

    // Whether keep() writes now.
    bool keeps() {
        fs::remove(path_);
        keeper_.keep(profile_);
        return fs::exists(path_);
    }

    std::string path_ = fs::temp_directory_path() / ("qkprof-keeper-" + std::to_string(getpid()) + ".json");
    std::chrono::nanoseconds now_ = std::chrono::seconds(100);
    std::chrono::nanoseconds a_look_takes_ = {};  // and so does a write, which looks at the clock before and after it
    Timings timings_ = Timings(now_, [this] { return now_ += a_look_takes_; });
    Keeper keeper_ = Keeper(path_, timings_);
    Profile profile_ = sample_profile();
};

TEST_F(KeeperTest, WritesTheFirstAndThenAtMostTwiceASecond) {
    EXPECT_TRUE(keeps());
    now_ += std::chrono::milliseconds(499);
    EXPECT_FALSE(keeps());
    now_ += std::chrono::milliseconds(1);
    EXPECT_TRUE(keeps());
    EXPECT_FALSE(keeps());
    fs::remove(path_);
    keeper_.keep_now(profile_);
    EXPECT_EQ(read_profile(path_).measurements.size(), profile_.measurements.size());
}

TEST_F(KeeperTest, WhatTakesLongIsWrittenRarely) {
    a_look_takes_ = std::chrono::seconds(1);
    EXPECT_TRUE(keeps());
    a_look_takes_ = {};
    now_ += std::chrono::seconds(17);
    EXPECT_FALSE(keeps());
    now_ += std::chrono::seconds(2);
    EXPECT_TRUE(keeps());
}

TEST_F(KeeperTest, NothingMeasuredAndNoPathLeaveWhatIsThere) {
    keeper_.keep_now({});
    EXPECT_FALSE(fs::exists(path_));
    Keeper nowhere("", timings_);
    nowhere.keep_now(profile_);
    EXPECT_THROW(Keeper("no/such/folder/p.json", timings_), InputError);
}

TEST_F(KeeperTest, IsAStepOnlyWhereItWrites) {
    timings_.ready();
    for (int i = 0; i < 5; ++i) {
        keeper_.keep(profile_);
    }
    EXPECT_EQ(timings_.so_far().at(1).step, Step::writing);
    EXPECT_EQ(timings_.so_far().at(1).times, 1);
}

}  // namespace
}  // namespace qkprof
