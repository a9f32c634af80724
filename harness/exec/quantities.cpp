#include "quantities.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace qkprof::exec {
namespace {

// Three digits, with no exponent.
std::string three_digits(double value) {
    return value < 9.995   ? fmt::format("{:.2f}", value)
           : value < 99.95 ? fmt::format("{:.1f}", value)
                           : fmt::format("{:.0f}", value);
}

}  // namespace

std::string time_text(double seconds) {
    if (seconds == 0) {
        return "0 s";
    }
    struct Unit {
        double seconds;
        const char* name;
    };
    constexpr std::array units = {Unit{1e-9, "ns"}, Unit{1e-6, "us"}, Unit{1e-3, "ms"}};
    for (const Unit& unit : units) {
        if (seconds < unit.seconds * 999.5) {
            return fmt::format("{} {}", three_digits(seconds / unit.seconds), unit.name);
        }
    }
    constexpr double longest_in_seconds = 600;
    return seconds < longest_in_seconds ? three_digits(seconds) + " s" : three_digits(seconds / 60) + " min";
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t step = 1024;
    if (bytes < step) {
        return fmt::format("{} B", bytes);
    }
    constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto value = static_cast<double>(bytes) / step;
    std::size_t unit = 0;
    for (; value >= step - 0.5 && unit + 1 < units.size(); ++unit) {
        value /= step;
    }
    return fmt::format("{} {}", three_digits(value), units.at(unit));
}

std::string count_text(std::uint64_t count) {
    const std::string digits = std::to_string(count);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) {
            text += ' ';
        }
        text += digits[i];
    }
    return text;
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

}  // namespace qkprof::exec
