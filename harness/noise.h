// The noise between runs: by how much the time of the same measurement differs from one run of the program to the next.
// Memory lies elsewhere, clocks and neighbours differ; the samples of one run alone, however many, do not show it. An
// A/A measurement (run --aa) does: it repeats the run in further processes.
#pragma once

#include "profile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

// Which time is compared: that of a call, or that over the time of the fastest copy of the same problem, state and run.
enum class Timed : std::uint8_t { real_time, of_ceiling };

// The runs of one measurement that hold enough samples (statistics.h): the run itself, then those of the A/A
// measurement.
struct Runs {
    struct Run {
        std::vector<double> seconds;
        std::vector<double> ceiling;  // of the copy in that run; empty unless it is Timed::of_ceiling
        double log_time() const;      // of the median, or of the ratio of both medians
    };
    std::vector<Run> runs;
    std::string unknown;  // why there are none, a clause

    double log_time() const;  // the median of the runs'
};

// The times of a profile, run by run, and how far they differ.
class RunTimes {
  public:
    // The profile must outlive it.
    RunTimes(const Profile& profile, Timed timed);

    Runs of(const Measurement& measurement) const;

    // The standard deviation of log_time() between runs, and of how many differences it was estimated.
    struct Deviation {
        double value = 0;
        double degrees_of_freedom = 0;
    };
    // The larger of the measurement's own and of that of all variants on its problem in its state, as few runs tell
    // little of one: none where nothing was run twice.
    std::optional<Deviation> deviation(const Measurement& measurement) const;

    // Of the metric aa_noise: noise_between() one run of it and another.
    Counter noise(const Measurement& measurement) const;

  private:
    Timed timed_;
    std::map<std::string, const Measurement*, std::less<>> ceilings_;  // by ceiling_key
    std::map<std::string, Deviation, std::less<>> deviations_;         // likewise
};

// Relative: between the mean of `base` runs and that of `now` runs of the same measurement a difference beyond it comes
// up in one of 1,000 comparisons (Student's t).
double noise_between(const RunTimes::Deviation& deviation, std::size_t base, std::size_t now);

}  // namespace qkprof
