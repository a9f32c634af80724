#include "keeper.h"

#include <algorithm>

namespace qkprof {

Keeper::Keeper(const std::string& path, Timings& timings) : timings_(timings) {
    if (!path.empty()) {
        file_.emplace(path);
    }
}

void Keeper::keep(const Profile& profile) {
    if (timings_.now() >= next_) {
        keep_now(profile);
    }
}

void Keeper::keep_now(const Profile& profile) {
    if (!file_ || profile.measurements.empty()) {  // with nothing measured, what the file held stays
        return;
    }
    constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(500);
    constexpr int rest = 19;  // times what it took
    const Timings::Scope step = timings_.during(Step::writing);
    const std::chrono::nanoseconds before = timings_.now();
    file_->write(to_json(profile));
    const std::chrono::nanoseconds after = timings_.now();
    next_ = after + std::max(least, rest * (after - before));
}

}  // namespace qkprof
