// How often something happens, where the text does not always say it exactly.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace qkprof::hlo {

struct Count {
    std::uint64_t least = 0;
    std::optional<std::uint64_t> most = 0;  // none: unknown, however many

    bool exact() const { return most == least; }
    // Beyond 64 bits: more than `least`, which is the largest number.
    bool beyond() const { return least == std::numeric_limits<std::uint64_t>::max(); }
    bool none() const { return most == std::uint64_t{0}; }
    bool holds(double value) const {
        return value >= static_cast<double>(least) && (!most || value <= static_cast<double>(*most));
    }

    friend bool operator==(const Count&, const Count&) = default;
};

inline constexpr Count once = {1, 1};
inline constexpr Count at_least_once = {1, std::nullopt};
inline constexpr Count unknown_times = {0, std::nullopt};

// What exceeds 64 bits becomes unknown at the top, and stays at the largest number at the bottom.
Count operator+(const Count& a, const Count& b);
Count operator*(const Count& a, const Count& b);
// One or the other.
Count either(const Count& a, const Count& b);

// "1", "0 to 3", "at least 1", "unknown", "more than can be counted".
std::string text_of(const Count& count);

}  // namespace qkprof::hlo
