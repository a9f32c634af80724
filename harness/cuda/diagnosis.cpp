#include "diagnosis.h"

#include "context.h"
#include "cuda_device.h"
#include "cupti_library.h"
#include "gpu_monitor.h"
#include "surroundings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace qkprof::cuda {
namespace {

std::string driver_text() {
    int version = 0;
    if (const cudaError_t status = cudaDriverGetVersion(&version); status != cudaSuccess || version == 0) {
        discard(status);
        return "none is loaded";
    }
    const NvmlLibrary& nvml = nvml_library();
    return fmt::format(
        "{}, for CUDA {} ({})",
        nvml.failure.empty() ? nvml_version_text(nvml.driver_version) : "of a version that NVML must tell",
        version_text(version), loaded_file("libcuda.so.1"));
}

std::string cupti_text() {
    const CuptiLibrary& cupti = cupti_library();
    std::uint32_t version = 0;
    if (!cupti.failure.empty() || cupti.get_version(&version) != CUPTI_SUCCESS) {
        return cupti.failure;
    }
    return fmt::format("{} ({})", version, cupti.path);
}

std::string nvml_text() {
    const NvmlLibrary& nvml = nvml_library();
    return nvml.failure.empty() ? fmt::format("{} ({})", nvml_version_text(nvml.nvml_version), nvml.path)
                                : nvml.failure;
}

// Tools that put themselves into this process say so in its environment.
std::string injected() {
    const char* library = std::getenv("CUDA_INJECTION64_PATH");
    return library == nullptr || *library == '\0' ? "nothing" : fmt::format("{} (CUDA_INJECTION64_PATH)", library);
}

std::string other_profilers() {
    const std::vector<std::string> found = profilers_running();
    return found.empty() ? "none among the processes that are visible here" : fmt::format("{}", fmt::join(found, ", "));
}

// How the counter of this name was read, in the first row that has it.
std::string reading_of(const Calibration& calibration, const char* counter) {
    for (const CalibrationRow& row : calibration.rows) {
        if (row.counter == counter) {
            return row.read ? "can be read" : row.reason;
        }
    }
    return calibration.failure.empty() ? "not read" : calibration.failure;
}

}  // namespace

Diagnosis diagnose_gpu(int ordinal) {
    Diagnosis diagnosis;
    const CuptiLibrary& cupti = cupti_library();
    diagnosis.sections.push_back(
        {"software",
         {{"NVIDIA driver", driver_text()},
          {"CUDA runtime", fmt::format("{} (part of this program)", version_text(CUDART_VERSION))},
          {"CUPTI", cupti_text()},
          {"CUPTI's metrics", cupti.metrics_failure.empty() ? cupti.metrics_path : cupti.metrics_failure},
          {"NVML", nvml_text()}}});
    Diagnosis::Section counters = {"counters",
                                   {{"the driver gives them to", counter_permission()},
                                    {"injected into this process", injected()},
                                    {"other profilers", other_profilers()}}};
    std::unique_ptr<Device> device;
    try {
        device = open_cuda_device(ordinal);
    } catch (const CannotMeasure& error) {
        diagnosis.no_gpu = error.what();
        diagnosis.sections.push_back(std::move(counters));
        return diagnosis;
    }
    const DeviceInfo& info = device->info();
    Diagnosis::Section gpu = {"GPU", {{"name", fmt::format("{} ({})", info.description, info.id)}}};
    std::string uuid;
    for (const auto& [name, value] : info.facts) {
        if (name == "uuid" || name == "compute_capability") {
            gpu.facts.emplace_back(name == "uuid" ? "UUID" : "compute capability", value);
        }
        uuid = name == "uuid" ? value : uuid;
    }
    for (auto& [name, value] : GpuMonitor(uuid).condition()) {
        gpu.facts.emplace_back(std::move(name), std::move(value));
    }
    diagnosis.sections.push_back(std::move(gpu));
    diagnosis.calibration = device->calibrate();
    counters.facts.emplace_back("traffic", reading_of(diagnosis.calibration, "dram_read_bytes"));
    counters.facts.emplace_back("launches", reading_of(diagnosis.calibration, "launches"));
    diagnosis.sections.push_back(std::move(counters));
    return diagnosis;
}

}  // namespace qkprof::cuda
