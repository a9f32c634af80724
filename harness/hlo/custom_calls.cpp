#include "custom_calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace qkprof::hlo {
namespace {

using Kind = Target::Kind;

struct Prefix {
    std::string_view text;
    Target target;
};

constexpr std::array prefixes = {
    Prefix{"mosaic_gpu", {Kind::one_kernel, "Mosaic"}},
    Prefix{"triton_kernel_call", {Kind::one_kernel, "Triton"}},
    Prefix{"__gpu$xla.gpu.triton", {Kind::one_kernel, "Triton"}},
    Prefix{"__gpu$xla.gpu.ptx", {Kind::one_kernel, "PTX"}},
    Prefix{"__cublas$", {Kind::library, "cuBLAS"}},
    Prefix{"cublas", {Kind::library, "cuBLAS"}},
    Prefix{"__cudnn$", {Kind::library, "cuDNN"}},
    Prefix{"cudnn", {Kind::library, "cuDNN"}},
    Prefix{"cusolver", {Kind::library, "cuSOLVER"}},
    Prefix{"cu_solver", {Kind::library, "cuSOLVER"}},
    Prefix{"__cusolver$", {Kind::library, "cuSOLVER"}},
    Prefix{"cusparse", {Kind::library, "cuSPARSE"}},
    Prefix{"__cub$", {Kind::library, "CUB"}},
    Prefix{"__gpu$TopK", {Kind::library, "TopK"}},
    Prefix{"TopK", {Kind::library, "TopK"}},
    Prefix{"annotate_device_placement", {Kind::annotation, ""}},
    Prefix{"xla.sdy.", {Kind::annotation, ""}},
};

constexpr std::array<std::string_view, 9> annotations = {
    "AllocateBuffer", "AssumeGatherIndicesInBound", "LayoutConstraint",     "MoveToDevice", "MoveToHost",
    "PinToDevice",    "SPMDFullToShardShape",       "SPMDShardToFullShape", "Sharding"};

}  // namespace

Target target_of(std::string_view target) {
    if (std::find(annotations.begin(), annotations.end(), target) != annotations.end()) {
        return {Kind::annotation, ""};
    }
    const auto found = std::find_if(prefixes.begin(), prefixes.end(),
                                    [&](const Prefix& prefix) { return target.starts_with(prefix.text); });
    return found == prefixes.end() ? Target() : found->target;
}

}  // namespace qkprof::hlo
