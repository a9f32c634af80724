// Verdicts: claims against the evidence of profiles. Counts are compared exactly; of times the interval is, and where
// many cells are looked at, Holm's correction keeps the chance of one wrong word at 1 %.
#pragma once

#include "evidence.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

enum class Outcome : std::uint8_t { holds, fails, undecided };
constexpr const char* name_of(Outcome outcome) {
    return outcome == Outcome::holds ? "holds" : outcome == Outcome::fails ? "fails" : "undecided";
}

// One subject on one problem in one state.
struct CellResult {
    Exhibit exhibit;
    std::optional<double> value;       // of the measure
    std::optional<Interval> interval;  // of a timed one: 99 %, of this cell alone
    std::size_t samples = 0;
    Outcome outcome = Outcome::undecided;
    std::string reason;             // why it is undecided
    std::optional<double> further;  // about how many more samples would decide, if the value stayed as it is
};

// One subject, type and state along its sizes.
struct SeriesResult {
    const Measurement* of = nullptr;  // any of them
    Outcome outcome = Outcome::undecided;
    std::string reason = {};                 // why it is not "holds"
    std::optional<double> holds_up_to = {};  // bytes of the working set
    std::optional<double> fails_from = {};
    std::optional<double> crossing = {};  // between both, where the measure meets the limit: log-log interpolation
};

struct TestResult {
    const Test* test = nullptr;
    std::vector<CellResult> cells = {};
    std::vector<SeriesResult> series = {};  // where the claim is along the sizes

    std::size_t count(Outcome outcome) const;
};

enum class Decision : std::uint8_t { supported, refuted, undecided };
constexpr const char* name_of(Decision decision) {
    return decision == Decision::supported ? "supported" : decision == Decision::refuted ? "refuted" : "undecided";
}

struct Verdict {
    const Claim* claim = nullptr;
    Decision decision = Decision::undecided;
    std::vector<std::string> reasons = {};  // why it is undecided
    TestResult evidence = {};
    std::vector<TestResult> controls = {};  // in the order of the claim's
};

// `claim` and `evidence` must outlive the verdict.
Verdict judge(const Claim& claim, const Evidence& evidence);

}  // namespace qkprof
