#include "noise.h"

#include "statistics.h"

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qkprof {
namespace {

double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The sum of the squared distances from the mean.
double squares_of(const std::vector<double>& values) {
    const double mean = mean_of(values);
    return std::accumulate(values.begin(), values.end(), 0.0,
                           [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
}

std::vector<double> log_times(const Runs& runs) {
    std::vector<double> logs(runs.runs.size());
    std::transform(runs.runs.begin(), runs.runs.end(), logs.begin(),
                   [](const Runs::Run& run) { return run.log_time(); });
    return logs;
}

// Of the k-th run: the run itself is 0.
const std::vector<double>& seconds_of(const Measurement& m, std::size_t run) {
    return run == 0 ? m.seconds : m.aa_seconds.at(run - 1);
}

}  // namespace

double Runs::Run::log_time() const {
    return std::log(median(seconds)) - (ceiling.empty() ? 0 : std::log(median(ceiling)));
}

double Runs::log_time() const { return median(log_times(*this)); }

RunTimes::RunTimes(const Profile& profile, Timed timed) : timed_(timed) {
    for (const Measurement& m : profile.measurements) {
        if (m.family == Family::ceiling && !m.seconds.empty()) {
            const Measurement*& fastest = ceilings_[ceiling_key(m)];
            if (fastest == nullptr || median(m.seconds) < median(fastest->seconds)) {
                fastest = &m;
            }
        }
    }
    for (const Measurement& m : profile.measurements) {
        const Runs runs = of(m);
        if (runs.runs.size() > 1) {
            Deviation& all = deviations_[ceiling_key(m)];
            all.value += squares_of(log_times(runs));
            all.degrees_of_freedom += static_cast<double>(runs.runs.size() - 1);
        }
    }
    for (auto& [key, all] : deviations_) {
        all.value = std::sqrt(all.value / all.degrees_of_freedom);
    }
}

Runs RunTimes::of(const Measurement& m) const {
    Runs result;
    if (m.seconds.empty()) {
        result.unknown = m.no_time_reason.empty() ? "it has no time" : m.no_time_reason;
        return result;
    }
    if (m.seconds.size() < fewest_samples) {
        result.unknown =
            fmt::format("{} samples of its time are too few: {} are needed", m.seconds.size(), fewest_samples);
        return result;
    }
    const Measurement* ceiling = nullptr;
    if (timed_ == Timed::of_ceiling) {
        const auto found = ceilings_.find(ceiling_key(m));
        ceiling = found == ceilings_.end() ? nullptr : found->second;
        if (ceiling == nullptr || ceiling->seconds.size() < fewest_samples) {
            result.unknown = "no copy of the same problem and state was timed often enough";
            return result;
        }
    }
    for (std::size_t run = 0; run <= m.aa_seconds.size(); ++run) {
        const bool has_ceiling = ceiling == nullptr || (run <= ceiling->aa_seconds.size() &&
                                                        seconds_of(*ceiling, run).size() >= fewest_samples);
        if (seconds_of(m, run).size() >= fewest_samples && has_ceiling) {
            result.runs.push_back({.seconds = seconds_of(m, run),
                                   .ceiling = ceiling == nullptr ? std::vector<double>() : seconds_of(*ceiling, run)});
        }
    }
    return result;
}

std::optional<RunTimes::Deviation> RunTimes::deviation(const Measurement& m) const {
    const auto all = deviations_.find(ceiling_key(m));
    if (all == deviations_.end()) {
        return {};
    }
    Deviation deviation = all->second;
    const Runs runs = of(m);
    if (runs.runs.size() > 1) {
        deviation.value = std::max(deviation.value,
                                   std::sqrt(squares_of(log_times(runs)) / static_cast<double>(runs.runs.size() - 1)));
    }
    return deviation;
}

Counter RunTimes::noise(const Measurement& m) const {
    const std::optional<Deviation> found = deviation(m);
    return found && !m.aa_seconds.empty()
               ? Counter{.value = noise_between(*found, 1, 1), .source = Source::counted, .reason = {}}
               : Counter{.value = {}, .source = Source::counted, .reason = "there is no A/A measurement of it"};
}

double noise_between(const RunTimes::Deviation& deviation, std::size_t base, std::size_t now) {
    constexpr double in_each_tail = 0.0005;
    const boost::math::students_t distribution(deviation.degrees_of_freedom);
    const double quantile = boost::math::quantile(boost::math::complement(distribution, in_each_tail));
    // Of a median of normal values, for many; of one or two it is their mean.
    const auto variance = [](std::size_t runs) { return (runs < 3 ? 1 : M_PI_2) / static_cast<double>(runs); };
    return std::expm1(quantile * deviation.value * std::sqrt(variance(base) + variance(now)));
}

}  // namespace qkprof
