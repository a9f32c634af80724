#include "range_profiler.h"

#include "resources.h"

#include <fmt/format.h>

namespace qkprof::cuda {
namespace {

// The CUDA driver's function, which the runtime's does not give: found without linking the driver.
template <class Function>
Function driver_function(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    constexpr unsigned first_version = 12000;
    check(cudaGetDriverEntryPointByVersion(name, &function, first_version, cudaEnableDefault, &found),
          "looking for a function of the driver");
    if (found != cudaDriverEntryPointSuccess || function == nullptr) {
        throw CannotMeasure(fmt::format("The NVIDIA driver has no function {}: update it.", name));
    }
    return reinterpret_cast<Function>(function);
}

std::string chip_name(int ordinal) {
    auto chip = QK_CUPTI(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(ordinal);
    cupti_check(cupti_library().ranges.get_chip_name(&chip), "asking for the chip's name");
    return chip.pChipName;
}

// Which counters this GPU gives, in CUPTI's own form.
std::vector<std::uint8_t> available_counters(CUcontext context) {
    const auto ask = cupti_library().ranges.get_availability;
    auto available = QK_CUPTI(CUpti_Profiler_GetCounterAvailability_Params);
    available.ctx = context;
    cupti_check(ask(&available), "asking which counters the GPU gives");
    std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = image.data();
    cupti_check(ask(&available), "asking which counters the GPU gives");
    return image;
}

}  // namespace

ProfilerAttached::ProfilerAttached() {
    // Once CUPTI was detached, its profiler opens again only after a subscriber came: it answers "not initialized"
    // before.
    const CuptiLibrary& cupti = cupti_with_metrics();
    CUpti_SubscriberHandle subscriber = nullptr;
    cupti_check(cupti.subscribe(&subscriber, nullptr, nullptr), "attaching to the process");
    cupti_check(cupti.unsubscribe(subscriber), "attaching to the process");
    auto begin = QK_CUPTI(CUpti_Profiler_Initialize_Params);
    cupti_check(cupti.ranges.initialize(&begin), "opening the profiler");
}

ProfilerAttached::~ProfilerAttached() {
    auto end = QK_CUPTI(CUpti_Profiler_DeInitialize_Params);
    cupti_library().ranges.deinitialize(&end);
    cupti_library().finalize();
}

ProfiledContext current_context() {
    ProfiledContext current;
    check(cudaGetDevice(&current.ordinal), "asking for the current GPU");
    check(cudaFree(nullptr), "making the GPU's context");
    using GetCurrent = CUresult (*)(CUcontext*);
    if (driver_function<GetCurrent>("cuCtxGetCurrent")(&current.context) != CUDA_SUCCESS ||
        current.context == nullptr) {
        throw CannotMeasure("This thread has no CUDA context whose counters could be read.");
    }
    return current;
}

std::string chip_of(const ProfiledContext& context) {
    const ProfilerAttached attached;
    return chip_name(context.ordinal);
}

RangeProfiler::RangeProfiler(const ProfiledContext& context) {
    chip_ = chip_name(context.ordinal);
    availability_ = available_counters(context.context);
    auto enable = QK_CUPTI(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context.context;
    cupti_check(cupti_library().ranges.enable(&enable), "opening a profiling session on the GPU");
    profiler_ = enable.pRangeProfilerObject;
}

RangeProfiler::~RangeProfiler() {
    auto disable = QK_CUPTI(CUpti_RangeProfiler_Disable_Params);
    disable.pRangeProfilerObject = profiler_;
    cupti_library().ranges.disable(&disable);
}

RangeProfiler::Values RangeProfiler::collect(MetricSet& metrics, std::size_t most_ranges,
                                             const std::function<void(const Measure&)>& work) {
    const CuptiLibrary::Ranges& cupti = cupti_library().ranges;
    auto size = QK_CUPTI(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = metrics.pointers().data();
    size.numMetrics = metrics.pointers().size();
    size.maxNumOfRanges = most_ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(most_ranges);
    cupti_check(cupti.get_data_size(&size), "sizing the counters' data");
    data_.assign(size.counterDataSize, 0);
    configuration_.assign(metrics.configuration().begin(), metrics.configuration().end());

    auto initialize = QK_CUPTI(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    initialize.pRangeProfilerObject = profiler_;
    initialize.counterDataSize = data_.size();
    initialize.pCounterData = data_.data();
    cupti_check(cupti.initialize_data(&initialize), "preparing the counters' data");

    auto configure = QK_CUPTI(CUpti_RangeProfiler_SetConfig_Params);
    configure.pRangeProfilerObject = profiler_;
    configure.configSize = configuration_.size();
    configure.pConfig = configuration_.data();
    configure.counterDataImageSize = data_.size();
    configure.pCounterDataImage = data_.data();
    configure.range = CUPTI_UserRange;
    configure.replayMode = CUPTI_UserReplay;
    configure.maxRangesPerPass = most_ranges;
    configure.numNestingLevels = 1;
    configure.minNestingLevel = 1;
    cupti_check(cupti.set_configuration(&configure), "configuring the counters");

    do {
        run_pass(work);
    } while (!stop());

    auto decode = QK_CUPTI(CUpti_RangeProfiler_DecodeData_Params);
    decode.pRangeProfilerObject = profiler_;
    cupti_check(cupti.decode(&decode), "decoding the counters");
    if (decode.numOfRangeDropped != 0) {
        throw CannotMeasure(fmt::format("CUPTI dropped {} of the measured ranges.", decode.numOfRangeDropped));
    }
    auto info = QK_CUPTI(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    cupti_check(cupti.get_data_info(&info), "counting the measured ranges");
    Values values;
    for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
        auto range = QK_CUPTI(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
        range.pCounterDataImage = data_.data();
        range.counterDataImageSize = data_.size();
        range.rangeIndex = i;
        range.rangeDelimiter = "/";
        cupti_check(cupti.get_range_info(&range), "reading a range's name");
        values[range.rangeName] = metrics.evaluate(data_, i);
    }
    return values;
}

void RangeProfiler::run_pass(const std::function<void(const Measure&)>& work) {
    const CuptiLibrary::Ranges& cupti = cupti_library().ranges;
    auto start = QK_CUPTI(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    cupti_check(cupti.start(&start), "starting a pass of the counters");
    const auto pop_range = [&] {
        auto pop = QK_CUPTI(CUpti_RangeProfiler_PopRange_Params);
        pop.pRangeProfilerObject = profiler_;
        return cupti.pop(&pop);
    };
    const Measure measure = [&](const std::string& range, const std::function<void()>& call) {
        auto push = QK_CUPTI(CUpti_RangeProfiler_PushRange_Params);
        push.pRangeProfilerObject = profiler_;
        push.pRangeName = range.c_str();
        cupti_check(cupti.push(&push), "beginning a range");
        try {
            call();
        } catch (...) {
            pop_range();
            throw;
        }
        cupti_check(pop_range(), "ending a range");
    };
    try {
        work(measure);
    } catch (...) {
        auto end = QK_CUPTI(CUpti_RangeProfiler_Stop_Params);
        end.pRangeProfilerObject = profiler_;
        cupti.stop(&end);
        throw;
    }
}

bool RangeProfiler::stop() {
    auto end = QK_CUPTI(CUpti_RangeProfiler_Stop_Params);
    end.pRangeProfilerObject = profiler_;
    cupti_check(cupti_library().ranges.stop(&end), "ending a pass of the counters");
    return end.isAllPassSubmitted != 0;
}

}  // namespace qkprof::cuda
