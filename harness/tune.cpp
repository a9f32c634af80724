#include "tune.h"

#include "profile.h"
#include "timing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>

namespace qkprof {
namespace {

// Whose graphs are held at once in the first round: hundreds would take much of the host's memory.
constexpr std::size_t timed_at_once = 64;

const Variant& ceiling_of(Backend backend) {
    const std::vector<Variant>& all = variants(backend);
    return *std::find_if(all.begin(), all.end(), [](const Variant& v) { return v.family == Family::ceiling; });
}

std::string words_of(const Parameters& parameters) {
    std::vector<std::string> words;
    for (const auto& [name, value] : parameters) {
        words.push_back(fmt::format("{} {}", name, value));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

// One call that is tried.
struct Trial {
    const Variant* variant = nullptr;
    Parameters parameters;
    std::optional<double> seconds;  // the median of the last round in which it was timed
    std::string no_time_reason;
};

// One problem with what is loaded for it, and the ceiling on it.
class ProblemTuning {
  public:
    ProblemTuning(Device& device, const TunePlan& plan, const Problem& problem, std::string place,
                  const TuneObserver& observer)
        : device_(device), plan_(plan), problem_(problem), place_(std::move(place)), observer_(observer) {
        const Variant& ceiling = ceiling_of(device.info().backend);
        ceiling_ = {
            .variant = &ceiling, .parameters = ceiling.standard_parameters(), .seconds = {}, .no_time_reason = {}};
    }

    // Appends the results; without the problem's last ones where it was interrupted.
    void run(std::vector<TuneResult>& results) {
        progress("inputs");
        const std::string failure = load();
        for (const Candidate& candidate : plan_.candidates) {
            TuneResult result;
            result.variant = candidate.variant;
            result.problem = problem_;
            result.failure = failure;
            if (failure.empty()) {
                search(candidate, result);
            }
            if (observer_.interrupted()) {
                return;
            }
            results.push_back(std::move(result));
            observer_.found(results.back());
        }
    }

  private:
    void progress(const std::string& step) const { observer_.progress(place_ + ": " + step); }

    Request request(const Parameters& parameters) const {
        return {.problem = problem_, .parameters = parameters, .limits = device_.info().limits};
    }

    // Why the problem cannot be had; empty where it is.
    std::string load() {
        if (problem_.rows() == 0) {
            return "an empty problem launches nothing";
        }
        std::int64_t scratch = 0;
        for (const Candidate& candidate : plan_.candidates) {
            const Variant& variant = *candidate.variant;
            for (const Parameters& parameters : combinations_of(candidate)) {
                const Request wanted = request(parameters);
                if (variant.scratch_bytes && variant.refusal(wanted).empty()) {
                    scratch = std::max(scratch, variant.scratch_bytes(wanted));
                }
            }
        }
        try {
            workload_ = device_.load(problem_, scratch);
        } catch (const InputError& error) {
            return clause_of(error);
        } catch (const CannotMeasure& error) {
            return clause_of(error);
        } catch (const std::bad_alloc&) {
            return "the memory of this machine is exhausted";
        }
        return {};
    }

    void search(const Candidate& candidate, TuneResult& result) {
        std::vector<Trial> trials = right_ones(candidate, result);
        if (trials.empty() || observer_.interrupted()) {
            return;
        }
        progress("warm up");
        device_.warm_up();
        for (std::size_t first = 0; first < trials.size() && !observer_.interrupted(); first += timed_at_once) {
            std::vector<Trial*> some;
            for (std::size_t i = first; i < std::min(first + timed_at_once, trials.size()); ++i) {
                some.push_back(&trials[i]);
            }
            progress(fmt::format("{}, time {} to {} of {} combinations", result.variant->name, first + 1,
                                 first + some.size(), trials.size()));
            time(some, first_round_samples);
        }
        const std::string failure = trials.front().no_time_reason;
        keep_best(trials);
        if (observer_.interrupted()) {
            return;
        }
        if (trials.empty()) {
            result.failure = failure;
            return;
        }
        progress(
            fmt::format("{}, time the best {}, {} samples each", result.variant->name, trials.size(), plan_.samples));
        std::vector<Trial*> all = {&ceiling_};
        std::transform(trials.begin(), trials.end(), std::back_inserter(all), [](Trial& trial) { return &trial; });
        time(all, plan_.samples);
        conclude(candidate, trials, result);
    }

    // The combinations that compute the right result.
    std::vector<Trial> right_ones(const Candidate& candidate, TuneResult& result) {
        const Variant& variant = *candidate.variant;
        const std::vector<Parameters> combinations = combinations_of(candidate);
        result.combinations = combinations.size();
        std::vector<Trial> right;
        for (std::size_t i = 0; i < combinations.size() && !observer_.interrupted(); ++i) {
            const std::string refusal = variant.refusal(request(combinations[i]));
            if (!refusal.empty()) {
                result.refused = result.refused.empty() ? refusal : result.refused;
                continue;
            }
            ++result.tried;
            progress(fmt::format("{}, verify {} of {}", variant.name, i + 1, combinations.size()));
            const Verification found = workload_->verify(variant, combinations[i]);
            if (found.correct) {
                right.push_back(
                    {.variant = &variant, .parameters = combinations[i], .seconds = {}, .no_time_reason = {}});
                continue;
            }
            result.wrong.push_back(fmt::format(
                "{} with {} on {}: {}.", variant.name, words_of(combinations[i]), tuning_text(problem_),
                found.fault.empty()
                    ? fmt::format("wrong: {} elements, error norm {:.1e}", found.wrong_elements, found.error_norm)
                    : found.fault));
        }
        if (result.tried > 0) {
            result.refused.clear();
            result.failure = right.empty() ? "no combination computes the right result" : "";
        }
        return right;
    }

    // Sets the medians; a call that cannot be timed has none, and the reason.
    void time(const std::vector<Trial*>& trials, int samples) {
        std::vector<std::unique_ptr<Timing>> timings;
        std::vector<Measurement> measurements(trials.size());
        std::vector<TimingJob> jobs;
        for (std::size_t i = 0; i < trials.size(); ++i) {
            Trial& trial = *trials[i];
            trial.seconds = {};
            measurements[i].variant = trial.variant->name;
            measurements[i].problem = problem_;
            measurements[i].non_standard = trial.parameters;  // all of them: so each has a name of its own
            try {
                timings.push_back(workload_->timing(*trial.variant, trial.parameters, CacheState::warm));
                jobs.push_back({*timings.back(), measurements[i]});
            } catch (const LaunchError& error) {
                trial.no_time_reason = clause_of(error);
            } catch (const CannotMeasure& error) {
                trial.no_time_reason = clause_of(error);
            }
        }
        if (!jobs.empty()) {
            run_timing(jobs, samples, observer_.interrupted);
        }
        for (std::size_t i = 0; i < trials.size(); ++i) {
            if (!measurements[i].seconds.empty()) {
                trials[i]->seconds = median(measurements[i].seconds);
            } else if (!measurements[i].no_time_reason.empty()) {
                trials[i]->no_time_reason = measurements[i].no_time_reason;
            }
        }
    }

    // Of those that have a time the fastest, in their order.
    static void keep_best(std::vector<Trial>& trials) {
        std::erase_if(trials, [](const Trial& trial) { return !trial.seconds; });
        if (trials.size() <= second_round_combinations) {
            return;
        }
        std::vector<double> seconds(trials.size());
        std::transform(trials.begin(), trials.end(), seconds.begin(), [](const Trial& t) { return *t.seconds; });
        std::nth_element(seconds.begin(), seconds.begin() + second_round_combinations - 1, seconds.end());
        const double last = seconds[second_round_combinations - 1];
        std::erase_if(trials, [&](const Trial& trial) { return *trial.seconds > last; });
        trials.resize(std::min(trials.size(), second_round_combinations));
    }

    void conclude(const Candidate& candidate, std::vector<Trial>& trials, TuneResult& result) const {
        const std::string failure = trials.front().no_time_reason;
        std::erase_if(trials, [](const Trial& trial) { return !trial.seconds; });
        if (trials.empty()) {
            result.failure = failure;
            return;
        }
        std::vector<double> seconds(trials.size());
        std::transform(trials.begin(), trials.end(), seconds.begin(), [](const Trial& t) { return *t.seconds; });
        const std::size_t best = winner_of(seconds);
        Parameters chosen;
        std::vector<std::string> given;
        for (const Parameter& parameter : result.variant->parameters) {
            if (parameter.tuned()) {
                chosen[parameter.name] = trials[best].parameters.at(parameter.name);
                if (candidate.non_standard.contains(parameter.name)) {
                    given.push_back(parameter.name);
                }
            }
        }
        std::sort(given.begin(), given.end());
        result.winner = {.problem = problem_,
                         .parameters = std::move(chosen),
                         .given = std::move(given),
                         .seconds = seconds[best],
                         .copy_seconds = ceiling_.seconds};
        const double winners = seconds[best];
        seconds.erase(seconds.begin() + static_cast<std::ptrdiff_t>(best));
        if (!seconds.empty()) {
            result.second_best = *std::min_element(seconds.begin(), seconds.end()) / winners - 1;
        }
    }

    Device& device_;
    const TunePlan& plan_;
    const Problem& problem_;
    std::string place_;
    const TuneObserver& observer_;
    Trial ceiling_;
    std::unique_ptr<Workload> workload_;
};

}  // namespace

std::vector<Parameters> combinations_of(const Candidate& candidate) {
    std::vector<Parameters> all = {candidate.parameters};
    for (const Parameter& parameter : candidate.variant->parameters) {
        if (candidate.parameters.at(parameter.name) != as_tuned) {
            continue;
        }
        std::vector<Parameters> extended;
        for (const Parameters& combination : all) {
            for (const int value : parameter.values) {
                extended.push_back(combination);
                extended.back()[parameter.name] = value;
            }
        }
        all = std::move(extended);
    }
    return all;
}

std::size_t winner_of(const std::vector<double>& seconds) {
    const double least = *std::min_element(seconds.begin(), seconds.end());
    const auto found =
        std::find_if(seconds.begin(), seconds.end(), [&](double s) { return s <= least * (1 + tuning_noise); });
    return static_cast<std::size_t>(found - seconds.begin());
}

std::vector<TuneResult> tune(Device& device, const TunePlan& plan, const TuneObserver& observer) {
    if (!device.info().has_clock) {
        throw CannotMeasure(
            fmt::format("Tuning compares times, and the {} device has no clock: run it on a machine with a GPU.",
                        device.info().id));
    }
    std::vector<TuneResult> results;
    for (std::size_t i = 0; i < plan.problems.size() && !observer.interrupted(); ++i) {
        const std::string place = fmt::format("[{}/{}] {}", i + 1, plan.problems.size(), tuning_text(plan.problems[i]));
        ProblemTuning(device, plan, plan.problems[i], place, observer).run(results);
    }
    return results;
}

Exit verdict_of(const std::vector<TuneResult>& results, bool complete) {
    const auto any = [&](auto predicate) { return std::any_of(results.begin(), results.end(), predicate); };
    if (any([](const TuneResult& r) { return !r.wrong.empty(); })) {
        return Exit::wrong_result;
    }
    if (!complete) {
        return Exit::inconclusive;
    }
    if (any([](const TuneResult& r) { return !r.failure.empty(); }) &&
        !any([](const TuneResult& r) { return r.winner.has_value(); })) {
        return Exit::cannot_measure;
    }
    return any([](const TuneResult& r) { return !r.winner; }) ? Exit::inconclusive : Exit::passed;
}

}  // namespace qkprof
