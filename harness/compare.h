// The regression gate: whether NEW is worse than BASE, cell by cell. A cell is one metric of one measurement (variant,
// problem, dtype, state, parameters). Counts are compared exactly, or within what thresholds.toml allows the hardware;
// of times the 99 % interval of a ratio is, against a threshold that is never under the noise between two runs of the
// same program. Sees profiles alone, never a device.
#pragma once

#include "error.h"
#include "profile.h"
#include "statistics.h"
#include "thresholds.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

// In the order of display: the worst first.
enum class Standing : std::uint8_t { worse, missing, not_comparable, inconclusive, better, same };
inline constexpr std::array standings = {Standing::worse,        Standing::missing, Standing::not_comparable,
                                         Standing::inconclusive, Standing::better,  Standing::same};
constexpr const char* name_of(Standing standing) {
    return standing == Standing::worse            ? "worse"
           : standing == Standing::missing        ? "missing"
           : standing == Standing::not_comparable ? "not comparable"
           : standing == Standing::inconclusive   ? "inconclusive"
           : standing == Standing::better         ? "better"
                                                  : "same";
}

// One cell. Times are in seconds.
struct Difference {
    const Measurement* base = nullptr;
    const Measurement* now = nullptr;  // null where NEW does not hold the measurement
    // Of comparable_metrics(); or, where NEW is not right or does not hold the measurement, "result": whether there is
    // a right one; or "contradictions": how many counts contradict what the variant declares.
    std::string metric;
    Standing standing = Standing::same;
    std::optional<double> base_value;
    std::optional<double> now_value;
    std::optional<double> change;      // NEW over BASE - 1; none where BASE is 0
    std::optional<Interval> interval;  // of the change of a time: 99 %
    Allowance allowance;
    double allowed = 0;           // of a count: by how much NEW may differ, in the metric's unit
    std::optional<double> noise;  // of a time: relative, between this BASE and this NEW
    bool noise_measured = false;  // by an A/A measurement; otherwise it is the allowance's
    // Of a time: slow-downs from this on are found, in at least 99 of 100 comparisons.
    std::optional<double> finds;
    std::string reason;  // a clause: why it is missing, not comparable or inconclusive; what is wrong with a result
};

struct Comparison {
    // The worst first: by standing, and within it by how far it is beyond what is allowed.
    std::vector<Difference> differences;
    std::vector<std::string> only_in_new;  // names of measurements that BASE does not hold or could not run
    std::vector<std::string> notes;        // sentences on what differs between the two and is no reason not to compare

    std::size_t count(Standing standing) const;
};

struct ComparisonOptions {
    bool of_ceiling = false;            // compares copy_fraction, in place of real_time, and across devices
    std::vector<std::string> metrics;   // globs: those alone, and results in any case; empty: all
    std::vector<std::string> variants;  // likewise
};

// `base` and `now` must outlive the comparison. Throws InputError where the two have no cell in common, saying what
// either holds.
Comparison compare(const Profile& base, const Profile& now, const Thresholds& thresholds,
                   const ComparisonOptions& options);

// wrong_result where NEW holds a wrong one; failed where a cell is worse or, if `strict`, missing, inconclusive or not
// comparable; inconclusive where, without `strict`, one is one of those; else passed.
Exit exit_of(const Comparison& comparison, bool strict);

}  // namespace qkprof
