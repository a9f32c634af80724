"""The operation as a Pallas kernel of the Mosaic GPU back end: a program takes a head of 64 tokens through shared memory,
into which it is copied in bulk.

pallas_call knows this back end no more (JAX 0.11.2 has no rule for its parameters): the kernel is made by the back end's
own entry. 64 tokens are what its layout of a matrix in registers, in which a row can be summed, asks for."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import mosaic_gpu

from .jax_framework import DTYPES, JaxFramework
from .not_run import NotRun
from .problems import BYTES, EPS

TOKENS = 64
LAYOUT = mosaic_gpu.Layout.WGMMA


def load(ref):
    return mosaic_gpu.load(ref, layout=LAYOUT)


def load_row(ref, shape):
    """From memory, the same for all tokens."""
    row = mosaic_gpu.load(ref, layout=LAYOUT.reduce(0), optimized=False)
    return jax.lax.broadcast_in_dim(row, shape, (1,))


def in_shared_memory(columns, half, dtype, element_bytes):
    """In tiles as wide as the widest swizzle that the halves are made of."""
    swizzle = next((width for width in (128, 64, 32) if half * element_bytes % width == 0), None)
    if swizzle is None:
        raise NotRun(f"half a head is {half * element_bytes} bytes, and shared memory is swizzled by at least 32")
    transforms = (mosaic_gpu.TilingTransform((8, swizzle // element_bytes)), mosaic_gpu.SwizzleTransform(swizzle))
    return mosaic_gpu.SMEM((TOKENS, columns), dtype, transforms=transforms)


def make(problem, form, interpret=None):
    tokens, half, dtype = problem.batch * problem.sequence, problem.head_dim // 2, DTYPES[problem.dtype]
    one_position = problem.sequence == 1
    if tokens % TOKENS or not one_position and problem.sequence % TOKENS:
        raise NotRun(f"a program takes {TOKENS} tokens of one sequence, and {problem.sequence} are not made of such")

    def body(q, gamma, cos, sin, out, tile, cos_tile, sin_tile, arrived):
        block, head = jax.lax.axis_index("block"), jax.lax.axis_index("head")
        own = pallas.ds(block * TOKENS, TOKENS), pallas.ds(head * problem.head_dim, problem.head_dim)
        mosaic_gpu.copy_gmem_to_smem(q.at[own], tile, arrived)
        if not one_position:
            positions = pallas.ds(block * TOKENS % problem.sequence, TOKENS)
            mosaic_gpu.copy_gmem_to_smem(cos.at[positions], cos_tile, arrived)
            mosaic_gpu.copy_gmem_to_smem(sin.at[positions], sin_tile, arrived)
        mosaic_gpu.barrier_wait(arrived)
        low = load(tile.at[:, :half]).astype(jnp.float32)
        high = load(tile.at[:, half:]).astype(jnp.float32)
        squares = jnp.sum(low * low + high * high, axis=1)
        scale = jax.lax.broadcast_in_dim(jax.lax.rsqrt(squares / (2 * half) + EPS), low.shape, (0,))
        low = low * scale * load_row(gamma.at[:half], low.shape)
        high = high * scale * load_row(gamma.at[half:], low.shape)
        c, s = (load_row(table.at[0], low.shape) if one_position else load(in_tile)
                for table, in_tile in ((cos, cos_tile), (sin, sin_tile)))
        tile[:, :half] = (low * c - high * s).astype(dtype)
        tile[:, half:] = (high * c + low * s).astype(dtype)
        mosaic_gpu.commit_smem()
        mosaic_gpu.copy_smem_to_gmem(tile, out.at[own])
        mosaic_gpu.wait_smem_to_gmem(0)

    table_tile = in_shared_memory(half, half, jnp.float32, 4)
    call = mosaic_gpu.kernel(
        body, out_type=jax.ShapeDtypeStruct((tokens, problem.heads * problem.head_dim), dtype),
        scratch_types=[in_shared_memory(problem.head_dim, half, dtype, BYTES[problem.dtype]), table_tile, table_tile,
                       mosaic_gpu.Barrier(num_arrivals=1 if one_position else 3)],
        grid=(tokens // TOKENS, problem.heads), grid_names=("block", "head"), interpret=interpret)

    def by_mosaic(query, gamma, cos, sin):
        return call(query.reshape(tokens, problem.heads * problem.head_dim), gamma, cos, sin).reshape(problem.extents)
    return by_mosaic


def open_route(argument, library):
    return JaxFramework(make)
