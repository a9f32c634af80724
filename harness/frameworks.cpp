#include "frameworks.h"

namespace qkprof {

const std::vector<Framework>& frameworks() {
    static const std::vector<Framework> all = {
        {"jax_xla", "plain JAX, fused by XLA"},
        {"jax_xla_kept_query", "plain JAX that returns its query too, which XLA copies outside the fusion"},
        {"jax_pallas_vector", "a Pallas kernel, a head vector a program (Triton back end)"},
        {"jax_pallas_tile", "a Pallas kernel, a tile of head vectors a program (Triton back end)"},
        {"jax_pallas_mosaic", "a Pallas kernel, a tile a program (Mosaic GPU back end)"},
        {"jax_ffi_copy", "copy, called by XLA's foreign function interface: the ceiling of the routes"},
        {"jax_ffi_fused_best", "fused_best, called by XLA's foreign function interface"},
        {"jax_ffi_fused_register_paired", "fused_register_paired, called by XLA's foreign function interface"},
        {"jax_ffi_fused_tile_shared", "fused_tile_shared, called by XLA's foreign function interface"},
        {"jax_ffi_split_two_kernel", "split_two_kernel, called by XLA's foreign function interface"},
        {"jax_ffi_naive_three_kernel", "naive_three_kernel, called by XLA's foreign function interface"},
        {"torch_eager", "plain PyTorch, an operation at a time"},
        {"torch_compile", "plain PyTorch, compiled by TorchInductor"},
        {"torch_triton", "a Triton kernel, autotuned"},
    };
    return all;
}

}  // namespace qkprof
