#include "cuda_device.h"

#include "calibrator.h"
#include "context.h"
#include "input.h"
#include "names.h"
#include "traffic.h"
#include "workload.h"

#include <fmt/format.h>

#include <optional>

namespace qkprof {
namespace {

constexpr int oldest_major = 9;  // of the compute capabilities that the kernels are compiled for

// How many GPUs CUDA has, or why it has none.
struct Found {
    int count = 0;
    std::string reason;  // as a clause
};

Found find_gpus() {
    Found found;
    const cudaError_t status = cudaGetDeviceCount(&found.count);
    if (status == cudaSuccess && found.count > 0) {
        return found;
    }
    cuda::discard(status);
    found.count = 0;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
        found.reason = "no NVIDIA driver is loaded on this machine (libcuda.so.1 was not found or does not answer)";
    } else if (status == cudaErrorInsufficientDriver) {
        found.reason =
            fmt::format("the NVIDIA driver is too old: it knows CUDA {} and this program needs {}; update it",
                        cuda::version_text(driver), cuda::version_text(CUDART_VERSION));
    } else if (status == cudaErrorNoDevice || status == cudaSuccess) {
        found.reason = "the NVIDIA driver sees no GPU (is one there, and does CUDA_VISIBLE_DEVICES allow it?)";
    } else {
        found.reason = fmt::format("CUDA failed while looking for GPUs: {} ({})", cudaGetErrorString(status),
                                   cudaGetErrorName(status));
    }
    return found;
}

// What the GPU is called, and why it cannot be used, as a clause; empty if it can.
struct Suitability {
    std::string name;
    std::string reason;
};

Suitability examine(int ordinal) {
    cudaDeviceProp properties = {};
    cuda::check(cudaGetDeviceProperties(&properties, ordinal), "reading the device's properties");
    Suitability found;
    found.name = properties.name;
    if (properties.major < oldest_major) {
        found.reason = fmt::format("{} (cuda:{}) has compute capability {}.{}, and the kernels need {}.0 or later",
                                   properties.name, ordinal, properties.major, properties.minor, oldest_major);
    }
    return found;
}

std::string gibibytes(std::int64_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(int ordinal) : context_(ordinal) {}

    const DeviceInfo& info() const override { return context_.info(); }

    std::string choose_metrics(const std::vector<std::string>& names) override {
        context_.use();
        further_metrics_ = names;
        try {
            const std::string chip = cuda::chip_of(cuda::current_context());
            const std::vector<std::string> own = cuda::standard_metrics();
            std::vector<std::string> all = own;
            cuda::add_metrics(all, names);
            return fmt::format(
                "With {} the counters cost {} passes, without {}: each call is repeated as often, in each state.",
                joined(names), cuda::MetricSet(chip, all).passes(), cuda::MetricSet(chip, own).passes());
        } catch (const CannotMeasure& error) {  // what else can be measured still is
            return fmt::format("The metrics of --metrics will have no value: {}.", clause_of(error));
        }
    }

    std::unique_ptr<Workload> load(const Problem& problem, std::int64_t scratch_bytes) override {
        check_input(problem);
        context_.use();
        std::size_t free_bytes = 0;
        std::size_t total_bytes = 0;
        cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes), "reading the free memory");
        const auto available = static_cast<std::int64_t>(free_bytes);
        if (bytes_needed(problem, scratch_bytes) > available) {
            throw too_large(problem, scratch_bytes, available);
        }
        try {
            return std::make_unique<cuda::CudaWorkload>(context_, problem, scratch_bytes, further_metrics_);
        } catch (const cuda::OutOfMemory&) {
            throw too_large(problem, scratch_bytes, available);
        }
    }

    const Calibration& calibrate() override {
        if (!calibration_) {
            calibration_ = cuda::calibrate(context_);
        }
        return *calibration_;
    }

    std::string warm_up() override {
        context_.use();
        return context_.warm_up();
    }

    std::int64_t bytes_needed(const Problem& problem, std::int64_t scratch_bytes) const override {
        return cuda::CudaWorkload::bytes_needed(problem, scratch_bytes);
    }

  private:
    InputError too_large(const Problem& problem, std::int64_t scratch_bytes, std::int64_t available) const {
        return InputError(fmt::format(
            "{} needs {} of device memory ({} of it scratch) and {} ({}) has {} free: take a smaller shape.",
            words_for(problem), gibibytes(bytes_needed(problem, scratch_bytes)), gibibytes(scratch_bytes),
            info().description, info().id, gibibytes(available)));
    }

    cuda::Context context_;
    std::optional<Calibration> calibration_;
    std::vector<std::string> further_metrics_;
};

}  // namespace

void leave_cuda_gpu(int ordinal) {
    cuda::check(cudaSetDevice(ordinal), "choosing the GPU to leave");
    cuda::check(cudaDeviceReset(), "leaving the GPU");
}

std::unique_ptr<Device> open_cuda_device(int ordinal) {
    const Found found = find_gpus();
    std::string reason = found.reason;
    if (reason.empty() && (ordinal < 0 || ordinal >= found.count)) {
        reason = fmt::format("this machine has {} GPU(s), counted from 0", found.count);
    }
    if (reason.empty()) {
        reason = examine(ordinal).reason;
    }
    if (!reason.empty()) {
        throw CannotMeasure(fmt::format("cuda:{} cannot be opened: {}.", ordinal, reason));
    }
    return std::make_unique<CudaDevice>(ordinal);
}

Discovery discover_cuda_gpus() {
    const Found found = find_gpus();
    Discovery discovery;
    discovery.no_gpu_reason = found.reason;
    for (int ordinal = 0; ordinal < found.count; ++ordinal) {
        const Suitability gpu = examine(ordinal);
        if (gpu.reason.empty()) {
            discovery.gpus.emplace_back(fmt::format("cuda:{}", ordinal), gpu.name);
        } else {
            discovery.no_gpu_reason += (discovery.no_gpu_reason.empty() ? "" : "; ") + gpu.reason;
        }
    }
    if (!discovery.gpus.empty()) {
        discovery.no_gpu_reason.clear();
    }
    return discovery;
}

}  // namespace qkprof
