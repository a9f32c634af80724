#include "cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <vector>

namespace qkprof::cuda {
namespace {

// Where the library may be: the loader's places, the toolkit of the build, the places where toolkits install it.
std::vector<std::string> candidates() {
    const std::string file = fmt::format("libcupti.so.{}", CUPTI_API_VERSION / 10000);
    std::vector<std::string> names = {file, "libcupti.so"};
    for (const char* directory :
         {QKPROF_CUPTI_DIRECTORY, "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64"}) {
        if (*directory != '\0') {
            names.push_back(std::string(directory) + "/" + file);
        }
    }
    return names;
}

template <class Function>
void resolve(void* handle, const char* name, Function& function, std::string& missing) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) {
        missing = name;
    }
}

// Fills the table from the opened library; gives the reason where it does not serve.
std::string bind(void* handle, CuptiLibrary& library) {
    std::string missing;
    resolve(handle, "cuptiGetVersion", library.get_version, missing);
    resolve(handle, "cuptiGetErrorMessage", library.get_error_message, missing);
    resolve(handle, "cuptiActivityRegisterCallbacks", library.activity_register_callbacks, missing);
    resolve(handle, "cuptiActivityEnable", library.activity_enable, missing);
    resolve(handle, "cuptiActivityDisable", library.activity_disable, missing);
    resolve(handle, "cuptiActivityFlushAll", library.activity_flush_all, missing);
    resolve(handle, "cuptiActivityGetNextRecord", library.activity_get_next_record, missing);
    resolve(handle, "cuptiActivityGetNumDroppedRecords", library.activity_get_dropped, missing);
    resolve(handle, "cuptiFinalize", library.finalize, missing);
    if (!missing.empty()) {
        return "has no function " + missing;
    }
    // Records are laid out by version: an older library writes shorter ones than the headers describe.
    std::uint32_t version = 0;
    if (library.get_version(&version) != CUPTI_SUCCESS || version < CUPTI_API_VERSION / 10000 * 10000) {
        return fmt::format("is version {}, older than the {} that this program was built for", version,
                           CUPTI_API_VERSION);
    }
    return {};
}

CuptiLibrary open_library() {
    CuptiLibrary library;
    for (const std::string& name : candidates()) {
        void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            continue;
        }
        library.path = name;
        library.failure = bind(handle, library);
        if (library.failure.empty()) {
            return library;
        }
        library.failure = fmt::format("CUPTI ({}) {}", name, library.failure);
    }
    if (library.failure.empty()) {
        library.failure = fmt::format(
            "CUPTI is not installed: no libcupti.so.{} was found; install the CUDA Toolkit's CUPTI or name its "
            "directory in LD_LIBRARY_PATH",
            CUPTI_API_VERSION / 10000);
    }
    return library;
}

}  // namespace

const CuptiLibrary& cupti_library() {
    static const CuptiLibrary library = open_library();
    return library;
}

std::string cupti_failure(CUptiResult result, const char* doing) {
    const char* message = nullptr;
    if (cupti_library().get_error_message(result, &message) != CUPTI_SUCCESS || message == nullptr) {
        message = "an error without a message";
    }
    const char* advice = "";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_HARDWARE_BUSY) {
        advice = "; another profiler or debugger uses the GPU: end it";
    } else if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
        advice =
            "; allow it to all users with the driver's option NVreg_RestrictProfilingToAdminUsers=0, or run as root";
    }
    return fmt::format("CUPTI failed while {}: {} (error {}){}", doing, message, static_cast<int>(result), advice);
}

}  // namespace qkprof::cuda
