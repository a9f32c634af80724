#include "gpu_monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qkprof::cuda {
namespace {

std::string on_or_off(bool on) { return on ? "on" : "off"; }

// What `read` gives, or why it cannot: read() answers with NVML's result.
template <class Read, class Text>
std::string text_of(const char* doing, Read read, Text text) {
    const nvmlReturn_t result = read();
    return result == NVML_SUCCESS ? text() : nvml_failure(nvml_library(), result, doing);
}

}  // namespace

GpuMonitor::GpuMonitor(const std::string& uuid) : failure_(nvml_library().failure) {
    if (!failure_.empty()) {
        return;
    }
    const nvmlReturn_t result = nvml_library().handle_by_uuid(uuid.c_str(), &device_);
    if (result != NVML_SUCCESS) {
        failure_ = nvml_failure(nvml_library(), result, "looking for the GPU by its UUID");
    }
}

ClockReading GpuMonitor::read() const {
    ClockReading reading;
    reading.failure = failure_;
    if (!failure_.empty()) {
        return reading;
    }
    const NvmlLibrary& nvml = nvml_library();
    const auto succeeded = [&](nvmlReturn_t result, const char* doing) {
        if (result != NVML_SUCCESS) {
            reading.failure = nvml_failure(nvml, result, doing);
        }
        return result == NVML_SUCCESS;
    };
    unsigned megahertz = 0;
    if (succeeded(nvml.clock(device_, NVML_CLOCK_SM, &megahertz), "reading the SM clock")) {
        reading.sm_mhz = megahertz;
    }
    if (succeeded(nvml.clock(device_, NVML_CLOCK_MEM, &megahertz), "reading the memory clock")) {
        reading.memory_mhz = megahertz;
    }
    unsigned long long bits = 0;
    if (succeeded(nvml.clock_reasons(device_, &bits), "reading the throttle reasons")) {
        reading.reasons = bits;
    }
    return reading;
}

std::vector<std::pair<std::string, std::string>> GpuMonitor::condition() const {
    if (!failure_.empty()) {
        return {{"clocks and throttling", failure_}};
    }
    const NvmlLibrary& nvml = nvml_library();
    unsigned now = 0;
    unsigned limit = 0;
    unsigned long long bits = 0;
    nvmlEnableState_t state = 0;
    nvmlEnableState_t next_state = 0;
    const auto clock = [&](nvmlClockType_t type) {
        return text_of(
            "reading a clock",
            [&] {
                const nvmlReturn_t result = nvml.clock(device_, type, &now);
                return result == NVML_SUCCESS ? nvml.max_clock(device_, type, &limit) : result;
            },
            [&] { return fmt::format("{} MHz now, {} MHz at most", now, limit); });
    };
    return {
        {"SM clock", clock(NVML_CLOCK_SM)},
        {"memory clock", clock(NVML_CLOCK_MEM)},
        {"clocks held by", text_of(
                               "reading the throttle reasons", [&] { return nvml.clock_reasons(device_, &bits); },
                               [&] {
                                   return bits == 0 ? std::string("nothing")
                                                    : fmt::format("{}", fmt::join(clock_reasons(bits), ", "));
                               })},
        {"ECC", text_of(
                    "reading the ECC mode", [&] { return nvml.ecc_mode(device_, &state, &next_state); },
                    [&] { return on_or_off(state != 0); })},
        {"MIG", text_of(
                    "reading the MIG mode", [&] { return nvml.mig_mode(device_, &now, &limit); },
                    [&] { return on_or_off(now != 0); })},
        {"persistence mode", text_of(
                                 "reading the persistence mode", [&] { return nvml.persistence_mode(device_, &state); },
                                 [&] { return on_or_off(state != 0); })},
        {"temperature",
         text_of(
             "reading the temperature", [&] { return nvml.temperature(device_, NVML_TEMPERATURE_GPU, &now); },
             [&] { return fmt::format("{} degrees Celsius", now); })},
        {"power", text_of(
                      "reading the power",
                      [&] {
                          const nvmlReturn_t result = nvml.power(device_, &now);
                          return result == NVML_SUCCESS ? nvml.power_limit(device_, &limit) : result;
                      },
                      [&] { return fmt::format("{:.0f} W now, {:.0f} W at most", now / 1e3, limit / 1e3); })}};
}

}  // namespace qkprof::cuda
