#include "nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>

namespace qkprof::cuda {
namespace {

template <class Function>
void resolve(void* handle, const char* name, Function& function, std::string& missing) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) {
        missing = name;
    }
}

// Fills the table; gives the name of a function that the library lacks.
std::string bind(void* handle, NvmlLibrary& library) {
    std::string missing;
    resolve(handle, "nvmlInit_v2", library.init, missing);
    resolve(handle, "nvmlErrorString", library.error_string, missing);
    resolve(handle, "nvmlSystemGetDriverVersion", library.driver_version, missing);
    resolve(handle, "nvmlSystemGetNVMLVersion", library.nvml_version, missing);
    resolve(handle, "nvmlDeviceGetHandleByUUID", library.handle_by_uuid, missing);
    resolve(handle, "nvmlDeviceGetClockInfo", library.clock, missing);
    resolve(handle, "nvmlDeviceGetMaxClockInfo", library.max_clock, missing);
    resolve(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", library.clock_reasons, missing);
    resolve(handle, "nvmlDeviceGetEccMode", library.ecc_mode, missing);
    resolve(handle, "nvmlDeviceGetMigMode", library.mig_mode, missing);
    resolve(handle, "nvmlDeviceGetPersistenceMode", library.persistence_mode, missing);
    resolve(handle, "nvmlDeviceGetTemperature", library.temperature, missing);
    resolve(handle, "nvmlDeviceGetPowerUsage", library.power, missing);
    resolve(handle, "nvmlDeviceGetEnforcedPowerLimit", library.power_limit, missing);
    return missing;
}

}  // namespace

NvmlLibrary open_nvml(const char* name) {
    NvmlLibrary library;
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        library.failure = fmt::format(
            "NVML is not there: {} was not found; it comes with the NVIDIA driver (in a container, by the "
            "driver capability 'utility')",
            name);
        return library;
    }
    library.path = loaded_file(name);
    if (const std::string missing = bind(handle, library); !missing.empty()) {
        library.failure = fmt::format("NVML ({}) has no function {}", library.path, missing);
    } else if (const nvmlReturn_t result = library.init(); result != NVML_SUCCESS) {
        library.failure = nvml_failure(library, result, "starting");
    }
    return library;
}

const NvmlLibrary& nvml_library() {
    static const NvmlLibrary library = open_nvml("libnvidia-ml.so.1");
    return library;
}

std::string nvml_version_text(decltype(&nvmlSystemGetNVMLVersion) function) {
    std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text = {};
    const nvmlReturn_t result = function(text.data(), static_cast<unsigned>(text.size()));
    return result == NVML_SUCCESS ? std::string(text.data())
                                  : nvml_failure(nvml_library(), result, "reading a version");
}

std::string nvml_failure(const NvmlLibrary& library, nvmlReturn_t result, const char* doing) {
    const char* message = library.error_string(result);
    return fmt::format("NVML failed while {}: {} (error {})", doing, message == nullptr ? "no message" : message,
                       result);
}

std::string loaded_file(const char* name) {
    void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) {
        return {};
    }
    const link_map* map = nullptr;
    const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr;
    std::string file = found ? map->l_name : name;
    dlclose(handle);
    return file;
}

}  // namespace qkprof::cuda
