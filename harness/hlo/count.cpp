#include "count.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace qkprof::hlo {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

using Most = std::optional<std::uint64_t>;

Most sum(std::uint64_t a, std::uint64_t b) { return a > largest - b ? Most() : Most(a + b); }
Most product(std::uint64_t a, std::uint64_t b) { return b != 0 && a > largest / b ? Most() : Most(a * b); }

}  // namespace

Count operator+(const Count& a, const Count& b) {
    return {sum(a.least, b.least).value_or(largest), a.most && b.most ? sum(*a.most, *b.most) : Most()};
}

Count operator*(const Count& a, const Count& b) {
    const bool never = a.none() || b.none();
    return {product(a.least, b.least).value_or(largest), never              ? Most(0)
                                                         : a.most && b.most ? product(*a.most, *b.most)
                                                                            : Most()};
}

Count either(const Count& a, const Count& b) {
    return {std::min(a.least, b.least), a.most && b.most ? Most(std::max(*a.most, *b.most)) : Most()};
}

std::string text_of(const Count& count) {
    return count.beyond()    ? "more than can be counted"
           : count.exact()   ? fmt::format("{}", count.least)
           : count.most      ? fmt::format("{} to {}", count.least, *count.most)
           : count.least > 0 ? fmt::format("at least {}", count.least)
                             : "unknown";
}

}  // namespace qkprof::hlo
