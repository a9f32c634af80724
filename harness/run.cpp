#include "run.h"

#include "timing.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof {
namespace {

constexpr std::int64_t sector_bytes = 32;

std::string text_of(const Problem& p) {
    return fmt::format("{}x{}x{}x{} {}", p.batch, p.sequence, p.heads, p.head_dim, name_of(p.dtype));
}

Request request_of(const Candidate& candidate, const Problem& problem, const Device& device) {
    return {.problem = problem, .parameters = candidate.parameters, .limits = device.info().limits};
}

// Of the intermediates of all candidates that run the problem: they share one scratch buffer.
std::int64_t scratch_bytes(const std::vector<Candidate>& candidates, const Problem& problem, const Device& device) {
    std::int64_t bytes = 0;
    for (const Candidate& candidate : candidates) {
        const Request request = request_of(candidate, problem, device);
        if (candidate.variant->scratch_bytes && candidate.variant->refuses(request).empty()) {
            bytes = std::max(bytes, candidate.variant->scratch_bytes(request));
        }
    }
    return bytes;
}

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
        progress("inputs");
        const std::unique_ptr<Workload> workload =
            device_.load(problem_, scratch_bytes(plan_.candidates, problem_, device_));
        for (const Candidate& candidate : plan_.candidates) {
            if (observer_.interrupted()) {
                return;
            }
            measure(*workload, candidate);
            observer_.added(profile_);
        }
        if (device_.info().has_clock && problem_.rows() > 0) {
            time(*workload);
            observer_.added(profile_);
        }
    }

  private:
    void progress(const std::string& step) const { observer_.progress(place_ + ": " + step); }

    // Verifies once and counts in each state.
    void measure(Workload& workload, const Candidate& candidate) {
        const Variant& variant = *candidate.variant;
        const Request request = request_of(candidate, problem_, device_);
        Measurement m;
        m.variant = variant.name;
        m.family = variant.family;
        m.problem = problem_;
        m.parameters = candidate.parameters;
        m.non_standard = candidate.non_standard;
        m.refused = variant.refuses(request);
        m.no_time_reason = no_time_reason();
        if (m.refused.empty()) {
            progress(variant.name + ", verify");
            m.verification = workload.verify(variant, candidate.parameters);
            m.declaration = variant.declare(request);
        }
        for (const CacheState state : plan_.states) {
            Measurement of_state = m;
            of_state.state = state;
            if (m.refused.empty() && m.verification.correct) {
                progress(fmt::format("{}, count {}", variant.name, name_of(state)));
                of_state.counters = workload.count(variant, candidate.parameters, state);
                of_state.contradictions = contradictions_of(of_state);
            }
            profile_.measurements.push_back(std::move(of_state));
        }
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
                if (!m.refused.empty() || !m.verification.correct) {
                    continue;
                }
                if (observer_.interrupted()) {
                    return;
                }
                progress(fmt::format("{}, prepare {} calls", m.variant, name_of(state)));
                timings.push_back(workload.timing(*candidate.variant, candidate.parameters, state));
                jobs.push_back({*timings.back(), m});
            }
        }
        if (jobs.empty()) {
            return;
        }
        progress("warm up");
        profile_.environment.warm_up = device_.warm_up();
        progress(fmt::format("time {} calls, {} samples each", jobs.size(), plan_.samples));
        run_timing(jobs, plan_.samples, observer_.interrupted);
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

void check_memory(const Device& device, const Plan& plan) {
    for (const Problem& problem : plan.problems) {
        const std::int64_t needed = device.bytes_needed(problem, scratch_bytes(plan.candidates, problem, device));
        const std::int64_t available = device.info().memory_bytes;
        if (needed > available) {
            constexpr double gibibyte = 0x1p30;
            throw InputError(
                fmt::format("{} needs {:.2f} GiB and {} has {:.2f} GiB free: choose a smaller shape, or "
                            "variants without intermediates.",
                            text_of(problem), static_cast<double>(needed) / gibibyte, device.info().id,
                            static_cast<double>(available) / gibibyte));
        }
    }
}

void run(Device& device, Plan plan, Profile& profile, const Observer& observer) {
    plan.candidates = with_ceilings(std::move(plan.candidates), device);
    check_memory(device, plan);
    observer.progress("calibrate");
    profile.environment.calibration = device.calibrate();
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
    compare("launches", 1, m.declaration.launches, "launches a call");
    compare("transfers", 1, 0, "copies or fills of memory");
    compare("global_load_sectors", sector_bytes, m.declaration.load_bytes, "bytes loaded");
    compare("global_store_sectors", sector_bytes, m.declaration.store_bytes, "bytes stored");
    compare("transfers", 1, 0, "copies or fills of memory");
    compare("shared_bytes", 1, m.declaration.shared_bytes, "bytes of shared memory a block");
    return sentences;
}

Exit verdict_of(const Profile& profile) {
    const auto any = [&](auto predicate) {
        return std::any_of(profile.measurements.begin(), profile.measurements.end(), predicate);
    };
    if (any([](const Measurement& m) { return m.refused.empty() && !m.verification.correct; })) {
        return Exit::wrong_result;
    }
    if (any([](const Measurement& m) { return !m.contradictions.empty(); })) {
        return Exit::failed;
    }
    // A ceiling that ran beside variants that all refused says nothing of them.
    const bool all_refused =
        any([](const Measurement& m) { return !m.refused.empty(); }) &&
        !any([](const Measurement& m) { return m.refused.empty() && m.family != Family::ceiling; });
    return profile.environment.complete && !all_refused ? Exit::passed : Exit::inconclusive;
}

}  // namespace qkprof
