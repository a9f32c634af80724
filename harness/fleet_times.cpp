#include "fleet_times.h"

#include "parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace qkprof {
namespace {

// Of Gaussian noise one in three million is beyond it: there are hundreds of GPUs and hundreds of measurements.
constexpr double deviations = 5;
// Fewer values do not show how far they differ.
constexpr std::size_t fewest_for_spread = 4;
// With as many the others' spread is known well enough to stand for the noise.
constexpr std::size_t enough_for_noise = fewest_samples;
// Over as many measurements the noise of each evens out, and one of them alone may be an accident; so may be this
// fraction of them.
constexpr std::size_t many_measurements = 10;
constexpr double accidental = 0.05;
// An accident of this many times the limit is worth a look even where it is one of hundreds.
constexpr double far_beyond = 2;

// The standard deviation, as the middle of the distances from the middle tells it: half of the values but one may be
// anywhere.
double robust_deviation(std::vector<double> values) {
    constexpr double of_gaussian = 1.4826;
    const double middle = median(values);
    for (double& value : values) {
        value = std::abs(value - middle);
    }
    return of_gaussian * median(std::move(values));
}

std::vector<double> without(const std::vector<double>& values, std::size_t place) {
    std::vector<double> rest = values;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place));
    return rest;
}

// What the others differ among themselves, of a logarithm; 0 where they are too few to tell.
double limit_by_spread(const std::vector<double>& rest) {
    return rest.size() < fewest_for_spread ? 0 : deviations * robust_deviation(rest);
}

// One GPU's time of one measurement. Differences and limits are of logarithms.
struct TimeCell {
    bool judged = false;
    double difference = 0;  // from the middle of the others
    double noise = 0;       // between two runs
    double limit = 0;
    std::optional<Interval> interval;

    bool slower() const { return interval && interval->low > limit; }
};

// What the bootstrap draws for one measurement and one GPU.
struct Drawn {
    std::size_t own = 0;              // runs of the GPU
    std::vector<std::size_t> others;  // runs of each other, where their samples are drawn too
    double rest = 0;                  // otherwise the middle of the others
};

// Of the middle of the differences over the measurements, 99 %. Samples of few others are drawn too; of many, the
// middle hardly moves, and they would take most of the time. Measurements are drawn apart: the drift that those of one
// problem share is less than the limits.
Interval interval_of_difference(const std::vector<const TimedTogether*>& measurements, std::size_t gpu,
                                std::size_t resamples) {
    std::vector<Together> groups;
    std::vector<Drawn> drawn;
    const auto draw = [&](const Runs& runs) {
        for (const Runs::Run& run : runs.runs) {
            groups.push_back({{run.seconds}});
        }
        return runs.runs.size();
    };
    for (const TimedTogether* m : measurements) {
        Drawn one = {.own = draw(m->of[gpu]), .others = {}, .rest = 0};
        std::vector<const Runs*> others;
        for (std::size_t other = 0; other < m->of.size(); ++other) {
            if (other != gpu && !m->of[other].runs.empty()) {
                others.push_back(&m->of[other]);
            }
        }
        if (others.size() < enough_for_noise) {
            for (const Runs* runs : others) {
                one.others.push_back(draw(*runs));
            }
        } else {
            std::vector<double> logs(others.size());
            std::transform(others.begin(), others.end(), logs.begin(),
                           [](const Runs* runs) { return runs->log_time(); });
            one.rest = median(std::move(logs));
        }
        drawn.push_back(std::move(one));
    }
    std::vector<double> differences;
    std::vector<double> rest;
    const auto statistic = [&](std::span<const double> medians) {
        const auto log_time = [&](std::size_t runs) {  // as Runs::log_time() of those that come next
            std::vector<double> logs(runs);
            std::transform(medians.begin(), medians.begin() + static_cast<std::ptrdiff_t>(runs), logs.begin(),
                           [](double seconds) { return std::log(seconds); });
            medians = medians.subspan(runs);
            return median(std::move(logs));
        };
        differences.clear();
        for (const Drawn& one : drawn) {
            const double own = log_time(one.own);
            rest.clear();
            for (const std::size_t runs : one.others) {
                rest.push_back(log_time(runs));
            }
            differences.push_back(own - (rest.empty() ? one.rest : median(rest)));
        }
        return median(differences);
    };
    return interval_of(bootstrap(groups, statistic, resamples), tail);
}

// A place a GPU.
std::vector<TimeCell> judge(const TimedTogether& measurement) {
    std::vector<TimeCell> cells(measurement.of.size());
    std::vector<std::size_t> gpus;
    std::vector<double> logs;
    std::size_t all_runs = 0;
    for (std::size_t gpu = 0; gpu < cells.size(); ++gpu) {
        if (const Runs& runs = measurement.of[gpu]; !runs.runs.empty()) {
            gpus.push_back(gpu);
            logs.push_back(runs.log_time());
            all_runs += runs.runs.size();
        }
    }
    if (gpus.size() < 2) {
        return cells;
    }
    std::map<std::size_t, double> noise_of;  // by the number of runs
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const std::size_t runs = measurement.of[gpus[i]].runs.size();
        const auto [noise, added] = noise_of.try_emplace(runs, 0);
        if (added) {
            noise->second =
                std::log1p(measurement.deviation ? noise_between(*measurement.deviation, all_runs - runs, runs)
                                                 : measurement.allowance.noise_without_aa);
        }
        const std::vector<double> rest = without(logs, i);
        TimeCell& cell = cells[gpus[i]];
        cell.judged = true;
        cell.difference = logs[i] - median(rest);
        cell.noise = noise->second;
        cell.limit = std::max({std::log1p(measurement.allowance.relative), cell.noise, limit_by_spread(rest)});
        if (cell.difference > cell.limit) {
            constexpr std::size_t resamples = 4000;  // 20 beyond either end
            cell.interval = interval_of_difference({&measurement}, gpus[i], resamples);
        }
    }
    return cells;
}

Slowness slowness_of(std::string name, double difference, double limit, const std::optional<Interval>& interval) {
    Slowness slowness = {
        .name = std::move(name), .change = std::expm1(difference), .interval = {}, .limit = std::expm1(limit)};
    if (interval) {
        slowness.interval = {std::expm1(interval->low), std::expm1(interval->high)};
    }
    return slowness;
}

class Judge {
  public:
    Judge(const std::vector<TimedTogether>& measurements, std::size_t gpus)
        : measurements_(measurements), cells_(measurements.size()), verdicts_(gpus) {
        for_each_chunk(static_cast<std::int64_t>(measurements.size()), 1,
                       [&](std::int64_t, std::int64_t first, std::int64_t) {
                           const auto i = static_cast<std::size_t>(first);
                           cells_[i] = judge(measurements_[i]);
                       });
    }

    std::vector<TimeVerdict> verdicts() {
        std::vector<std::size_t> judged;
        std::vector<double> middles;
        for (std::size_t gpu = 0; gpu < verdicts_.size(); ++gpu) {
            look_at_each(gpu);
            if (verdicts_[gpu].judged > 0) {
                judged.push_back(gpu);
                middles.push_back(middle_difference(gpu));
            }
        }
        for_each_chunk(static_cast<std::int64_t>(judged.size()), 1, [&](std::int64_t, std::int64_t i, std::int64_t) {
            const auto place = static_cast<std::size_t>(i);
            decide(judged[place], middles[place], without(middles, place));
        });
        return std::move(verdicts_);
    }

  private:
    // Calls f(measurement, cell) for what could be judged of the GPU.
    template <class Function>
    void for_each_cell(std::size_t gpu, const Function& f) const {
        for (std::size_t i = 0; i < measurements_.size(); ++i) {
            if (cells_[i][gpu].judged) {
                f(measurements_[i], cells_[i][gpu]);
            }
        }
    }

    double middle_difference(std::size_t gpu) const {
        std::vector<double> differences;
        for_each_cell(gpu, [&](const TimedTogether&, const TimeCell& cell) { differences.push_back(cell.difference); });
        return median(std::move(differences));
    }

    void look_at_each(std::size_t gpu) {
        TimeVerdict& verdict = verdicts_[gpu];
        const TimedTogether* worst = nullptr;
        const TimeCell* its_cell = nullptr;
        const auto rank = [](const TimeCell& cell) { return std::pair(cell.slower(), cell.difference - cell.limit); };
        for_each_cell(gpu, [&](const TimedTogether& m, const TimeCell& cell) {
            ++verdict.judged;
            verdict.slower += cell.slower() ? 1 : 0;
            if (worst == nullptr || rank(cell) > rank(*its_cell)) {
                worst = &m;
                its_cell = &cell;
            }
        });
        if (worst != nullptr) {
            verdict.worst = slowness_of(worst->name, its_cell->difference, its_cell->limit, its_cell->interval);
        }
    }

    // Of many measurements the quietest quarter's, of few the middle one's.
    double noise_over_all(std::size_t gpu) const {
        std::vector<double> noises;
        for_each_cell(gpu, [&](const TimedTogether&, const TimeCell& cell) { noises.push_back(cell.noise); });
        std::sort(noises.begin(), noises.end());
        return noises[noises.size() / (noises.size() < many_measurements ? 2 : 4)];
    }

    void decide(std::size_t gpu, double difference, const std::vector<double>& rest) {
        TimeVerdict& verdict = verdicts_[gpu];
        std::vector<const TimedTogether*> judged;
        std::vector<double> allowed;
        for_each_cell(gpu, [&](const TimedTogether& m, const TimeCell&) {
            judged.push_back(&m);
            allowed.push_back(std::log1p(m.allowance.relative));
        });
        const bool shown_by_others = rest.size() >= enough_for_noise && judged.size() >= many_measurements;
        const double noise = shown_by_others ? 0 : noise_over_all(gpu);
        const double limit = std::max({median(std::move(allowed)), noise, limit_by_spread(rest)});
        std::optional<Interval> interval;
        if (difference > limit) {
            constexpr std::size_t resamples = 1000;  // 5 beyond either end
            interval = interval_of_difference(judged, gpu, resamples);
        }
        verdict.overall = slowness_of({}, difference, limit, interval);
        const auto slower = static_cast<double>(verdict.slower);
        const auto all = static_cast<double>(judged.size());
        const bool in_many = slower > accidental * all && (slower > 1 || judged.size() < many_measurements);
        verdict.is_slower = in_many || (interval && interval->low > limit);
        const bool at_all = slower > (1 - confidence) * all ||
                            (slower > 0 && verdict.worst->change > far_beyond * verdict.worst->limit);
        if (!verdict.is_slower && interval) {
            verdict.doubt = "its samples scatter so much that it may be slower or not";
        } else if (!verdict.is_slower && at_all) {
            verdict.doubt =
                fmt::format("it was slower in {} of {} measurements, which may be an accident: measure it once more",
                            verdict.slower, verdict.judged);
        }
    }

    const std::vector<TimedTogether>& measurements_;
    std::vector<std::vector<TimeCell>> cells_;  // by measurement and GPU
    std::vector<TimeVerdict> verdicts_;
};

}  // namespace

std::vector<TimeVerdict> judge_times(const std::vector<TimedTogether>& measurements, std::size_t gpus) {
    return Judge(measurements, gpus).verdicts();
}

}  // namespace qkprof
