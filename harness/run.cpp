#include "run.h"

#include "roofline.h"
#include "timing.h"
#include "tuning_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>

namespace qkprof {
namespace {

constexpr std::int64_t sector_bytes = 32;

std::vector<Candidate> with_ceilings(std::vector<Candidate> candidates, const Device& device) {
    const auto is_ceiling = [](const Candidate& candidate) { return candidate.variant->family == Family::ceiling; };
    if (device.info().has_clock && std::none_of(candidates.begin(), candidates.end(), is_ceiling)) {
        for (const Variant& variant : variants(device.info().backend)) {
            if (variant.family == Family::ceiling) {
                candidates.insert(candidates.begin(), standard_candidate(variant));
            }
        }
    }
    return candidates;
}

// One problem of a run.
class ProblemRun {
  public:
    ProblemRun(Device& device, const Plan& plan, const Problem& problem, std::string place, Profile& profile,
               const Observer& observer)
        : device_(device),
          plan_(plan),
          problem_(problem),
          place_(std::move(place)),
          profile_(profile),
          observer_(observer),
          first_(profile.measurements.size()) {}

    void run() {
        std::string failure;
        const std::unique_ptr<Workload> workload = load(failure);
        if (workload == nullptr) {
            for (const Candidate& candidate : plan_.candidates) {
                add(candidate, failure);
            }
            observer_.added(profile_);
            return;
        }
        const bool together = device_.info().counts_together;
        for (const Candidate& candidate : plan_.candidates) {
            if (observer_.interrupted()) {
                return;
            }
            const std::size_t first = profile_.measurements.size();
            add(candidate, {});
            verify(*workload, candidate, first);
            if (!together) {
                count(*workload, first);
            }
            observer_.added(profile_);
        }
        if (together && !observer_.interrupted()) {
            count(*workload, first_);
            observer_.added(profile_);
        }
        if (device_.info().has_clock && problem_.rows() > 0) {
            time(*workload);
            observer_.added(profile_);
        }
    }

  private:
    // Says what is done, and keeps the time of it for as long as what it returns is held.
    [[nodiscard]] Timings::Scope begin(Step step, const std::string& text) const {
        observer_.progress(place_ + ": " + text);
        return {observer_.timings, step};
    }

    // Null, with the reason, when the problem cannot be had: that ends neither the run nor its other problems.
    std::unique_ptr<Workload> load(std::string& failure) {
        const Timings::Scope step = begin(Step::inputs, "inputs");
        try {
            return device_.load(problem_, scratch_bytes(plan_, problem_, device_));
        } catch (const InputError& error) {
            failure = clause_of(error);
        } catch (const CannotMeasure& error) {
            failure = clause_of(error);
        } catch (const std::bad_alloc&) {
            failure = "the memory of this machine is exhausted";
        }
        return nullptr;
    }

    // A measurement a state, of which nothing is known yet; or why the candidate was not run.
    void add(const Candidate& candidate, const std::string& failure) {
        const Resolved resolved = resolve(candidate, problem_, device_, plan_);
        Measurement m;
        m.variant = candidate.variant->name;
        m.family = candidate.variant->family;
        m.problem = problem_;
        m.parameters = resolved.request.parameters;
        m.non_standard = candidate.non_standard;
        m.tuned_from = resolved.tuned_from;
        m.refused = resolved.refusal;
        m.not_run = m.refused.empty() ? failure : std::string();
        m.no_time_reason = no_time_reason();
        if (m.ran()) {
            m.declaration = candidate.variant->declare(resolved.request);
        }
        for (const CacheState state : plan_.states) {
            m.state = state;
            profile_.measurements.push_back(m);
        }
    }

    // Once, for the candidate's measurements of all states, which begin at `first`.
    void verify(Workload& workload, const Candidate& candidate, std::size_t first) {
        if (!profile_.measurements.at(first).ran()) {
            return;
        }
        const Timings::Scope step = begin(Step::verification, fmt::format("{}, verify", candidate.variant->name));
        Verification found;
        try {
            found = workload.verify(*candidate.variant, profile_.measurements[first].parameters);
        } catch (...) {  // nothing is known of it
            profile_.measurements.resize(first);
            throw;
        }
        for (std::size_t i = first; i < profile_.measurements.size(); ++i) {
            profile_.measurements[i].verification = found;
        }
    }

    // Of the measurements from `first` on, those that gave right results.
    void count(Workload& workload, std::size_t first) {
        std::vector<CountJob> jobs;
        std::vector<Measurement*> counted;
        for (std::size_t i = first; i < profile_.measurements.size(); ++i) {
            Measurement& m = profile_.measurements[i];
            if (m.right()) {
                jobs.push_back({&variant_of(i), &m.parameters, m.state});
                counted.push_back(&m);
            }
        }
        if (jobs.empty()) {
            return;
        }
        const bool one = jobs.front().variant == jobs.back().variant;
        const Timings::Scope step = begin(Step::counting, one ? fmt::format("{}, count", jobs.front().variant->name)
                                                              : fmt::format("count {} calls", jobs.size()));
        std::vector<Counts> counts = workload.count(jobs);
        for (std::size_t i = 0; i < counted.size(); ++i) {
            Measurement& m = *counted[i];
            m.counters = std::move(counts.at(i).counters);
            m.kernels = std::move(counts.at(i).kernels);
            m.contradictions = contradictions_of(m);
        }
    }

    // Of the measurement with this index.
    const Variant& variant_of(std::size_t index) const {
        return *plan_.candidates.at((index - first_) / plan_.states.size()).variant;
    }

    std::string no_time_reason() const {
        if (!device_.info().has_clock) {
            return fmt::format("the {} device has no clock", device_.info().id);
        }
        return problem_.rows() == 0 ? "an empty problem launches nothing" : "the run ended before";
    }

    void time(Workload& workload) {
        std::vector<std::unique_ptr<Timing>> timings;
        std::vector<TimingJob> jobs;
        std::size_t index = first_;
        for (const Candidate& candidate : plan_.candidates) {
            for (const CacheState state : plan_.states) {
                Measurement& m = profile_.measurements.at(index++);
                if (!m.right()) {
                    continue;
                }
                if (observer_.interrupted()) {
                    return;
                }
                const Timings::Scope step =
                    begin(Step::preparing, fmt::format("{}, prepare {} calls", m.variant, name_of(state)));
                try {
                    timings.push_back(workload.timing(*candidate.variant, m.parameters, state));
                } catch (const std::exception& error) {
                    m.no_time_reason = clause_of(error);
                    continue;
                }
                jobs.push_back({*timings.back(), m});
            }
        }
        if (jobs.empty()) {
            return;
        }
        {
            const Timings::Scope step = begin(Step::warm_up, "warm up");
            profile_.environment.warm_up = device_.warm_up();
        }
        {
            const Timings::Scope step =
                begin(Step::timing, fmt::format("time {} calls, {} samples each", jobs.size(), plan_.samples));
            run_timing(jobs, plan_.samples, observer_.interrupted);
        }
        for (const TimingJob& job : jobs) {
            const Measurement& m = job.measurement;
            if (m.seconds.empty() && m.throttled.empty() && !observer_.interrupted()) {
                job.measurement.no_time_reason = "--benchmark_filter leaves it out";
            }
        }
    }

    Device& device_;
    const Plan& plan_;
    const Problem& problem_;
    std::string place_;
    Profile& profile_;
    const Observer& observer_;
    std::size_t first_;  // index of this problem's first measurement
};

}  // namespace

std::string text_of(const Problem& problem) { return tuning_text(problem); }

Resolved resolve(const Candidate& candidate, const Problem& problem, const Device& device, const Plan& plan) {
    const DeviceInfo& info = device.info();
    return resolve(*candidate.variant, candidate.parameters, problem, info.limits, info.description,
                   plan.tuning ? *plan.tuning : embedded_tuning(info.backend));
}

std::int64_t scratch_bytes(const Plan& plan, const Problem& problem, const Device& device) {
    std::int64_t bytes = 0;
    for (const Candidate& candidate : plan.candidates) {
        const Resolved resolved = resolve(candidate, problem, device, plan);
        if (candidate.variant->scratch_bytes && resolved.refusal.empty()) {
            bytes = std::max(bytes, candidate.variant->scratch_bytes(resolved.request));
        }
    }
    return bytes;
}

void check_memory(const Device& device, const Plan& plan) {
    for (const Problem& problem : plan.problems) {
        const std::int64_t needed = device.bytes_needed(problem, scratch_bytes(plan, problem, device));
        const std::int64_t available = device.info().memory_bytes;
        if (needed > available) {
            constexpr double gibibyte = 0x1p30;
            const bool for_tables = problem.context != 0 && 2 * problem.table_bytes() > available;
            throw InputError(fmt::format(
                "{} needs {:.2f} GiB and {} has {:.2f} GiB free: choose {}.", text_of(problem),
                static_cast<double>(needed) / gibibyte, device.info().id, static_cast<double>(available) / gibibyte,
                for_tables ? "a smaller context" : "a smaller shape, or variants without intermediates"));
        }
    }
}

std::string long_run(const Device& device, const Plan& plan) {
    if (device.info().has_clock) {
        return {};
    }
    double bytes = 0;  // that warps ask for, which the time follows more closely than what must be moved
    for (const Problem& problem : plan.problems) {
        for (const Candidate& candidate : plan.candidates) {
            const Resolved resolved = resolve(candidate, problem, device, plan);
            if (resolved.refusal.empty()) {
                const Declaration declared = candidate.variant->declare(resolved.request);
                const auto calls = static_cast<double>(1 + plan.states.size());  // verified once, counted in each state
                bytes += calls * static_cast<double>(declared.load_bytes + declared.store_bytes);
            }
        }
    }
    constexpr double mebibyte = 0x1p20;
    constexpr double bytes_per_minute = 60 * 80 * mebibyte;  // two cores: 60 (all variants) to 190 MiB a second (copy)
    constexpr double few_minutes = 3;
    constexpr double hour = 60;
    const double minutes = bytes / bytes_per_minute;
    if (minutes < few_minutes) {
        return {};
    }
    return fmt::format(
        "The {} device executes every thread on the processor, and the calls of this run ask for {:.3g} GiB: with two "
        "cores that takes roughly {}. Smaller shapes, fewer variants and types take less; Ctrl-C ends it and keeps "
        "what it has.",
        device.info().id, bytes / (1024 * mebibyte),
        minutes < 2 * hour ? fmt::format("{:.0f} minutes", minutes) : fmt::format("{:.0f} hours", minutes / hour));
}

void run(Device& device, Plan plan, Profile& profile, const Observer& observer) {
    plan.candidates = with_ceilings(std::move(plan.candidates), device);
    check_memory(device, plan);
    {
        observer.progress("calibrate");
        const Timings::Scope step(observer.timings, Step::calibration);
        profile.environment.calibration = device.calibrate();
    }
    for (std::size_t i = 0; i < plan.problems.size() && !observer.interrupted(); ++i) {
        const std::string place = fmt::format("[{}/{}] {}", i + 1, plan.problems.size(), text_of(plan.problems[i]));
        ProblemRun(device, plan, plan.problems[i], place, profile, observer).run();
    }
    profile.environment.complete = !observer.interrupted();
    observer.added(profile);
}

std::vector<std::string> contradictions_of(const Measurement& m) {
    std::vector<std::string> sentences;
    const auto compare = [&](const char* counter, std::int64_t unit, std::int64_t declared, const char* what) {
        const auto found = m.counters.find(counter);
        if (found == m.counters.end() || !found->second.value) {
            return;
        }
        const double counted = *found->second.value * static_cast<double>(unit);
        if (counted != static_cast<double>(declared)) {
            sentences.push_back(
                fmt::format("{} declares {} {} and {} were counted.", m.name(), declared, what, counted));
        }
    };
    if (m.declaration) {
        compare("launches", 1, m.declaration->launches, "launches a call");
        compare("transfers", 1, 0, "copies or fills of memory");
        compare("global_load_sectors", sector_bytes, m.declaration->load_bytes, "bytes loaded");
        compare("global_store_sectors", sector_bytes, m.declaration->store_bytes, "bytes stored");
        compare("shared_bytes", 1, m.declaration->shared_bytes, "bytes of shared memory a block");
    }
    return sentences;
}

Exit verdict_of(const Profile& profile) {
    const auto any = [&](auto predicate) {
        return std::any_of(profile.measurements.begin(), profile.measurements.end(), predicate);
    };
    if (any([](const Measurement& m) { return m.ran() && !m.verification.correct; })) {
        return Exit::wrong_result;
    }
    const Roofline roofline(profile);
    if (any([&](const Measurement& m) { return !m.contradictions.empty() || !roofline.errors_of(m).empty(); })) {
        return Exit::failed;
    }
    const bool nothing_known =
        any([](const Measurement& m) { return m.right(); }) && !any([](const Measurement& m) {
            return !m.seconds.empty() || std::any_of(m.counters.begin(), m.counters.end(), [](const auto& counter) {
                return counter.second.value.has_value();
            });
        });
    const bool lacking = any([](const Measurement& m) { return !m.not_run.empty(); });
    const bool none_ran = lacking && !any([](const Measurement& m) { return m.ran(); });
    if (profile.environment.complete && (none_ran || nothing_known || !missed_metrics(profile).empty())) {
        return Exit::cannot_measure;
    }
    // A ceiling that ran beside variants that all refused says nothing of them.
    const bool all_refused = any([](const Measurement& m) { return !m.refused.empty(); }) &&
                             !any([](const Measurement& m) { return m.ran() && m.family != Family::ceiling; });
    return profile.environment.complete && !all_refused && !lacking ? Exit::passed : Exit::inconclusive;
}

std::vector<std::string> missed_metrics(const Profile& profile) {
    std::map<std::string, bool> found;
    for (const Measurement& m : profile.measurements) {
        for (const auto& [name, counter] : m.counters) {
            if (!is_own_metric(name)) {
                found[name] = found[name] || counter.value.has_value();
            }
        }
    }
    std::vector<std::string> missed;
    for (const auto& [name, has_value] : found) {
        if (!has_value) {
            missed.push_back(name);
        }
    }
    return missed;
}

}  // namespace qkprof
