// The profiles of a fleet as they lie in a folder.
#pragma once

#include "fleet.h"

#include <filesystem>
#include <vector>

namespace qkprof {

// All *.json of the folder, by name; other files, hidden ones and folders in it are left alone. Of each profile what a
// fleet is judged by: hundreds of them stay in memory. Throws InputError where there is no such folder, and for the
// first file that is no profile.
std::vector<FleetMember> read_fleet(const std::filesystem::path& folder);

}  // namespace qkprof
