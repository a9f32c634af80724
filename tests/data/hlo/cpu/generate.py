#!/usr/bin/env python3
"""Writes the HLO of some operations as JAX compiles them for a CPU into this folder: NAME.hlo after optimisation and
NAME.before.hlo before it. Needs JAX; the files that are here were written by JAX 0.11.2. The tests (tests/hlo_*.cpp) count
what they hold, and what another JAX writes may hold something else."""

import os
import re
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

FOLDER = Path(__file__).resolve().parent


def qk_norm_rope(query, gamma, cos, sin, eps=1e-6):
    scale = jax.lax.rsqrt(jnp.mean(jnp.square(query), axis=-1, keepdims=True) + eps)
    normed = query * scale * gamma
    half = query.shape[-1] // 2
    low, high = normed[..., :half], normed[..., half:]
    c, s = cos[None, :, None, :], sin[None, :, None, :]
    return jnp.concatenate([low * c - high * s, high * c + low * s], axis=-1)


def operands_of(batch, sequence, heads, head_dim, dtype=jnp.float32):
    shapes = [(batch, sequence, heads, head_dim), (head_dim,)] + 2 * [(sequence, head_dim // 2)]
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]


def array(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def newton(x):
    return jax.lax.while_loop(lambda y: jnp.sum(jnp.abs(y * y - x)) > 1e-3, lambda y: 0.5 * (y + x / y), x)


def branches(i, x):
    return jax.lax.switch(i, [jnp.sin, lambda y: y @ y, lambda y: jnp.sort(y, axis=0)], x)


def repeat(x):
    return jax.lax.fori_loop(0, 7, lambda i, y: jnp.tanh(y @ x) + i, x)


def int4(a, b):
    return a.astype(jnp.float32) * 2 + b


def masked(x, m):
    return jnp.where(m, x, 0).sum(axis=-1), x.T


def lower_all():
    yield "qk_tiny", jax.jit(qk_norm_rope).lower(*operands_of(2, 32, 4, 128))
    yield "qk_prefill", jax.jit(qk_norm_rope).lower(*operands_of(8, 128, 16, 128))
    yield "qk_bf16", jax.jit(qk_norm_rope).lower(*operands_of(4, 64, 8, 64, jnp.bfloat16))
    yield "newton", jax.jit(newton).lower(array(33, 7))
    yield "branches", jax.jit(branches).lower(array(dtype=jnp.int32), array(24, 24))
    yield "repeat", jax.jit(repeat).lower(array(40, 40))
    yield "int4", jax.jit(int4).lower(array(6, 10, dtype=jnp.int4), array(6, 10))
    yield "masked", jax.jit(masked).lower(array(48, 80), array(48, 80, dtype=jnp.bool_))
    yield "embedding", jax.jit(lambda t, i: t[i]).lower(array(5000, 32), array(17, dtype=jnp.int32))
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("x", None))
    columns = NamedSharding(mesh, PartitionSpec(None, "x"))
    whole = NamedSharding(mesh, PartitionSpec())
    added = jax.jit(lambda a, b: a + b, in_shardings=(rows, rows), out_shardings=whole)
    yield "shard_add", added.lower(array(8, 8), array(8, 8))
    product = jax.jit(lambda a, b: -((a @ b) * 0.125), in_shardings=(columns, rows), out_shardings=whole)
    yield "shard_matmul", product.lower(array(64, 32), array(32, 48))


def without_paths(text):
    return re.sub(r'"/[^"\n]*/([^/"\n]*)"', r'"\1"', text)


for name, lowered in lower_all():
    (FOLDER / f"{name}.hlo").write_text(without_paths(lowered.compile().as_text()))
    (FOLDER / f"{name}.before.hlo").write_text(without_paths(lowered.as_text(dialect="hlo")))
