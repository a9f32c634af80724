"""The operation as a Pallas kernel of the Triton back end: a head vector a program, or a tile of several of one token."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton

from .jax_framework import DTYPES, JaxFramework
from .not_run import NotRun
from .problems import EPS


def kernel(q_ref, gamma_ref, cos_ref, sin_ref, out_ref):
    """The halves are loaded apart: so the rotation needs no element of another lane."""
    half = cos_ref.shape[-1]
    low = q_ref[:, :half].astype(jnp.float32)
    high = q_ref[:, half:].astype(jnp.float32)
    squares = jnp.sum(low * low, axis=-1, keepdims=True) + jnp.sum(high * high, axis=-1, keepdims=True)
    scale = jax.lax.rsqrt(squares / (2 * half) + EPS)
    low = low * scale * gamma_ref[:half]
    high = high * scale * gamma_ref[half:]
    c, s = cos_ref[...], sin_ref[...]
    out_ref[:, :half] = (low * c - high * s).astype(out_ref.dtype)
    out_ref[:, half:] = (high * c + low * s).astype(out_ref.dtype)


def make(problem, form, interpret=False):
    rows = form["rows"]
    half = problem.head_dim // 2

    def position(program):
        return program * rows // problem.heads % problem.sequence, 0

    call = pallas.pallas_call(
        kernel,
        grid=(problem.rows // rows,),
        in_specs=[pallas.BlockSpec((rows, problem.head_dim), lambda program: (program, 0)),
                  pallas.BlockSpec((problem.head_dim,), lambda program: (0,)),
                  pallas.BlockSpec((1, half), position),
                  pallas.BlockSpec((1, half), position)],
        out_specs=pallas.BlockSpec((rows, problem.head_dim), lambda program: (program, 0)),
        compiler_params=None if interpret else triton.CompilerParams(num_warps=form["num_warps"]),
        interpret=interpret,
        name="qk_norm_rope",
        out_shape=jax.ShapeDtypeStruct((problem.rows, problem.head_dim), DTYPES[problem.dtype]))

    def by_pallas(query, gamma, cos, sin):
        return call(query.reshape(problem.rows, problem.head_dim), gamma, cos, sin).reshape(problem.extents)
    return by_pallas


def forms_of(problem, kind):
    """The tiles and warps that are tried; a tile is of one token, so that it needs one row of the tables."""
    if kind == "vector":
        return [{"rows": 1, "num_warps": warps} for warps in (1, 2, 4)]
    tiles = [rows for rows in (4, 8, 16) if problem.heads % rows == 0] or [2]
    if problem.heads % tiles[0]:
        raise NotRun(f"{problem.heads} heads do not make tiles of several")
    return [{"rows": rows, "num_warps": warps} for rows in tiles for warps in (1, 4, 8) if warps <= rows]


def open_route(kind, library):
    return JaxFramework(make, lambda problem: forms_of(problem, kind))
