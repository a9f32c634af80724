#include "cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace qkprof::cuda {
namespace {

constexpr const char* metrics_library = "libnvperf_host.so";

// Where the library may be: the loader's places, the toolkit of the build, the places where toolkits install it.
std::vector<std::string> candidates() {
    const std::string file = fmt::format("libcupti.so.{}", CUPTI_API_VERSION / 10000);
    std::vector<std::string> names = {file, "libcupti.so"};
    for (const char* directory :
         {QKPROF_CUPTI_DIRECTORY, "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64"}) {
        if (*directory != '\0') {
            names.push_back(fmt::format("{}/{}", directory, file));
        }
    }
    return names;
}

// Fills tables of functions from an opened library; the last that it does not have is `missing`.
class Resolver {
  public:
    explicit Resolver(void* handle) : handle_(handle) {}
    template <class Function>
    Resolver& operator()(const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(handle_, name));
        if (function == nullptr) {
            missing_ = name;
        }
        return *this;
    }
    const std::string& missing() const { return missing_; }

  private:
    void* handle_;
    std::string missing_;
};

// Gives the reason where the library does not serve.
std::string bind_activity(void* handle, CuptiLibrary& library) {
    Resolver resolve(handle);
    CuptiLibrary::Activity& activity = library.activity;
    resolve("cuptiGetVersion", library.get_version)("cuptiGetErrorMessage", library.get_error_message);
    resolve("cuptiSubscribe", library.subscribe)("cuptiUnsubscribe", library.unsubscribe);
    resolve("cuptiFinalize", library.finalize);
    resolve("cuptiActivityRegisterCallbacks", activity.register_callbacks);
    resolve("cuptiActivityEnable", activity.enable)("cuptiActivityDisable", activity.disable);
    resolve("cuptiActivityFlushAll", activity.flush_all);
    resolve("cuptiActivityGetNextRecord", activity.get_next_record);
    resolve("cuptiActivityGetNumDroppedRecords", activity.get_dropped);
    if (!resolve.missing().empty()) {
        return fmt::format("has no function {}", resolve.missing());
    }
    // Records are laid out by version: an older library writes shorter ones than the headers describe.
    std::uint32_t version = 0;
    if (library.get_version(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION / 10000 * 10000) {
        return fmt::format("is version {}, older than the {} that this program was built for", version,
                           CUPTI_API_VERSION);
    }
    return {};
}

std::string bind_watching(void* handle, CuptiLibrary& library) {
    Resolver resolve(handle);
    CuptiLibrary::Watching& watching = library.watching;
    resolve("cuptiSubscribe_v2", watching.subscribe)("cuptiEnableCallback", watching.enable_callback);
    resolve("cuptiGetCallbackName", watching.get_callback_name);
    resolve("cuptiActivityFlushPeriod", watching.flush_period);
    resolve("cuptiActivityRegisterTimestampCallback", watching.register_timestamp);
    return resolve.missing();
}

std::string bind_metrics(void* handle, CuptiLibrary& library) {
    Resolver resolve(handle);
    CuptiLibrary::Metrics& metrics = library.metrics;
    resolve("cuptiProfilerHostInitialize", metrics.initialize);
    resolve("cuptiProfilerHostDeinitialize", metrics.deinitialize);
    resolve("cuptiProfilerHostGetBaseMetrics", metrics.get_base_metrics);
    resolve("cuptiProfilerHostGetSubMetrics", metrics.get_submetrics);
    resolve("cuptiProfilerHostGetMetricProperties", metrics.get_properties);
    resolve("cuptiProfilerHostConfigAddMetrics", metrics.add);
    resolve("cuptiProfilerHostGetConfigImageSize", metrics.get_configuration_size);
    resolve("cuptiProfilerHostGetConfigImage", metrics.get_configuration);
    resolve("cuptiProfilerHostGetNumOfPasses", metrics.get_passes);
    resolve("cuptiProfilerHostEvaluateToGpuValues", metrics.evaluate);
    CuptiLibrary::Ranges& ranges = library.ranges;
    resolve("cuptiProfilerInitialize", ranges.initialize)("cuptiProfilerDeInitialize", ranges.deinitialize);
    resolve("cuptiDeviceGetChipName", ranges.get_chip_name);
    resolve("cuptiProfilerGetCounterAvailability", ranges.get_availability);
    resolve("cuptiRangeProfilerEnable", ranges.enable)("cuptiRangeProfilerDisable", ranges.disable);
    resolve("cuptiRangeProfilerGetCounterDataSize", ranges.get_data_size);
    resolve("cuptiRangeProfilerCounterDataImageInitialize", ranges.initialize_data);
    resolve("cuptiRangeProfilerSetConfig", ranges.set_configuration);
    resolve("cuptiRangeProfilerStart", ranges.start)("cuptiRangeProfilerStop", ranges.stop);
    resolve("cuptiRangeProfilerPushRange", ranges.push)("cuptiRangeProfilerPopRange", ranges.pop);
    resolve("cuptiRangeProfilerDecodeData", ranges.decode);
    resolve("cuptiRangeProfilerGetCounterDataInfo", ranges.get_data_info);
    resolve("cuptiRangeProfilerCounterDataGetRangeInfo", ranges.get_range_info);
    return resolve.missing();
}

// The file of an opened library, or what it was opened by where the loader does not tell.
std::string file_of(void* handle, const std::string& name) {
    const link_map* map = nullptr;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0' ? map->l_name : name;
}

// CUPTI opens libnvperf_host.so by its bare name, which finds one that is loaded already: so the one beside CUPTI is
// loaded first, wherever that is. Returns its path, empty where there is none.
std::string open_metrics_library(const std::string& cupti) {
    std::error_code ignored;
    const std::filesystem::path as_opened(cupti);
    const std::filesystem::path resolved = std::filesystem::canonical(as_opened, ignored);
    for (const std::filesystem::path& file :
         {as_opened.parent_path() / metrics_library, resolved.parent_path() / metrics_library,
          std::filesystem::path(metrics_library)}) {
        if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL); handle != nullptr) {
            return file_of(handle, file.string());
        }
    }
    return {};
}

void open_metrics(void* handle, CuptiLibrary& library) {
#ifdef __SANITIZE_ADDRESS__
    static_cast<void>(handle);
    library.metrics_failure =
        "a build with AddressSanitizer cannot read hardware counters: it does not let CUPTI load its own libraries";
#else
    if (const std::string missing = bind_metrics(handle, library); !missing.empty()) {
        library.metrics_failure = fmt::format("CUPTI ({}) has no function {}", library.path, missing);
        return;
    }
    library.metrics_path = open_metrics_library(library.path);
    if (library.metrics_path.empty()) {
        library.metrics_failure = fmt::format(
            "{}, which CUPTI reads hardware counters with, was not found beside {}: install it there or name its "
            "directory in LD_LIBRARY_PATH",
            metrics_library, library.path);
    }
#endif
}

CuptiLibrary open_library() {
    CuptiLibrary library;
    for (const std::string& name : candidates()) {
        void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            continue;
        }
        library.failure = bind_activity(handle, library);
        library.path = file_of(handle, name);
        if (library.failure.empty()) {
            if (const std::string missing = bind_watching(handle, library); !missing.empty()) {
                library.watching_failure = fmt::format("CUPTI ({}) has no function {}", library.path, missing);
            }
            open_metrics(handle, library);
            return library;
        }
        library.failure = fmt::format("CUPTI ({}) {}", library.path, library.failure);
    }
    if (library.failure.empty()) {
        library.failure = fmt::format(
            "CUPTI is not installed: no libcupti.so.{} was found; install the CUDA Toolkit's CUPTI or name its "
            "directory in LD_LIBRARY_PATH",
            CUPTI_API_VERSION / 10000);
    }
    return library;
}

const CuptiLibrary* substitute = nullptr;

}  // namespace

const CuptiLibrary& cupti_library() {
    if (substitute != nullptr) {
        return *substitute;
    }
    static const CuptiLibrary library = open_library();
    return library;
}

const CuptiLibrary& cupti_with_metrics() {
    const CuptiLibrary& library = cupti_library();
    for (const std::string& failure : {library.failure, library.metrics_failure}) {
        if (!failure.empty()) {
            throw CannotMeasure(fmt::format("{}.", failure));
        }
    }
    return library;
}

CuptiSubstitute::CuptiSubstitute(const CuptiLibrary& library) : before_(substitute) { substitute = &library; }
CuptiSubstitute::~CuptiSubstitute() { substitute = before_; }

std::string cupti_failure(CUptiResult result, const char* doing) {
    const char* message = nullptr;
    if (cupti_library().get_error_message(result, &message) != CUPTI_SUCCESS || message == nullptr) {
        message = "an error without a message";
    }
    const char* advice = "";
    switch (result) {
        case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
            advice = "; another profiler is attached to this process, such as ncu, nsys or cuda-gdb: run without it";
            break;
        case CUPTI_ERROR_HARDWARE_BUSY:
            advice =
                "; another profiler holds the GPU's counters, such as ncu, nsys or a monitoring agent (DCGM's lets go "
                "of "
                "them by dcgmi profile --pause): end it and run again";
            break;
        case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
            advice =
                "; counters are reserved to administrators here: run as root or with CAP_SYS_ADMIN, or load the "
                "driver with NVreg_RestrictProfilingToAdminUsers=0";
            break;
        case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
            advice = "; the host of this virtual machine must allow profiling of its virtual GPU";
            break;
        case CUPTI_ERROR_NOT_INITIALIZED:
        case CUPTI_ERROR_NOT_SUPPORTED:
            advice = "; is the driver too old for this CUPTI? update it, or use an older CUDA Toolkit's";
            break;
        default:
            break;
    }
    return fmt::format("CUPTI failed while {}: {} (error {}){}", doing, message, static_cast<int>(result), advice);
}

void cupti_check(CUptiResult result, const char* doing) {
    if (result != CUPTI_SUCCESS) {
        throw CannotMeasure(fmt::format("{}.", cupti_failure(result, doing)));
    }
}

}  // namespace qkprof::cuda
