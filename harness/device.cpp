#include "device.h"

#include "emulator/emulated_device.h"
#include "error.h"
#include "names.h"

#ifdef QKPROF_WITH_CUDA
#include "cuda/cuda_device.h"
#endif

#include <fmt/format.h>

#include <limits>

namespace qkprof {
namespace {

#ifdef QKPROF_WITH_CUDA
std::unique_ptr<Device> open_gpu(int ordinal) { return open_cuda_device(ordinal); }
void leave_gpu(int ordinal) { leave_cuda_gpu(ordinal); }
#else
std::unique_ptr<Device> open_gpu(int /*ordinal*/) {
    throw CannotMeasure(fmt::format("No GPU can be opened: {}.", discover_gpus().no_gpu_reason));
}
void leave_gpu(int /*ordinal*/) {}
#endif

}  // namespace

std::unique_ptr<Device> open_device(const std::string& id, const EmulatorOptions& emulator) {
    return id == "emulated" ? open_emulated_device(emulator) : open_gpu(gpu_ordinal(id));
}

void leave(const std::string& id) {
    if (id != "emulated") {
        leave_gpu(gpu_ordinal(id));
    }
}

int gpu_ordinal(const std::string& id) {
    constexpr std::string_view prefix = "cuda:";
    if (id == "cuda") {
        return 0;
    }
    if (id.starts_with(prefix)) {
        return static_cast<int>(parse_integer(std::string_view(id).substr(prefix.size()),
                                              "The number of the GPU in the device '" + id + "':", 0,
                                              std::numeric_limits<int>::max()));
    }
    throw InputError(fmt::format("There is no device '{}': write auto, emulated, cuda (the first GPU) or cuda:N.", id));
}

#ifdef QKPROF_WITH_CUDA
Discovery discover_gpus() { return discover_cuda_gpus(); }
#else
Discovery discover_gpus() {
    return {.gpus = {}, .no_gpu_reason = "this qkprof was built without nvcc and has the emulated device alone"};
}
#endif

}  // namespace qkprof
