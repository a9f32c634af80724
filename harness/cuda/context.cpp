#include "context.h"

#include "device_kernels.h"

#include <fmt/format.h>

#include <fstream>

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

// Of the kernel module, "580.159.03"; empty where the system does not show it.
std::string driver_version() {
    std::ifstream file("/sys/module/nvidia/version");
    std::string version;
    file >> version;
    return version;
}

DeviceInfo describe(int ordinal) {
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
                   .persisting_l2_bytes = properties.persistingL2CacheMaxSize};
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
    if (const std::string version = driver_version(); !version.empty()) {
        info.facts.emplace_back("driver", version);
    }
    return info;
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

Context::Context(int ordinal) : ordinal_(ordinal) {
    use();
    info_ = describe(ordinal);
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

void Context::evict_caches() const { read_zeros(other_data_.get(), other_bytes_, sink_.get(), stream()); }

}  // namespace qkprof::cuda
