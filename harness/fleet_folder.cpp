#include "fleet_folder.h"

#include "error.h"
#include "parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace qkprof {
namespace {

std::vector<std::filesystem::path> profiles_in(const std::filesystem::path& folder) {
    std::error_code error;
    const auto status = std::filesystem::status(folder, error);
    if (!std::filesystem::exists(status)) {
        throw InputError(fmt::format("There is no folder {}.", folder.string()));
    }
    if (!std::filesystem::is_directory(status)) {
        throw InputError(
            fmt::format("{} is not a folder: a fleet is a folder of profiles, one a GPU.", folder.string()));
    }
    std::vector<std::filesystem::path> paths;
    auto entry = std::filesystem::directory_iterator(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::filesystem::path& path = entry->path();
        if (path.extension() == ".json" && !path.filename().string().starts_with(".") && !entry->is_directory()) {
            paths.push_back(path);
        }
    }
    if (error) {
        throw InputError(fmt::format("The folder {} cannot be read: {}.", folder.string(), error.message()));
    }
    if (paths.empty()) {
        throw InputError(
            fmt::format("{} holds no *.json: a fleet is a folder of profiles, one a GPU.", folder.string()));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

// What takes the most and says nothing here.
void drop_the_rest(Profile& profile) {
    for (Measurement& m : profile.measurements) {
        m.host_seconds = {};
        m.stream_seconds = {};
        m.kernels = {};
        m.contradictions = {};
        for (auto& [name, counter] : m.counters) {
            counter.reason = {};
        }
        for (ThrottledSample& sample : m.throttled) {
            sample.reasons = {};
        }
        m.seconds.shrink_to_fit();
    }
    profile.measurements.shrink_to_fit();
}

}  // namespace

std::vector<FleetMember> read_fleet(const std::filesystem::path& folder) {
    const std::vector<std::filesystem::path> paths = profiles_in(folder);
    const auto count = static_cast<std::int64_t>(paths.size());
    std::vector<FleetMember> members(paths.size());
    std::vector<std::exception_ptr> failures(paths.size());
    // A profile as JSON takes many times what is kept of it: few at a time, however many processors there are.
    constexpr std::int64_t at_a_time = 8;
    for_each_chunk(count, (count + at_a_time - 1) / at_a_time,
                   [&](std::int64_t, std::int64_t first, std::int64_t last) {
                       for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
                           try {
                               members[i] = {paths[i], read_profile(paths[i])};
                               drop_the_rest(members[i].profile);
                           } catch (const InputError&) {
                               failures[i] = std::current_exception();
                           }
                       }
                   });
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
    return members;
}

}  // namespace qkprof
