#include "names.h"

#include "error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace qkprof {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

// The least number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);   // distances of a's first i characters to each beginning of b
    std::vector<std::size_t> last(b.size() + 1);  // of the first i - 1
    std::vector<std::size_t> last_but_one(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(last_but_one, last);
        std::swap(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], last_but_one[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

}  // namespace

std::vector<std::string> split_list(std::string_view list, std::string_view what) {
    std::vector<std::string> items;
    for (std::size_t start = 0; start <= list.size();) {
        const std::size_t end = std::min(list.find(',', start), list.size());
        const std::string_view item = trimmed(list.substr(start, end - start));
        if (item.empty()) {
            throw InputError(
                fmt::format("{} '{}' has an empty item: write names with single commas between them.", what, list));
        }
        items.emplace_back(item);
        start = end + 1;
    }
    return items;
}

bool matches_glob(std::string_view pattern, std::string_view name) {
    // On a mismatch go back to the last star and let it take one character more: no recursion, no exponential case.
    constexpr std::size_t none = std::string_view::npos;
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = none;
    std::size_t star_name = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            star_name = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != none) {
            p = star + 1;
            n = ++star_name;
        } else {
            return false;
        }
    }
    return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                       [](char c) { return c == '*'; });
}

std::string nearest_name(std::string_view typed, std::span<const std::string> names) {
    std::string nearest;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const std::string& name : names) {
        const std::size_t distance = edit_distance(typed, name);
        if (distance < least && distance * 2 <= std::max(typed.size(), name.size())) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

std::string joined(std::span<const std::string> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
        text += names[i];
    }
    return text;
}

std::string suggestion(std::string_view typed, std::span<const std::string> names) {
    if (names.empty()) {
        return " There is none.";
    }
    const std::string nearest = nearest_name(typed, names);
    return nearest.empty() ? fmt::format(" There are {}.", joined(names)) : fmt::format(" Did you mean '{}'?", nearest);
}

long long parse_integer(std::string_view text, std::string_view what, long long least, long long most) {
    long long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
        throw InputError(fmt::format("{} '{}' is not a whole number.", what, text));
    }
    if (error == std::errc::result_out_of_range || value < least || value > most) {
        throw InputError(fmt::format("{} {} is out of range: it must lie between {} and {}.", what, text, least, most));
    }
    return value;
}

long long parse_bytes(std::string_view text, std::string_view what) {
    long long unit = 1;
    std::string_view digits = text;
    if (!text.empty()) {
        const std::size_t suffix = std::string_view("KMG").find(text.back());
        if (suffix != std::string_view::npos) {
            unit = 1LL << (10 * (suffix + 1));
            digits.remove_suffix(1);
        }
    }
    long long value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value <= 0 ||
        value > std::numeric_limits<long long>::max() / unit) {
        throw InputError(
            fmt::format("{} '{}' is not a size: write a positive number of bytes, or one with the suffix K, "
                        "M or G (powers of 1024).",
                        what, text));
    }
    return value * unit;
}

}  // namespace qkprof
