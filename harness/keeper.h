// Keeps a profile on disk as it grows. Each time it is written whole, so it is not written each time.
#pragma once

#include "output_file.h"
#include "profile.h"
#include "timings.h"

#include <chrono>
#include <optional>
#include <string>

namespace qkprof {

class Keeper {
  public:
    // Keeps nothing where `path` is empty. Throws InputError when no file can be written there. What it takes is the
    // step writing of `timings`, which must outlive it.
    Keeper(const std::string& path, Timings& timings);
    // At most twice a second, and so that at most a twentieth of the time is spent on it.
    void keep(const Profile& profile);
    void keep_now(const Profile& profile);

  private:
    std::optional<OutputFile> file_;
    Timings& timings_;
    std::chrono::nanoseconds next_ = {};  // before that nothing is written
};

}  // namespace qkprof
