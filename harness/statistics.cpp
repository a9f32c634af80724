#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace qkprof {
namespace {

// The samples of one thing, sorted, and where each of them then stands: a resample is a count for each place.
struct Ranked {
    std::vector<double> sorted;
    std::vector<std::uint32_t> place;

    explicit Ranked(const std::vector<double>& samples) : sorted(samples.size()), place(samples.size()) {
        std::vector<std::uint32_t> order(samples.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return samples[a] < samples[b]; });
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            sorted[i] = samples[order[i]];
            place[order[i]] = i;
        }
    }

    // Of the drawn samples; as profile.h's median(). `counts` is all zero before and after.
    double median(const std::vector<std::uint32_t>& drawn, std::vector<std::uint32_t>& counts) const {
        for (const std::uint32_t i : drawn) {
            ++counts[place[i]];
        }
        const std::size_t n = sorted.size();
        std::size_t lower = 0;  // of the drawn ones in order, the middle one or the first of the middle two
        std::size_t passed = counts[0];
        for (; passed <= (n - 1) / 2; passed += counts[lower]) {
            ++lower;
        }
        std::size_t upper = lower;
        for (; passed <= n / 2; passed += counts[upper]) {
            ++upper;
        }
        std::fill_n(counts.begin(), n, 0U);
        return lower == upper ? sorted[lower] : (sorted[lower] + sorted[upper]) / 2;
    }
};

// SplitMix64: several times as fast as the standard's generators, whose distributions, too, differ from one library to
// the next.
class Random {
  public:
    // Uniform in [0, n).
    std::uint32_t below(std::uint32_t n) {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t bits = state_;
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
        bits ^= bits >> 31U;
        return static_cast<std::uint32_t>(((bits >> 32U) * n) >> 32U);
    }

  private:
    std::uint64_t state_ = 20260;  // any number, but always the same
};

double quantile(const std::vector<double>& sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto lower = static_cast<std::size_t>(place);
    return std::lerp(sorted[lower], sorted[std::min(lower + 1, sorted.size() - 1)], place - std::floor(place));
}

}  // namespace

std::vector<double> bootstrap(const std::vector<Together>& groups, const Statistic& statistic, std::size_t resamples) {
    std::vector<std::vector<Ranked>> ranked;
    std::size_t things = 0;
    std::size_t most = 0;
    for (const Together& group : groups) {
        ranked.emplace_back(group.by_thing.begin(), group.by_thing.end());
        things += group.by_thing.size();
        most = std::max(most, group.by_thing.front().size());
    }
    Random random;
    std::vector<std::uint32_t> drawn;
    std::vector<std::uint32_t> counts(most);
    std::vector<double> medians(things);
    std::vector<double> values;
    values.reserve(resamples);
    for (std::size_t resample = 0; resample < resamples; ++resample) {
        auto median = medians.begin();
        for (const std::vector<Ranked>& group : ranked) {
            const auto n = static_cast<std::uint32_t>(group.front().sorted.size());
            drawn.resize(n);
            std::generate(drawn.begin(), drawn.end(), [&] { return random.below(n); });
            for (const Ranked& thing : group) {
                *median++ = thing.median(drawn, counts);
            }
        }
        const double value = statistic(medians);
        if (std::isfinite(value)) {
            values.push_back(value);
        }
    }
    std::sort(values.begin(), values.end());
    return values;
}

Interval interval_of(const std::vector<double>& sorted, double in_each_tail) {
    return {quantile(sorted, in_each_tail), quantile(sorted, 1 - in_each_tail)};
}

double least_error(std::size_t samples) {
    return std::ldexp(1.0, -static_cast<int>(std::min<std::size_t>(samples, 1000)));
}

std::size_t least_samples(double error) {
    return std::max(fewest_samples, static_cast<std::size_t>(std::ceil(-std::log2(error))));
}

std::vector<bool> holm(const std::vector<double>& p_values, double level) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p_values[a] < p_values[b]; });
    std::vector<bool> rejected(p_values.size(), false);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (p_values[order[i]] > level / static_cast<double>(order.size() - i)) {
            break;
        }
        rejected[order[i]] = true;
    }
    return rejected;
}

}  // namespace qkprof
