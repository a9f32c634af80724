#include "timing.h"

#include "error.h"
#include "profile.h"
#include "rest.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <map>
#include <set>
#include <thread>

namespace qkprof {
namespace {

// Flags of Google Benchmark that would work against qkprof's own, with what to use instead.
struct Replaced {
    const char* flag;
    const char* instead;
};
constexpr std::array replaced_flags = {
    Replaced{"--benchmark_out_format", "the profile is JSON: use --out FILE"},
    Replaced{"--benchmark_out", "use --out FILE"},
    Replaced{"--benchmark_format", "use --format"},
    Replaced{"--benchmark_list_tests", "use qkprof list variants"},
    Replaced{"--benchmark_repetitions", "use --samples"},
    Replaced{"--benchmark_report_aggregates_only", "qkprof keeps every sample"},
};

// By which a run of the runner names the sample it took.
constexpr const char* sample_number = "sample";

// A job's samples as they were taken, and those of them that the runner reported, in its order.
struct Samples {
    std::vector<Sample> taken;
    std::vector<TakenSample> reported;
};
using SamplesByName = std::map<std::string, Samples, std::less<>>;

// Takes the samples from the runner's reports and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
  public:
    explicit Collector(SamplesByName& by_name) : by_name_(by_name) {}
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            const auto job = by_name_.find(run.run_name.function_name);
            const auto number = run.counters.find(sample_number);
            // A run that was skipped carries no sample.
            if (run.run_type != Run::RT_Iteration || job == by_name_.end() || number == run.counters.end()) {
                continue;
            }
            auto& [taken, reported] = job->second;
            reported.push_back({taken.at(static_cast<std::size_t>(number->second.value)), run.cpu_accumulated_time});
        }
    }

  private:
    SamplesByName& by_name_;
};

Counter median_clock(const std::vector<TakenSample>& samples, std::optional<double> Sample::*clock) {
    std::vector<double> known;
    std::string failure;
    for (const TakenSample& taken : samples) {
        if (const std::optional<double>& value = taken.sample.*clock) {
            known.push_back(*value);
        } else {
            failure = taken.sample.failure;
        }
    }
    return known.empty() ? Counter{.value = {}, .source = Source::counted, .reason = failure}
                         : Counter{.value = median(known), .source = Source::counted, .reason = {}};
}

}  // namespace

void store_samples(const std::vector<TakenSample>& samples, Measurement& measurement) {
    if (samples.empty()) {
        return;
    }
    std::set<std::string> all_reasons;
    const Sample* unwatched = nullptr;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto& [sample, host_seconds] = samples[i];
        if (!sample.throttle_reasons) {
            unwatched = &sample;
        }
        if (sample.throttle_reasons.value_or(std::vector<std::string>()).empty()) {
            measurement.seconds.push_back(sample.seconds);
            measurement.host_seconds.push_back(host_seconds);
            if (sample.stream_seconds) {
                measurement.stream_seconds.push_back(*sample.stream_seconds);
            }
        } else {
            measurement.throttled.push_back({i, sample.seconds, host_seconds, *sample.throttle_reasons});
            all_reasons.insert(sample.throttle_reasons->begin(), sample.throttle_reasons->end());
        }
    }
    if (measurement.seconds.empty()) {
        measurement.no_time_reason = fmt::format("all {} samples were taken while the GPU was throttled ({})",
                                                 samples.size(), fmt::join(all_reasons, ", "));
    }
    measurement.counters["sm_clock_mhz"] = median_clock(samples, &Sample::sm_mhz);
    measurement.counters["memory_clock_mhz"] = median_clock(samples, &Sample::memory_mhz);
    Counter& throttled = measurement.counters["throttled_samples"];
    throttled = {};
    if (unwatched == nullptr) {
        throttled.value = static_cast<double>(measurement.throttled.size());
    } else {
        throttled.reason = unwatched->failure;
    }
}

void configure_benchmark(const std::vector<std::string>& flags) {
    for (const std::string& flag : flags) {
        for (const Replaced& replaced : replaced_flags) {
            if (flag == replaced.flag || flag.starts_with(std::string(replaced.flag) + "=")) {
                throw InputError(fmt::format("{} does not apply to qkprof: {}.", replaced.flag, replaced.instead));
            }
        }
    }
    // Google Benchmark keeps pointers into the first argument.
    static std::vector<std::string> arguments;
    arguments = {"qkprof", "--benchmark_enable_random_interleaving=true"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    std::vector<char*> pointers(arguments.size() + 1, nullptr);
    std::transform(arguments.begin(), arguments.end(), pointers.begin(), [](std::string& a) { return a.data(); });
    auto count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, pointers.data());
    if (count > 1) {  // it removes what it knows
        throw InputError(fmt::format("Google Benchmark does not know {}, or not with this value.", pointers[1]));
    }
}

std::vector<std::pair<std::string, std::string>> benchmark_context() {
    const auto* context = benchmark::internal::GetGlobalContext();
    if (context == nullptr) {
        return {};
    }
    return {context->begin(), context->end()};
}

void run_timing(std::vector<TimingJob>& jobs, int samples, const std::function<bool()>& interrupted) {
    std::exception_ptr failure;
    SamplesByName by_name;
    Rest rest;
    for (TimingJob& job : jobs) {
        Timing& timing = job.timing;
        std::vector<Sample>& taken = by_name[job.measurement.name()].taken;
        job.measurement.timer = timing.timer();
        benchmark::RegisterBenchmark(job.measurement.name().c_str(),
                                     [&timing, &taken, &rest, &failure, &interrupted](benchmark::State& state) {
                                         for ([[maybe_unused]] auto unused : state) {
                                             if (failure || interrupted()) {
                                                 state.SkipWithError("interrupted");
                                                 break;
                                             }
                                             try {
                                                 const auto started = std::chrono::steady_clock::now();
                                                 taken.push_back(timing.sample());
                                                 const auto took = std::chrono::steady_clock::now() - started;
                                                 std::this_thread::sleep_for(rest.after(taken.back(), took));
                                                 state.SetIterationTime(taken.back().seconds);
                                                 state.counters[sample_number] = static_cast<double>(taken.size() - 1);
                                             } catch (...) {
                                                 failure = std::current_exception();
                                                 state.SkipWithError("failed");
                                                 break;
                                             }
                                         }
                                     })
            ->UseManualTime()
            ->Iterations(1)
            ->Repetitions(samples);
    }
    Collector collector(by_name);
    benchmark::RunSpecifiedBenchmarks(&collector);
    benchmark::ClearRegisteredBenchmarks();
    for (TimingJob& job : jobs) {
        store_samples(by_name[job.measurement.name()].reported, job.measurement);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace qkprof
