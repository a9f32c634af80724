#include "context.h"

#include "device_kernels.h"
#include "eviction.h"

#include <fmt/format.h>

#include <algorithm>

namespace qkprof::cuda {
namespace {

int attribute(cudaDeviceAttr name, int ordinal) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, name, ordinal), "reading the device's attributes");
    return value;
}

// As nvidia-smi writes it.
std::string uuid_text(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                            static_cast<unsigned char>(uuid.bytes[i]));
    }
    return text;
}

DeviceInfo describe(int ordinal) {
    check(cudaSetDevice(ordinal), "making the GPU current");
    cudaDeviceProp properties = {};
    check(cudaGetDeviceProperties(&properties, ordinal), "reading the device's properties");
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver), "reading the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
    DeviceInfo info;
    info.id = fmt::format("cuda:{}", ordinal);
    info.description = properties.name;
    info.backend = Backend::cuda;
    info.limits = {.multiprocessors = properties.multiProcessorCount,
                   .shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin),
                   .persisting_l2_bytes = properties.persistingL2CacheMaxSize,
                   .l2_bytes = properties.l2CacheSize};
    info.l2_bytes = properties.l2CacheSize;
    info.has_clock = true;
    info.counts_together = true;
    info.facts = {{"uuid", uuid_text(properties.uuid)},
                  {"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
                  {"cuda_of_driver", version_text(driver)},
                  {"cuda_runtime", version_text(runtime)},
                  {"sm_clock_mhz", fmt::format("{}", attribute(cudaDevAttrClockRate, ordinal) / 1000)},
                  {"memory_clock_mhz", fmt::format("{}", attribute(cudaDevAttrMemoryClockRate, ordinal) / 1000)},
                  {"memory_bus_bits", fmt::format("{}", properties.memoryBusWidth)},
                  {"ecc", properties.ECCEnabled != 0 ? "on" : "off"}};
    const NvmlLibrary& nvml = nvml_library();
    info.facts.emplace_back("driver",
                            nvml.failure.empty() ? nvml_version_text(nvml.driver_version) : "unknown: " + nvml.failure);
    return info;
}

const std::string& fact(const DeviceInfo& info, std::string_view name) {
    return std::find_if(info.facts.begin(), info.facts.end(), [&](const auto& f) { return f.first == name; })->second;
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Context::Context(int ordinal) : ordinal_(ordinal), info_(describe(ordinal)), monitor_(fact(info_, "uuid")) {
    info_.facts.emplace_back("clock_readings", monitor_.failure().empty() ? "NVML, before and after each sample of time"
                                                                          : "none: " + monitor_.failure());
    stream_ = make_stream();
    other_bytes_ = 2 * info_.l2_bytes;
    other_data_ = allocate(other_bytes_);
    sink_ = allocate(sizeof(unsigned));
    check(cudaMemsetAsync(other_data_.get(), 0, static_cast<std::size_t>(other_bytes_), stream()),
          "clearing the data that evicts the caches");
    check(cudaStreamSynchronize(stream()), "clearing the data that evicts the caches");
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "reading the free memory");
    info_.memory_bytes = static_cast<std::int64_t>(free_bytes);
}

void Context::use() const { check(cudaSetDevice(ordinal_), "making the GPU current"); }

std::string Context::warm_up() const {
    constexpr int milliseconds = 50;
    const ClockReading before = monitor_.read();
    spin(info_.limits.multiprocessors, milliseconds, stream());
    check(cudaStreamSynchronize(stream()), "warming the GPU up");
    const ClockReading after = monitor_.read();
    const auto clock = [](const ClockReading& reading) {
        return reading.sm_mhz ? fmt::format("{:.0f} MHz", *reading.sm_mhz) : std::string("unknown");
    };
    return fmt::format(
        "a kernel kept all SMs busy for {} ms before the times of each problem; SM clock {} before, {} "
        "after (the last time)",
        milliseconds, clock(before), clock(after));
}

void Context::evict_caches() const { evict(other_data_.get(), other_bytes_, sink_.get(), stream()); }

}  // namespace qkprof::cuda
