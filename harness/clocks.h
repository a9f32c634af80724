// The clocks at which samples of time were taken, and whether the GPU was held back meanwhile. Knows nothing of NVML
// but the meaning of its bits: cuda/gpu_monitor.h reads, this decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qkprof {

// What the GPU said of its clocks at one moment.
struct ClockReading {
    std::optional<double> sm_mhz;
    std::optional<double> memory_mhz;
    std::optional<std::uint64_t> reasons;  // why the clocks are as they are, in NVML's bits
    std::string failure;                   // why one of the above is missing, as a clause
};

// All reasons in words, in the order of the bits. A bit without a known meaning is named by its number.
std::vector<std::string> clock_reasons(std::uint64_t bits);

// Those by which the GPU runs slower than it is set to: heat, power, a slowdown by the hardware, and a bit without a
// known meaning. An idle GPU and clocks that someone has set are no such reasons.
std::vector<std::string> throttle_reasons(std::uint64_t bits);

// One sample of time.
struct Sample {
    double seconds = 0;                         // per call
    std::optional<double> stream_seconds = {};  // per call, where calls were also launched one by one in a stream
    std::optional<double> sm_mhz;
    std::optional<double> memory_mhz;
    std::optional<std::vector<std::string>> throttle_reasons;  // none: it was not throttled; unknown: nobody watched
    std::string failure;                                       // why one of the above is unknown, as a clause
};

// The sample that lies between two readings: clocks are the mean of the two, and what throttled at either is a reason.
Sample sample_between(const ClockReading& before, double seconds, const ClockReading& after);

}  // namespace qkprof
