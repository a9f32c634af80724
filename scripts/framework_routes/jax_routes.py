"""The operation in plain JAX, and by qkprof's own kernels through XLA's foreign function interface."""

import ctypes
import os

import jax
import jax.numpy as jnp

from .jax_framework import DTYPES, JaxFramework
from .not_run import NotRun
from .problems import EPS
from .variant_parameters import parameters_of


def qk_norm_rope(query, gamma, cos, sin):
    """In f32; what is stored in 16 bits is widened first and rounded at the end."""
    x = query.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + EPS)
    y = x * scale * gamma
    half = x.shape[-1] // 2
    low, high = y[..., :half], y[..., half:]
    c = cos[None, :, None, :]
    s = sin[None, :, None, :]
    return jnp.concatenate([low * c - high * s, high * c + low * s], axis=-1).astype(query.dtype)


def with_kept_query(query, gamma, cos, sin):
    """As code that needs the query again has it: XLA copies it, outside the fusion."""
    return qk_norm_rope(query, gamma, cos, sin), jnp.copy(query)


def register(library, variant):
    """Under a target name of its own, so that the HLO says which variant it calls."""
    if not os.path.exists(library):
        raise NotRun(f"{os.path.basename(library)} is not built: that takes nvcc and jaxlib's headers "
                     "(QKPROF_JAX_INCLUDE or QKPROF_PYTHON of the build)")
    handler = ctypes.CDLL(library).qkprof_variant
    target = f"qkprof_{variant}"
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform="CUDA")
    return target


def open_route(variant, library):
    plain = {"": qk_norm_rope, "kept_query": with_kept_query}
    if variant in plain:
        return JaxFramework(lambda problem, form: plain[variant])
    target = register(library, variant)

    def make(problem, form):
        result = jax.ShapeDtypeStruct(problem.extents, DTYPES[problem.dtype])

        def by_ffi(query, gamma, tables):
            return jax.ffi.ffi_call(target, result)(query, gamma, tables, variant=variant)
        return by_ffi
    return JaxFramework(make, forms=lambda problem: [parameters_of(library, variant, problem)], joined=True)
