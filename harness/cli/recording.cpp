#include "recording.h"

#include "choice.h"
#include "interruption.h"
#include "progress.h"
#include "rank.h"
#include "timing.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::cli {
namespace {

// Of the file that this process writes.
std::string own_path(const std::string& out) {
    const std::optional<Rank> rank = own_rank();
    if (rank && out.empty()) {
        throw InputError(
            fmt::format("{} started this process as one of {}: each keeps a profile of its own, so name a file with "
                        "--out; of profile.json rank {} makes {}.",
                        rank->launcher, rank->count, rank->number, path_of("profile.json", *rank).string()));
    }
    return rank ? path_of(out, *rank).string() : out;
}

}  // namespace

bool prints_results() {
    const std::optional<Rank> rank = own_rank();
    return !rank || rank->number == 0;
}

std::unique_ptr<GpuLock> hold(const DeviceInfo& info) {
    const auto uuid =
        std::find_if(info.facts.begin(), info.facts.end(), [](const auto& f) { return f.first == "uuid"; });
    return uuid == info.facts.end() ? nullptr : std::make_unique<GpuLock>(uuid->second, info.id);
}

Recording::Recording(const std::string& device, const std::string& out, const std::vector<std::string>& benchmark_flags,
                     Timings& timings, bool keeps_timings, const EmulatorOptions& emulator)
    : timings_(timings), keeps_timings_(keeps_timings), keeper_(own_path(out), timings) {
    configure_benchmark(benchmark_flags);
    device_ = open_chosen_device(device, emulator);
    const DeviceInfo& info = device_->info();
    lock_ = hold(info);
    profile_.environment = environment_of(info, "qkprof");
    if (const std::optional<Rank> rank = own_rank()) {
        profile_.environment.further = rank->facts();
    }
    const auto context = benchmark_context();
    profile_.environment.further.insert(profile_.environment.further.end(), context.begin(), context.end());
}

const Profile& Recording::profile() {
    if (keeps_timings_) {
        profile_.environment.timings = timings_.so_far();
    }
    return profile_;
}

void Recording::record(Plan plan, bool progress) {
    end_on_signals();
    check_memory(*device_, plan);  // before anything is said of a run that cannot be
    if (const std::string sentence = long_run(*device_, plan); !sentence.empty()) {
        say(sentence);
    }
    Progress line(progress);
    const Observer observer = {.progress = [&](const std::string& step) { line.say(step); },
                               .added = [&](const Profile& grown) { keeper_.keep(grown); },
                               .interrupted = interrupted,
                               .timings = &timings_};
    try {
        run(*device_, std::move(plan), profile_, observer);
    } catch (...) {
        line.clear();
        throw;
    }
    line.clear();
}

void Recording::measure_noise(int further_runs, FurtherRun run, bool progress) {
    if (further_runs == 0 || !profile_.environment.complete) {
        return;
    }
    run.choice.device = device_->info().id;
    device_.reset();
    leave(run.choice.device);
    Progress line(progress);
    for (int i = 1; i <= further_runs && !interrupted(); ++i) {
        line.say(fmt::format("A/A: further run {} of {}", i, further_runs));
        {
            const Timings::Scope step = timings_.during(Step::noise);
            add_further_run(run, profile_);
        }
        keeper_.keep(profile_);
    }
}

}  // namespace qkprof::cli
