// Of a fleet: which GPUs are slower than the rest. For each measurement a GPU's time is held against the middle of the
// others' times, and over all measurements the middle of these ratios is.
//
// Slower is what is beyond the threshold, beyond the noise between two runs of one GPU (noise.h) and beyond what the
// others differ among themselves, with its whole 99 % interval. Over many measurements the noise of each evens out, but
// for a part that they have in common, which is no more than the noise of the quiet ones; where the others are enough
// to show how far GPUs and runs differ over all, it is in that. In a single measurement nothing evens out, and of
// hundreds some are always far off: a few alone make no GPU slower.
#pragma once

#include "noise.h"
#include "statistics.h"
#include "thresholds.h"

#include <optional>
#include <string>
#include <vector>

namespace qkprof {

// One measurement, as it was timed on the GPUs of a model.
struct TimedTogether {
    std::string name;
    Allowance allowance;
    std::vector<Runs> of;  // a place a GPU; without runs where it has no time to judge
    // Between runs of one GPU: the middle one of the GPUs'. None where nothing was run twice.
    std::optional<RunTimes::Deviation> deviation;
};

// How much longer than the others a GPU takes.
struct Slowness {
    std::string name;                  // of the measurement; empty: over all of them
    double change = 0;                 // 0.05: 5 % longer
    std::optional<Interval> interval;  // of the change, 99 %; computed where the change is beyond the limit
    double limit = 0;                  // of the change: up to it nothing is said
};

struct TimeVerdict {
    std::size_t judged = 0;           // measurements
    std::size_t slower = 0;           // of them, beyond their limit
    std::optional<Slowness> overall;  // none where no measurement could be judged
    std::optional<Slowness> worst;    // the measurement that is furthest beyond its limit, or nearest to it
    bool is_slower = false;
    std::string doubt;  // a clause: why that cannot be said, where something speaks for it; else empty
};

// A place a GPU.
std::vector<TimeVerdict> judge_times(const std::vector<TimedTogether>& measurements, std::size_t gpus);

}  // namespace qkprof
