#include "metric_set.h"

#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace qkprof::cuda {
namespace {

using Host = CUpti_Profiler_Host_Object;

constexpr std::array metric_types = {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT};

// "dram__bytes_read" and ".sum" of "dram__bytes_read.sum": what is counted, and how it is put together over the chip's
// units. Some of CUPTI's names have a prefix with points in it: "CTC.TriageCompute.ctc__rx_bytes".
struct Name {
    std::string base;
    std::string rollup;
};

Name split(const std::string& name) {
    const std::size_t unit_end = name.find("__");
    const std::size_t point = name.find('.', unit_end == std::string::npos ? 0 : unit_end);
    return point == std::string::npos ? Name{name, ""} : Name{name.substr(0, point), name.substr(point)};
}

std::vector<std::string> texts(const char* const* first, std::size_t count) { return {first, first + count}; }

std::vector<std::string> rollups_of(Host* host, const std::string& base, CUpti_MetricType type) {
    auto submetrics = QK_CUPTI(CUpti_Profiler_Host_GetSubMetrics_Params);
    submetrics.pHostObject = host;
    submetrics.metricType = type;
    submetrics.pMetricName = base.c_str();
    cupti_check(cupti_library().metrics.get_submetrics(&submetrics), "listing the forms of a metric");
    return texts(submetrics.ppSubMetrics, submetrics.numOfSubmetrics);
}

// The form that is most often meant.
std::string usual(const std::vector<std::string>& rollups) {
    for (const char* rollup : {".sum", ".pct", ".ratio", ".avg.pct_of_peak_sustained_elapsed"}) {
        if (std::find(rollups.begin(), rollups.end(), rollup) != rollups.end()) {
            return rollup;
        }
    }
    return rollups.empty() ? std::string() : rollups.front();
}

// The metric of the chip that `name` may have been meant to be; empty where none is near.
std::string nearest_metric(Host* host, const Name& name) {
    std::vector<std::string> bases;
    std::vector<CUpti_MetricType> types;
    for (const CUpti_MetricType type : metric_types) {
        auto all = QK_CUPTI(CUpti_Profiler_Host_GetBaseMetrics_Params);
        all.pHostObject = host;
        all.metricType = type;
        cupti_check(cupti_library().metrics.get_base_metrics(&all), "listing the chip's metrics");
        for (std::string& base : texts(all.ppMetricNames, all.numMetrics)) {
            bases.push_back(std::move(base));
            types.push_back(type);
        }
    }
    const std::string base = nearest_name(name.base, bases);
    if (base.empty()) {
        return {};
    }
    const auto index = std::find(bases.begin(), bases.end(), base) - bases.begin();
    const std::vector<std::string> rollups = rollups_of(host, base, types.at(static_cast<std::size_t>(index)));
    const std::string rollup = name.rollup.empty() ? std::string() : nearest_name(name.rollup, rollups);
    return base + (rollup.empty() ? usual(rollups) : rollup);
}

// CUPTI is not asked to add a name that it does not have: it then refuses all that come after it too.
void check_name(Host* host, const std::string& chip, const std::string& text) {
    const Name name = split(text);
    auto properties = QK_CUPTI(CUpti_Profiler_Host_GetMetricProperties_Params);
    properties.pHostObject = host;
    properties.pMetricName = name.base.c_str();
    const CUptiResult result = cupti_library().metrics.get_properties(&properties);
    if (result == CUPTI_SUCCESS) {
        const std::vector<std::string> rollups = rollups_of(host, name.base, properties.metricType);
        if (std::find(rollups.begin(), rollups.end(), name.rollup) != rollups.end()) {
            return;
        }
    } else if (result != CUPTI_ERROR_INVALID_METRIC_NAME) {
        cupti_check(result, "looking for a metric");
    }
    const std::string near = nearest_metric(host, name);
    throw InputError(near.empty()
                         ? fmt::format("The chip {} has no metric '{}', nor one with a name near to it.", chip, text)
                         : fmt::format("The chip {} has no metric '{}'. Did you mean '{}'?", chip, text, near));
}

}  // namespace

void MetricSet::Close::operator()(CUpti_Profiler_Host_Object* host) const {
    auto close = QK_CUPTI(CUpti_Profiler_Host_Deinitialize_Params);
    close.pHostObject = host;
    cupti_library().metrics.deinitialize(&close);
}

MetricSet::MetricSet(const std::string& chip, std::vector<std::string> names, std::vector<std::uint8_t> availability)
    : availability_(std::move(availability)), names_(std::move(names)) {
    const CuptiLibrary::Metrics& cupti = cupti_with_metrics().metrics;
    auto open = QK_CUPTI(CUpti_Profiler_Host_Initialize_Params);
    open.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    open.pChipName = chip.c_str();
    open.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
    cupti_check(cupti.initialize(&open), "reading the list of the chip's metrics");
    host_.reset(open.pHostObject);

    for (const std::string& name : names_) {
        check_name(host_.get(), chip, name);
        pointers_.push_back(name.c_str());
    }
    auto add = QK_CUPTI(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host_.get();
    add.ppMetricNames = pointers_.data();
    add.numMetrics = pointers_.size();
    cupti_check(cupti.add(&add), "choosing metrics");
    auto size = QK_CUPTI(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_.get();
    cupti_check(cupti.get_configuration_size(&size), "configuring metrics");
    configuration_.resize(size.configImageSize);
    auto get = QK_CUPTI(CUpti_Profiler_Host_GetConfigImage_Params);
    get.pHostObject = host_.get();
    get.configImageSize = configuration_.size();
    get.pConfigImage = configuration_.data();
    cupti_check(cupti.get_configuration(&get), "configuring metrics");
    auto count = QK_CUPTI(CUpti_Profiler_Host_GetNumOfPasses_Params);
    count.configImageSize = configuration_.size();
    count.pConfigImage = configuration_.data();
    cupti_check(cupti.get_passes(&count), "counting the passes of metrics");
    passes_ = static_cast<int>(count.numOfPasses);
}

std::vector<double> MetricSet::evaluate(std::span<const std::uint8_t> data, std::size_t range) {
    std::vector<double> values(names_.size());
    auto evaluate = QK_CUPTI(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluate.pHostObject = host_.get();
    evaluate.pCounterDataImage = data.data();
    evaluate.counterDataImageSize = data.size();
    evaluate.rangeIndex = range;
    evaluate.ppMetricNames = pointers_.data();
    evaluate.numMetrics = pointers_.size();
    evaluate.pMetricValues = values.data();
    cupti_check(cupti_library().metrics.evaluate(&evaluate), "reading the counters");
    return values;
}

}  // namespace qkprof::cuda
