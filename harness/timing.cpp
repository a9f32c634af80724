#include "timing.h"

#include "error.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>

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

// Takes the samples from the runner's reports and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
  public:
    explicit Collector(std::vector<TimingJob>& jobs) {
        for (TimingJob& job : jobs) {
            by_name_.emplace(job.measurement.name(), job);
        }
    }
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& run : runs) {
            const auto job = by_name_.find(run.run_name.function_name);
            // A run that was skipped carries no time.
            if (run.run_type != Run::RT_Iteration || !(run.real_accumulated_time > 0) || job == by_name_.end()) {
                continue;
            }
            job->second.measurement.seconds.push_back(run.real_accumulated_time);
            job->second.measurement.host_seconds.push_back(run.cpu_accumulated_time);
        }
    }

  private:
    std::map<std::string, TimingJob&, std::less<>> by_name_;
};

}  // namespace

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
    for (TimingJob& job : jobs) {
        Timing& timing = job.timing;
        job.measurement.timer = timing.timer();
        benchmark::RegisterBenchmark(job.measurement.name().c_str(),
                                     [&timing, &failure, &interrupted](benchmark::State& state) {
                                         for ([[maybe_unused]] auto unused : state) {
                                             if (failure || interrupted()) {
                                                 state.SkipWithError("interrupted");
                                                 break;
                                             }
                                             try {
                                                 state.SetIterationTime(timing.sample());
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
    Collector collector(jobs);
    benchmark::RunSpecifiedBenchmarks(&collector);
    benchmark::ClearRegisteredBenchmarks();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace qkprof
