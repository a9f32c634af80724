// What around the process may keep it from the GPU's counters, as the system's files tell it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qkprof::cuda {

// Whether the driver keeps counters for administrators, from the text of /proc/driver/nvidia/params; unknown where it
// does not say.
std::optional<bool> counters_restricted(const std::string& params);

// The same of this machine, in words, with how to lift it.
std::string counter_permission(const std::filesystem::path& params = "/proc/driver/nvidia/params");

// Programs among the processes under `proc` that are known to use CUPTI or the counters, with their process ids:
// "ncu (12)". Sorted.
std::vector<std::string> profilers_running(const std::filesystem::path& proc = "/proc");

}  // namespace qkprof::cuda
