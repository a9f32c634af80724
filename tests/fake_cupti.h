// A CUPTI that counts nothing: the values are made up, and each function can be made to fail. So what happens when
// counters cannot be had is tested on any machine.
#pragma once

#include "cuda/cupti_library.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace qkprof::cuda {

class FakeCupti {
  public:
    // By the function's name in CuptiLibrary ("enable"): what it answers instead.
    std::map<std::string, CUptiResult, std::less<>> failures;
    std::vector<std::string> calls;   // of the functions of a session, in their order
    std::size_t passes = 2;           // that each set of metrics costs
    std::size_t dropped = 0;          // ranges
    std::string lost;                 // a range that is not given back
    std::vector<std::string> ranges;  // of the last pass

    FakeCupti() : substitute_((current() = this, library())) {}
    ~FakeCupti() { current() = nullptr; }
    FakeCupti(const FakeCupti&) = delete;
    FakeCupti& operator=(const FakeCupti&) = delete;

    long called(const std::string& name) const { return std::count(calls.begin(), calls.end(), name); }

  private:
    static FakeCupti*& current() {
        static FakeCupti* fake = nullptr;
        return fake;
    }

    static CUptiResult answer(const char* name) {
        current()->calls.emplace_back(name);
        const auto failure = current()->failures.find(name);
        return failure == current()->failures.end() ? CUPTI_SUCCESS : failure->second;
    }

    // Those of the last pass that are given back.
    static std::vector<std::string> given() {
        std::vector<std::string> names = current()->ranges;
        names.erase(std::remove(names.begin(), names.end(), current()->lost), names.end());
        return names;
    }

    static const CuptiLibrary& library() {
        static const CuptiLibrary fake = make();
        return fake;
    }

    static CuptiLibrary make() {
        CuptiLibrary cupti;
        cupti.get_error_message = [](CUptiResult, const char** text) {
            *text = "as the test wants";
            return CUPTI_SUCCESS;
        };
        cupti.subscribe = [](auto...) { return answer("subscribe"); };
        cupti.unsubscribe = [](auto...) { return answer("unsubscribe"); };
        cupti.finalize = [] { return answer("finalize"); };
        cupti.activity.register_callbacks = [](auto...) { return answer("register_callbacks"); };
        cupti.activity.enable = [](auto...) { return answer("enable_activity"); };
        cupti.activity.disable = [](auto...) { return answer("disable_activity"); };
        cupti.activity.flush_all = [](auto...) { return answer("flush_all"); };

        static const std::vector<const char*> rollups = {".sum", ".avg.pct_of_peak_sustained_active"};
        CuptiLibrary::Metrics& metrics = cupti.metrics;
        metrics.initialize = [](auto* p) {
            p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(current());
            return answer("initialize_metrics");
        };
        metrics.deinitialize = [](auto*) { return answer("deinitialize_metrics"); };
        metrics.get_properties = [](auto*) { return answer("get_properties"); };
        metrics.get_submetrics = [](auto* p) {
            p->ppSubMetrics = const_cast<const char**>(rollups.data());
            p->numOfSubmetrics = rollups.size();
            return answer("get_submetrics");
        };
        metrics.add = [](auto*) { return answer("add"); };
        metrics.get_configuration_size = [](auto* p) {
            p->configImageSize = 8;
            return answer("get_configuration_size");
        };
        metrics.get_configuration = [](auto*) { return answer("get_configuration"); };
        metrics.get_passes = [](auto* p) {
            p->numOfPasses = current()->passes;
            return answer("get_passes");
        };
        // The value of metric m in range r is 100 r + m.
        metrics.evaluate = [](auto* p) {
            for (std::size_t m = 0; m < p->numMetrics; ++m) {
                p->pMetricValues[m] = static_cast<double>(100 * p->rangeIndex + m);
            }
            return answer("evaluate");
        };

        static std::size_t pass = 0;
        static std::string name;
        CuptiLibrary::Ranges& ranges = cupti.ranges;
        ranges.initialize = [](auto*) { return answer("initialize"); };
        ranges.deinitialize = [](auto*) { return answer("deinitialize"); };
        ranges.get_chip_name = [](auto* p) {
            p->pChipName = "GH100";
            return answer("get_chip_name");
        };
        ranges.get_availability = [](auto* p) {
            p->counterAvailabilityImageSize = 4;
            return answer("get_availability");
        };
        ranges.enable = [](auto* p) {
            p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(current());
            return answer("enable");
        };
        ranges.disable = [](auto*) { return answer("disable"); };
        ranges.get_data_size = [](auto* p) {
            p->counterDataSize = 16;
            return answer("get_data_size");
        };
        ranges.initialize_data = [](auto*) { return answer("initialize_data"); };
        ranges.set_configuration = [](auto*) {
            pass = 0;
            return answer("set_configuration");
        };
        ranges.start = [](auto*) {
            current()->ranges.clear();
            return answer("start");
        };
        ranges.stop = [](auto* p) {
            p->isAllPassSubmitted = ++pass >= current()->passes ? 1 : 0;
            return answer("stop");
        };
        ranges.push = [](auto* p) {
            current()->ranges.emplace_back(p->pRangeName);
            return answer("push");
        };
        ranges.pop = [](auto*) { return answer("pop"); };
        ranges.decode = [](auto* p) {
            p->numOfRangeDropped = current()->dropped;
            return answer("decode");
        };
        ranges.get_data_info = [](auto* p) {
            p->numTotalRanges = given().size();
            return answer("get_data_info");
        };
        ranges.get_range_info = [](auto* p) {
            name = given().at(p->rangeIndex);
            p->rangeName = name.c_str();
            return answer("get_range_info");
        };
        return cupti;
    }

    CuptiSubstitute substitute_;
};

}  // namespace qkprof::cuda
