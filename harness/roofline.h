// A measurement against the floor and the roofline: at each level of memory the bytes that were counted and those that
// the operation must move there; and, by the rates that copies reached in the same run, what bounds its time. Pure
// functions of a profile: no device.
#pragma once

#include "profile.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qkprof {

// l1: what warps ask for in global memory. l2: between the SMs and the L2. dram: device memory. shared: through shared
// memory.
enum class Level : std::uint8_t { l1, l2, dram, shared };

inline constexpr std::array levels = {Level::l1, Level::l2, Level::dram, Level::shared};

constexpr const char* name_of(Level level) {
    return level == Level::l1 ? "L1" : level == Level::l2 ? "L2" : level == Level::dram ? "DRAM" : "shared";
}

// What one call moved at one level.
struct Traffic {
    Counter bytes;
    double floor = 0;  // bytes that no implementation can avoid; 0 where the operation needs nothing of this level

    // bytes over floor: unknown where the bytes are, and where the floor is 0.
    Counter ratio() const;
};

// The floor of a ceiling, which computes nothing, is that of a copy: neither gamma nor tables. In the DRAM a cold call
// must read its inputs, and write what the L2 cannot hold back; a warm call must move what the L2 cannot hold.
Traffic traffic_of(const Measurement& measurement, Level level, std::int64_t l2_bytes);

// Bytes per second that a level can reach, or has been seen to.
struct Ceiling {
    std::optional<double> rate;
    std::string source;  // the measurement that reached it, or what it was computed from
    double spread = 0;   // relative, of that measurement's times
    std::string reason;  // why there is none, as a clause
};

// What the time of a measurement is bound by.
struct Bound {
    // "DRAM" or "L2": the level whose bytes take longest at its ceiling. "latency": a copy of the same problem, too,
    // takes over twice as long as its bytes do. Empty: unknown.
    std::string by;
    // Of a level: the time of its bytes at the ceiling over the time measured. Of latency: the copy's time over the
    // time measured.
    Counter fraction;  // its reason is that of `by`, too
};

class Roofline {
  public:
    explicit Roofline(const Profile& profile);

    Traffic traffic(const Measurement& measurement, Level level) const {
        return traffic_of(measurement, level, l2_bytes_);
    }
    Bound bound_of(const Measurement& measurement) const;

    // The numbers of all this, by the name of their metric, in the order of metrics().
    std::vector<std::pair<std::string, Counter>> numbers_of(const Measurement& measurement) const;

    // Sentences: figures over what is physically possible, or under it (a cold call that reads less from the DRAM than
    // its inputs are), which are errors of measurement.
    std::vector<std::string> errors_of(const Measurement& measurement) const;

    // The best rate of a copy that ran cold on a problem that streams.
    const Ceiling& dram() const { return dram_; }
    // The best rate of a copy that ran warm, stayed in the L2 and filled enough of it that launching counts for little.
    const Ceiling& l2() const { return l2_; }
    // What the clock and the width of the device memory give.
    const Ceiling& dram_on_paper() const { return dram_on_paper_; }

  private:
    bool stays_in_l2(const Measurement& measurement) const;
    void raise(Ceiling& ceiling, const Measurement& measurement, Level level) const;
    // The time of the bytes at the ceiling over the time measured; unknown where one of them is.
    std::optional<double> fraction_at(const Ceiling& ceiling, Level level, const Measurement& measurement) const;
    // The level whose bytes take longest, as a Bound without regard to latency; `by` is empty where neither is known.
    Bound busiest(const Measurement& measurement) const;

    std::int64_t l2_bytes_;
    CopyFractions fractions_;
    Ceiling dram_on_paper_;
    Ceiling dram_;
    Ceiling l2_;
    std::map<std::string, double, std::less<>> busy_;  // of the copies, the fraction of busiest, by problem and state
};

}  // namespace qkprof
