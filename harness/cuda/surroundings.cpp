#include "surroundings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

namespace qkprof::cuda {
namespace {

namespace fs = std::filesystem;

// As /proc/<pid>/comm has them, which cuts names after 15 letters.
constexpr std::array<std::string_view, 10> known_profilers = {
    "ncu",      "ncu-ui", "nsys",          "nsys-launcher", "nsys-ui",
    "cuda-gdb", "nvprof", "nv-hostengine", "dcgm-exporter", "dcgmproftester1"};

std::string content(const fs::path& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::optional<bool> counters_restricted(const std::string& params) {
    std::istringstream lines(params);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        int value = 0;
        // What the option NVreg_RestrictProfilingToAdminUsers is called there.
        if (words >> name >> value && (name == "RmProfilingAdminOnly:" || name == "RestrictProfilingToAdminUsers:")) {
            return value != 0;
        }
    }
    return {};
}

std::string counter_permission(const fs::path& params) {
    const std::optional<bool> restricted = counters_restricted(content(params));
    if (!restricted) {
        return fmt::format("unknown: {} does not say", params.string());
    }
    return *restricted
               ? "administrators only: run as root or with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN); or, for all "
                 "users, put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file of /etc/modprobe.d and "
                 "load the driver anew"
               : "all users";
}

std::vector<std::string> profilers_running(const fs::path& proc) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator process(proc, error), end; !error && process != end; process.increment(error)) {
        std::string name = content(process->path() / "comm");
        name.erase(std::find(name.begin(), name.end(), '\n'), name.end());
        if (std::find(known_profilers.begin(), known_profilers.end(), name) != known_profilers.end()) {
            found.push_back(fmt::format("{} ({})", name, process->path().filename().string()));
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace qkprof::cuda
