#include "clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qkprof {
namespace {

struct Reason {
    std::uint64_t bit;
    const char* words;
    bool throttles;
};

// nvmlClocksThrottleReason* of NVML's documentation (nvmlClocksEventReason* in its newer ones).
constexpr std::array known_reasons = {
    Reason{0x001, "idle", false},
    Reason{0x002, "clocks set by an application", false},
    Reason{0x004, "power cap", true},
    Reason{0x008, "hardware slowdown", true},
    Reason{0x010, "clocks of its sync boost group", false},
    Reason{0x020, "thermal slowdown by the driver", true},
    Reason{0x040, "thermal slowdown by the hardware", true},
    Reason{0x080, "power brake by the hardware", true},
    Reason{0x100, "clocks set for a display", false},
};

std::vector<std::string> words_of(std::uint64_t bits, bool throttling_alone) {
    std::vector<std::string> words;
    for (const Reason& reason : known_reasons) {
        if ((bits & reason.bit) != 0 && (reason.throttles || !throttling_alone)) {
            words.emplace_back(reason.words);
        }
        bits &= ~reason.bit;
    }
    if (bits != 0) {
        words.push_back(fmt::format("a reason that this qkprof does not know ({:#x})", bits));
    }
    return words;
}

std::optional<double> mean(const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional((*a + *b) / 2) : std::nullopt;
}

}  // namespace

std::vector<std::string> clock_reasons(std::uint64_t bits) { return words_of(bits, false); }

std::vector<std::string> throttle_reasons(std::uint64_t bits) { return words_of(bits, true); }

Sample sample_between(const ClockReading& before, double seconds, const ClockReading& after) {
    Sample sample;
    sample.seconds = seconds;
    sample.sm_mhz = mean(before.sm_mhz, after.sm_mhz);
    sample.memory_mhz = mean(before.memory_mhz, after.memory_mhz);
    if (before.reasons && after.reasons) {
        sample.throttle_reasons = throttle_reasons(*before.reasons | *after.reasons);
    }
    sample.failure = before.failure.empty() ? after.failure : before.failure;
    return sample;
}

}  // namespace qkprof
