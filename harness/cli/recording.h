// A run whose profile is kept on disk as it grows, and that a signal ends early: what the commands that measure share.
#pragma once

#include "output_file.h"
#include "run.h"

#include <chrono>
#include <optional>
#include <string>

namespace qkprof::cli {

// Keeps the profile on disk as it grows, at most twice a second: each time it is written whole.
class Keeper {
  public:
    // Keeps nothing where `path` is empty. Throws InputError when no file can be written there.
    explicit Keeper(const std::string& path);
    void keep(const Profile& profile);
    void keep_now(const Profile& profile);

  private:
    std::optional<OutputFile> file_;
    std::chrono::steady_clock::time_point last_;
};

// Fills the profile. The first SIGINT or SIGTERM ends the run at its next step; the second ends the program: the file
// is whole at every moment. `progress` says what is done even where standard error is no terminal.
void record(Device& device, Plan plan, Profile& profile, Keeper& keeper, bool progress);

}  // namespace qkprof::cli
