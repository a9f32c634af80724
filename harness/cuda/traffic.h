// The memory traffic of calls by hardware counters: which of CUPTI's metrics make which counter of a measurement, and
// the one profiling session that counts them for many calls.
#pragma once

#include "measurement.h"
#include "range_profiler.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace qkprof::cuda {

// A counter of a measurement is the sum of metrics; where a call uses the bulk copy engine, of `bulk` too.
struct TrafficCounter {
    const char* name;
    std::vector<std::string> metrics;
    std::vector<std::string> bulk;
};
const std::vector<TrafficCounter>& traffic_counters();

// The metrics of all of them: two passes on GH100. And those of the bulk copy engine: a third, for calls that use it.
std::vector<std::string> standard_metrics();
std::vector<std::string> bulk_metrics();

// A call to count, once a pass.
struct TrafficJob {
    using Counted = std::function<void(const std::function<void()>& call)>;
    // Puts the caches into the state, waits, and hands the call, which waits too, to `counted`. May throw LaunchError
    // and CannotMeasure: then this call's counters are unknown, for that reason.
    std::function<void(const Counted& counted)> run;
    bool bulk_copies = false;
};

// The counters of each call, in the order of the jobs: those of traffic_counters() and `further`, metrics by CUPTI's
// names. What cannot be counted has no value and the reason. Throws DeviceLost alone.
std::vector<Counters> count_traffic(const ProfiledContext& context, std::span<const TrafficJob> jobs,
                                    const std::vector<std::string>& further);

// By the metric's name.
using MetricValues = std::map<std::string, double, std::less<>>;
// The counters of a call from the values of its metrics; `missing` is the reason for those that are not among them.
Counters counters_from(const MetricValues& values, bool bulk_copies, const std::vector<std::string>& further,
                       const std::string& missing);

// Those of `names` that `metrics` does not hold are put at its end.
void add_metrics(std::vector<std::string>& metrics, const std::vector<std::string>& names);

}  // namespace qkprof::cuda
