#include "recording.h"

#include "progress.h"

#include <atomic>
#include <csignal>

namespace qkprof::cli {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void end_on_signals() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    struct sigaction before = {};
    if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {  // nohup ignores it
        sigaction(SIGHUP, &action, nullptr);
    }
}

}  // namespace

Keeper::Keeper(const std::string& path) {
    if (!path.empty()) {
        file_.emplace(path);
    }
}

void Keeper::keep(const Profile& profile) {
    if (std::chrono::steady_clock::now() - last_ >= std::chrono::milliseconds(500)) {
        keep_now(profile);
    }
}

void Keeper::keep_now(const Profile& profile) {
    if (file_ && !profile.measurements.empty()) {  // with nothing measured, what the file held stays
        file_->write(to_json(profile));
    }
    last_ = std::chrono::steady_clock::now();
}

void record(Device& device, Plan plan, Profile& profile, Keeper& keeper, bool progress) {
    end_on_signals();
    Progress line(progress);
    const Observer observer = {.progress = [&](const std::string& step) { line.say(step); },
                               .added = [&](const Profile& grown) { keeper.keep(grown); },
                               .interrupted = [] { return interrupted.load(); }};
    try {
        run(device, std::move(plan), profile, observer);
    } catch (...) {
        line.clear();
        throw;
    }
    line.clear();
}

}  // namespace qkprof::cli
