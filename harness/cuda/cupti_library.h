// CUPTI, opened when it is first needed: a machine without it still measures times.
#pragma once

#include "error.h"

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>

namespace qkprof::cuda {

// The functions of CUPTI that are used, with the types of its headers.
struct CuptiLibrary {
    decltype(&cuptiGetVersion) get_version = nullptr;
    decltype(&cuptiGetErrorMessage) get_error_message = nullptr;
    decltype(&cuptiSubscribe) subscribe = nullptr;
    decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
    decltype(&cuptiFinalize) finalize = nullptr;

    // Records of what ran.
    struct Activity {
        decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
        decltype(&cuptiActivityEnable) enable = nullptr;
        decltype(&cuptiActivityDisable) disable = nullptr;
        decltype(&cuptiActivityFlushAll) flush_all = nullptr;
        decltype(&cuptiActivityGetNextRecord) get_next_record = nullptr;
        decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
    } activity;

    // Being told of the program's own calls.
    struct Watching {
        decltype(&cuptiSubscribe_v2) subscribe = nullptr;
        decltype(&cuptiEnableCallback) enable_callback = nullptr;
        decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
        decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
        decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp = nullptr;
    } watching;

    // Metrics: which a chip has, what they cost, their values. Needs no GPU.
    struct Metrics {
        decltype(&cuptiProfilerHostInitialize) initialize = nullptr;
        decltype(&cuptiProfilerHostDeinitialize) deinitialize = nullptr;
        decltype(&cuptiProfilerHostGetBaseMetrics) get_base_metrics = nullptr;
        decltype(&cuptiProfilerHostGetSubMetrics) get_submetrics = nullptr;
        decltype(&cuptiProfilerHostGetMetricProperties) get_properties = nullptr;
        decltype(&cuptiProfilerHostConfigAddMetrics) add = nullptr;
        decltype(&cuptiProfilerHostGetConfigImageSize) get_configuration_size = nullptr;
        decltype(&cuptiProfilerHostGetConfigImage) get_configuration = nullptr;
        decltype(&cuptiProfilerHostGetNumOfPasses) get_passes = nullptr;
        decltype(&cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
    } metrics;

    // Counters of ranges of work on a GPU.
    struct Ranges {
        decltype(&cuptiProfilerInitialize) initialize = nullptr;
        decltype(&cuptiProfilerDeInitialize) deinitialize = nullptr;
        decltype(&cuptiDeviceGetChipName) get_chip_name = nullptr;
        decltype(&cuptiProfilerGetCounterAvailability) get_availability = nullptr;
        decltype(&cuptiRangeProfilerEnable) enable = nullptr;
        decltype(&cuptiRangeProfilerDisable) disable = nullptr;
        decltype(&cuptiRangeProfilerGetCounterDataSize) get_data_size = nullptr;
        decltype(&cuptiRangeProfilerCounterDataImageInitialize) initialize_data = nullptr;
        decltype(&cuptiRangeProfilerSetConfig) set_configuration = nullptr;
        decltype(&cuptiRangeProfilerStart) start = nullptr;
        decltype(&cuptiRangeProfilerStop) stop = nullptr;
        decltype(&cuptiRangeProfilerPushRange) push = nullptr;
        decltype(&cuptiRangeProfilerPopRange) pop = nullptr;
        decltype(&cuptiRangeProfilerDecodeData) decode = nullptr;
        decltype(&cuptiRangeProfilerGetCounterDataInfo) get_data_info = nullptr;
        decltype(&cuptiRangeProfilerCounterDataGetRangeInfo) get_range_info = nullptr;
    } ranges;

    std::string path;              // the library's file, or its name where the loader does not tell
    std::string metrics_path;      // libnvperf_host's, which CUPTI reads metrics with
    std::string failure;           // why it cannot be used, as a clause; then no function may be called
    std::string watching_failure;  // why calls cannot be watched, a clause
    std::string metrics_failure;   // why metrics and ranges cannot be used, although activity can; a clause
};

// The library of this process; opened by the first call and never closed.
const CuptiLibrary& cupti_library();

// As the above, or throws CannotMeasure where metrics and ranges cannot be used.
const CuptiLibrary& cupti_with_metrics();

// While an object lives, cupti_library() is this one: so tests inject failures.
class CuptiSubstitute {
  public:
    explicit CuptiSubstitute(const CuptiLibrary& library);
    ~CuptiSubstitute();
    CuptiSubstitute(const CuptiSubstitute&) = delete;
    CuptiSubstitute& operator=(const CuptiSubstitute&) = delete;

  private:
    const CuptiLibrary* before_;
};

// "CUPTI failed while <doing>: <what it says> (error <number>)", with what to do where that is known. A clause.
std::string cupti_failure(CUptiResult result, const char* doing);

// Throws CannotMeasure with that.
void cupti_check(CUptiResult result, const char* doing);

// One of CUPTI's structs of parameters, which must carry its own size: all else is zero.
template <class Parameters>
Parameters sized(std::size_t size) {
    Parameters parameters = {};
    parameters.structSize = size;
    return parameters;
}
#define QK_CUPTI(STRUCT) ::qkprof::cuda::sized<STRUCT>(STRUCT##_STRUCT_SIZE)

}  // namespace qkprof::cuda
