// Times calls through Google Benchmark: it repeats them, interleaves the repetitions at random and filters by name.
#pragma once

#include "device.h"

#include <functional>
#include <string>
#include <vector>

namespace qkprof {

// One thing to time. What is measured goes into `measurement`, sample by sample, in the order of the repetitions.
struct TimingJob {
    Timing& timing;
    Measurement& measurement;
};

// A sample as the runner took it.
struct TakenSample {
    Sample sample;
    double host_seconds = 0;
};

// Puts the samples, in the order in which they were taken, into the measurement: those that were throttled apart from
// the others; the clocks and the number of throttled ones among its counters.
void store_samples(const std::vector<TakenSample>& samples, Measurement& measurement);

// Hands Google Benchmark its own flags (--benchmark_*), once in a process and before run_timing. Random interleaving is
// on unless they say otherwise. Throws InputError for a flag that it does not know and for those that qkprof has an
// option of its own for.
void configure_benchmark(const std::vector<std::string>& flags);

// The `--benchmark_context=key=value` that configure_benchmark was given.
std::vector<std::pair<std::string, std::string>> benchmark_context();

// Takes `samples` samples of each job, and rests behind those that were throttled (rest.h). When `interrupted` turns
// true the rest is skipped. What a Timing throws is thrown again; the samples taken before it are kept.
void run_timing(std::vector<TimingJob>& jobs, int samples, const std::function<bool()>& interrupted);

}  // namespace qkprof
