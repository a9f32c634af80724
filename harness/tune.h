// Finds the values of a variant's tuned parameters that are the fastest on a problem, by trying all of them: what a
// tuning table holds.
//
// Every combination that the variant does not refuse is verified; those that compute the right result are timed, warm,
// in two rounds: all of them with a few samples, and the best of those again, with more and together with the ceiling.
// The winner has the least median; of those within the noise of it the first in the order of the combinations, so that
// the choice stays where nothing has changed.
#pragma once

#include "device.h"
#include "error.h"
#include "selection.h"
#include "tuning.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

inline constexpr int first_round_samples = 3;
inline constexpr std::size_t second_round_combinations = 8;
inline constexpr double tuning_noise = 0.005;  // relative: times that are as near are the same

struct TunePlan {
    std::vector<Candidate> candidates;  // each with parameters that are tuned, and perhaps some that are given
    std::vector<Problem> problems;
    int samples = 12;  // of the second round
};

// What was found for one variant on one problem.
struct TuneResult {
    const Variant* variant = nullptr;
    Problem problem;
    std::optional<TuningEntry> winner;
    std::string refused;  // where the variant refuses every combination, why it refuses the first
    std::string failure;  // why else there is no winner, a clause
    std::size_t combinations = 0;
    std::size_t tried = 0;              // those that were not refused
    std::optional<double> second_best;  // how much longer the best of the others takes, relative; none: no other
    std::vector<std::string> wrong;     // a sentence for each combination that computed a wrong result
};

// What the search tells its caller while it goes on; all must be set.
struct TuneObserver {
    std::function<void(const std::string&)> progress;
    std::function<void(const TuneResult&)> found;  // a problem is done
    std::function<bool()> interrupted;             // asked between steps; true ends the search
};

// All combinations of the values of those parameters that are as_tuned, the last fastest, with the candidate's others.
std::vector<Parameters> combinations_of(const Candidate& candidate);

// The index of the winner. `seconds` must not be empty.
std::size_t winner_of(const std::vector<double>& seconds);

// The results until it was interrupted. Throws CannotMeasure on a device without a clock, before anything is run.
std::vector<TuneResult> tune(Device& device, const TunePlan& plan, const TuneObserver& observer);

// In this order: wrong_result; inconclusive, where it was not `complete`; and where some problem has no winner:
// cannot_measure where none has one, unless all were refused, and inconclusive else.
Exit verdict_of(const std::vector<TuneResult>& results, bool complete);

}  // namespace qkprof
