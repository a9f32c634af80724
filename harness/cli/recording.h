// A run whose profile is kept on disk as it grows, and that a signal ends early: what the commands that measure share.
// Where a launcher started several of them, each measures a GPU of its own and keeps a file of its own.
#pragma once

#include "further_runs.h"
#include "gpu_lock.h"
#include "keeper.h"
#include "run.h"
#include "timings.h"

#include <memory>
#include <string>
#include <vector>

namespace qkprof::cli {

// Whether this process prints its results: of several ranks the first alone.
bool prints_results();

// The lock of the GPU, for a command that measures; null where the device has none. Throws what GpuLock does.
std::unique_ptr<GpuLock> hold(const DeviceInfo& info);

class Recording {
  public:
    // `device` and `out` as on the command line; `timings` is told of the steps, and stands in the profile where
    // `keeps_timings`. Throws InputError where several ranks have no file to write to, and what the device and the file
    // throw.
    Recording(const std::string& device, const std::string& out, const std::vector<std::string>& benchmark_flags,
              Timings& timings, bool keeps_timings, const EmulatorOptions& emulator = {});

    // Fills the profile. The first SIGINT or SIGTERM ends the run at its next step; the second ends the program: the
    // file is whole at every moment. `progress` says what is done even where standard error is no terminal.
    void record(Plan plan, bool progress);
    // Runs the same so many times more, in processes of their own (further_runs.h), for which this one leaves the
    // device: nothing is recorded after it. Does nothing after an interrupted run.
    void measure_noise(int further_runs, FurtherRun run, bool progress);
    void keep_now() { keeper_.keep_now(profile()); }

    Device& device() { return *device_; }
    // With the timings until now.
    const Profile& profile();

  private:
    Timings& timings_;
    bool keeps_timings_;
    Keeper keeper_;
    std::unique_ptr<Device> device_;
    std::unique_ptr<GpuLock> lock_;
    Profile profile_;
};

}  // namespace qkprof::cli
