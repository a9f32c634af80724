// Where the wall time of a command goes, by step. While a step is within another the other's time stands still: so
// nothing is counted twice, and what the steps took adds up to the whole.
#pragma once

#include "table.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace qkprof {

enum class Step : std::uint8_t {
    start,
    reading,
    calibration,
    inputs,
    verification,
    counting,
    preparing,
    warm_up,
    timing,
    noise,
    judging,
    writing,
    printing,
    other
};
inline constexpr std::array all_steps = {
    Step::start,   Step::reading, Step::calibration, Step::inputs,  Step::verification, Step::counting, Step::preparing,
    Step::warm_up, Step::timing,  Step::noise,       Step::judging, Step::writing,      Step::printing, Step::other};

const char* name_of(Step step);

struct StepTime {
    Step step = Step::other;
    double seconds = 0;
    std::int64_t times = 0;  // how often it began; of `other` 0: it is what is left

    friend bool operator==(const StepTime&, const StepTime&) = default;
};

// Since some moment before the process; never goes back.
std::chrono::nanoseconds steady_now();

class Timings {
  public:
    using Now = std::function<std::chrono::nanoseconds()>;
    // All since `started` is the step start, until ready().
    explicit Timings(std::chrono::nanoseconds started, Now now = steady_now);
    // From here on what is in no step is `other`. Not within a step.
    void ready();
    std::chrono::nanoseconds now() const { return now_(); }

    // A step, from the making of this to its end. Those of one Timings are nested. Of null nothing is kept.
    class Scope {
      public:
        Scope(Timings* timings, Step step);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        Scope(Scope&&) = delete;
        Scope& operator=(Scope&&) = delete;

      private:
        Timings* timings_;
    };
    [[nodiscard]] Scope during(Step step) { return {this, step}; }

    // Of the steps that were begun, and `other`, in the order of all_steps: all the time until now.
    std::vector<StepTime> so_far();

  private:
    // Gives the time since the last call to the innermost step.
    void charge();

    struct Kept {
        std::chrono::nanoseconds time = {};
        std::int64_t times = 0;
    };
    Now now_;
    std::chrono::nanoseconds last_;
    std::vector<Step> open_ = {Step::start};  // the innermost is the last
    std::array<Kept, all_steps.size()> kept_ = {};
};

// A row a step, with its share, and one of all; for people and programs.
Table timings_table(const std::vector<StepTime>& timings);

}  // namespace qkprof
