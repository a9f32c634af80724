// The main job: every problem x variant x cache state is verified, counted and, where the device has a clock, timed.
#pragma once

#include "device.h"
#include "error.h"
#include "profile.h"
#include "selection.h"
#include "timings.h"
#include "tuning.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

struct Plan {
    std::vector<Candidate> candidates;
    std::vector<Problem> problems;
    std::vector<CacheState> states;
    int samples = 20;
    std::optional<std::vector<TuningTable>> tuning = {};  // none: the tables that are built in
};

// What a run tells its caller while it goes on; all functions must be set.
struct Observer {
    std::function<void(const std::string&)> progress;  // what is being done now
    std::function<void(const Profile&)> added;         // the profile holds new results
    std::function<bool()> interrupted;                 // asked between steps; true ends the run
    Timings* timings = nullptr;                        // told of the steps; null: nobody asks
};

// "8x1024x16x128 f32", "1x64x32+8x128 packed in-place bf16"
std::string text_of(const Problem& problem);

// The candidate's request for a problem, with nothing left as tuned.
Resolved resolve(const Candidate& candidate, const Problem& problem, const Device& device, const Plan& plan);

// Of the intermediates of all candidates that run the problem: they share one scratch buffer.
std::int64_t scratch_bytes(const Plan& plan, const Problem& problem, const Device& device);

// Throws InputError when a problem does not fit the device's memory.
void check_memory(const Device& device, const Plan& plan);

// A sentence about a run that keeps the emulated device busy for minutes or more; empty for any other.
std::string long_run(const Device& device, const Plan& plan);

// Fills profile.measurements and, unless it was interrupted, sets profile.environment.complete. Where the device has a
// clock and no ceiling is among the candidates, the ceilings are added.
void run(Device& device, Plan plan, Profile& profile, const Observer& observer);

// Sentences about what a variant declares and the counts contradict.
std::vector<std::string> contradictions_of(const Measurement& measurement);

// In this order: wrong_result; failed (a declaration is contradicted, or a figure is not physically possible);
// cannot_measure (no problem could be run, nothing at all could be counted or timed, or a metric that was asked for by
// its name has no value anywhere); inconclusive (interrupted, a problem that could not be run beside others that were,
// or every variant refused every problem); passed. A single counter or time that is unknown has its reason beside it
// and changes nothing.
Exit verdict_of(const Profile& profile);

// The metrics that were asked for by their names and have no value in any measurement.
std::vector<std::string> missed_metrics(const Profile& profile);

}  // namespace qkprof
