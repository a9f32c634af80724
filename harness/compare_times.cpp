#include "compare_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkprof {
namespace {

// For the bootstrap a group is a run: what was sampled by turns. Samples of a run and of its copy of which some were
// throttled do not lie side by side and are drawn apart.
void add_groups(std::vector<Together>& groups, const Runs& runs) {
    for (const Runs::Run& run : runs.runs) {
        if (run.ceiling.size() == run.seconds.size()) {
            groups.push_back({{run.seconds, run.ceiling}});
            continue;
        }
        groups.push_back({{run.seconds}});
        if (!run.ceiling.empty()) {
            groups.push_back({{run.ceiling}});
        }
    }
}

// Of the logarithm of NEW's time over BASE's, 99 %.
Interval interval_of_log_ratio(const Runs& base, const Runs& now, Timed timed) {
    constexpr std::size_t resamples = 4000;  // 20 beyond either end
    std::vector<Together> groups;
    add_groups(groups, base);
    add_groups(groups, now);
    const std::size_t things = timed == Timed::of_ceiling ? 2 : 1;
    // Of the runs' log_time() the median again: one run with many outliers moves it little.
    const auto log_time = [things](std::span<const double> medians) {
        std::vector<double> logs;
        for (std::size_t i = 0; i < medians.size(); i += things) {
            logs.push_back(std::log(medians[i]) - (things == 2 ? std::log(medians[i + 1]) : 0));
        }
        return median(std::move(logs));
    };
    const std::size_t of_base = base.runs.size() * things;
    return interval_of(bootstrap(
                           groups,
                           [&](std::span<const double> medians) {
                               return log_time(medians.subspan(of_base)) - log_time(medians.first(of_base));
                           },
                           resamples),
                       tail);
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace

void judge_time(Difference& d, const Runs& base, const Runs& now, Timed timed,
                const std::optional<RunTimes::Deviation>& of_base, const std::optional<RunTimes::Deviation>& of_now) {
    const double log_ratio = now.log_time() - base.log_time();
    const Interval of_slowness = interval_of_log_ratio(base, now, timed);
    const bool first = of_base && (!of_now || of_base->value >= of_now->value);
    d.noise_measured = of_base || of_now;
    d.noise = d.noise_measured ? noise_between(first ? *of_base : *of_now, base.runs.size(), now.runs.size())
                               : d.allowance.noise_without_aa;

    // A fraction of the ceiling falls where the time rises.
    const double sign = timed == Timed::of_ceiling ? -1 : 1;
    d.base_value = std::exp(sign * base.log_time());
    d.now_value = std::exp(sign * now.log_time());
    d.change = std::expm1(sign * log_ratio);
    d.interval = {std::expm1(sign * (sign > 0 ? of_slowness.low : of_slowness.high)),
                  std::expm1(sign * (sign > 0 ? of_slowness.high : of_slowness.low))};

    const double allowed = std::log1p(d.allowance.relative);
    const double noise = std::log1p(*d.noise);
    const double limit = std::max(allowed, noise);
    d.finds = std::expm1(noise + (of_slowness.high - of_slowness.low) / 2 + limit);
    if (of_slowness.low > limit) {
        d.standing = Standing::worse;
    } else if (of_slowness.high < -limit) {
        d.standing = Standing::better;
    } else if (noise > allowed) {
        d.standing = Standing::inconclusive;
        d.reason = d.noise_measured ? "the noise between runs is more than the threshold"
                                    : "the noise between runs was not measured (run --aa), and what is taken for it is "
                                      "more than the threshold";
    } else if (of_slowness.high <= allowed && of_slowness.low >= -allowed) {
        d.standing = Standing::same;
    } else {
        d.standing = Standing::inconclusive;
        d.reason = fmt::format("the interval reaches over the threshold of {}", percent(d.allowance.relative));
    }
}

}  // namespace qkprof
