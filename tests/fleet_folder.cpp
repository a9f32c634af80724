// Profiles that lie in a folder.
#include "fleet_folder.h"

#include "fleet_table.h"
#include "made_up_fleet.h"
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qkprof {
namespace {

using testing::StartsWith;

class FleetFolder : public Program {
  protected:
    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
    void write(const std::string& name, const Profile& profile) const { write(name, to_json(profile)); }

    std::string refused() const {
        try {
            read_fleet(folder_);
        } catch (const InputError& error) {
            return error.what();
        }
        return "no error";
    }
};

TEST_F(FleetFolder, IsReadAsItWasWritten) {
    std::vector<FleetMember> members = MadeUpFleet{.gpus = 20}.members();
    slow_down(members[7], 1.05);
    for (const FleetMember& member : members) {
        write(member.path.filename().string(), member.profile);
    }
    write("log.txt", "not a profile");
    write(".profile.json", "not a profile");
    fs::create_directory(folder_ / "old.json");
    const std::vector<FleetMember> read = read_fleet(folder_);
    ASSERT_EQ(read.size(), 20U);
    EXPECT_EQ(read[7].path, folder_ / "profile.rank007.json");
    EXPECT_EQ(to_text(gpus_table(lay_side_by_side(read, project_thresholds(), {}), true, 0), false),
              to_text(gpus_table(lay_side_by_side(members, project_thresholds(), {}), true, 0), false));
}

TEST_F(FleetFolder, WhatIsNoFleetIsASentence) {
    EXPECT_EQ(refused(), folder_.string() + " holds no *.json: a fleet is a folder of profiles, one a GPU.");
    for (const FleetMember& member : MadeUpFleet{.gpus = 10}.members()) {
        write(member.path.filename().string(), member.profile);
    }
    EXPECT_EQ(refused(), "no error");
    write("profile.rank008.json", "[]");
    write("profile.rank003.json", "{");  // the first by name is the one that is said
    EXPECT_THAT(refused(), StartsWith("The profile " + (folder_ / "profile.rank003.json").string() + " is not JSON"));
    EXPECT_THROW(read_fleet(folder_ / "nowhere"), InputError);
    EXPECT_THROW(read_fleet(folder_ / "profile.rank003.json"), InputError);
}

}  // namespace
}  // namespace qkprof
