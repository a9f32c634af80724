// NVML, opened when it is first needed: a machine without it still measures, at clocks that nobody watched.
#pragma once

#include "nvml.h"

#include <string>

namespace qkprof::cuda {

struct NvmlLibrary {
    decltype(&nvmlInit_v2) init = nullptr;
    decltype(&nvmlErrorString) error_string = nullptr;
    decltype(&nvmlSystemGetDriverVersion) driver_version = nullptr;
    decltype(&nvmlSystemGetNVMLVersion) nvml_version = nullptr;
    decltype(&nvmlDeviceGetHandleByUUID) handle_by_uuid = nullptr;
    decltype(&nvmlDeviceGetClockInfo) clock = nullptr;
    decltype(&nvmlDeviceGetMaxClockInfo) max_clock = nullptr;
    decltype(&nvmlDeviceGetCurrentClocksThrottleReasons) clock_reasons = nullptr;
    decltype(&nvmlDeviceGetEccMode) ecc_mode = nullptr;
    decltype(&nvmlDeviceGetMigMode) mig_mode = nullptr;
    decltype(&nvmlDeviceGetPersistenceMode) persistence_mode = nullptr;
    decltype(&nvmlDeviceGetTemperature) temperature = nullptr;
    decltype(&nvmlDeviceGetPowerUsage) power = nullptr;
    decltype(&nvmlDeviceGetEnforcedPowerLimit) power_limit = nullptr;

    std::string path;     // the file that was opened
    std::string failure;  // why it cannot be used, as a clause; then no function may be called
};

// The library of this process; opened and initialised by the first call, never closed.
const NvmlLibrary& nvml_library();

// Opens and initialises the library of this name.
NvmlLibrary open_nvml(const char* name);

// The version that one of its two functions gives, or why it gives none.
std::string nvml_version_text(decltype(&nvmlSystemGetNVMLVersion) function);

// "NVML failed while <doing>: <what it says> (error <number>)"
std::string nvml_failure(const NvmlLibrary& library, nvmlReturn_t result, const char* doing);

// The file that the loader has under this name in the process; empty if it has none.
std::string loaded_file(const char* name);

}  // namespace qkprof::cuda
