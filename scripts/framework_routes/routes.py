"""The routes: what they are called, and which module of this package runs them with which argument."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    name: str
    framework: str  # the package without which it cannot run
    module: str
    argument: str
    meaning: str
    family: str = "framework"

    @property
    def has_hlo(self):
        return self.framework == "jax"


def ffi(variant, family="framework"):
    return Route(f"jax_ffi_{variant}", "jax", "jax_routes", variant,
                 f"qkprof's {variant} by XLA's foreign function interface", family)


ROUTES = [
    ffi("copy", "ceiling"),
    Route("jax_xla", "jax", "jax_routes", "", "plain JAX, compiled by XLA"),
    Route("jax_xla_kept_query", "jax", "jax_routes", "kept_query", "the same, returning its query too"),
    Route("jax_pallas_vector", "jax", "pallas_routes", "vector", "Pallas by Triton, a head vector a program"),
    Route("jax_pallas_tile", "jax", "pallas_routes", "tile", "Pallas by Triton, several head vectors a program"),
    Route("jax_pallas_mosaic", "jax", "mosaic_route", "", "Pallas by Mosaic GPU, a head of 64 tokens a program"),
    ffi("fused_best"),
    ffi("fused_register_paired"),
    ffi("fused_tile_shared"),
    ffi("split_two_kernel"),
    ffi("naive_three_kernel"),
    Route("torch_eager", "torch", "torch_routes", "eager", "plain PyTorch"),
    Route("torch_compile", "torch", "torch_routes", "compile", "the same by torch.compile"),
    Route("torch_triton", "torch", "torch_routes", "triton", "a Triton kernel, autotuned"),
]


def route_of(name):
    return next((route for route in ROUTES if route.name == name), None)
