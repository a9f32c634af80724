"""The operation as a Triton kernel: some head vectors a program, the halves loaded apart, so that the rotation needs no
element of another thread. Autotuned over the head vectors and the warps of a program."""

import torch
import triton
import triton.language as tl

from .problems import EPS

CONFIGURATIONS = [triton.Config({"ROWS": rows}, num_warps=warps)
                  for rows, warps in ((1, 1), (2, 1), (4, 1), (4, 2), (8, 2), (8, 4), (16, 4), (16, 8), (32, 8))]


@triton.autotune(configs=CONFIGURATIONS, key=["rows", "sequence", "heads", "HALF", "element_bytes"])
@triton.jit
def kernel(q, gamma, cos, sin, out, rows, heads, sequence, element_bytes, eps, HALF: tl.constexpr, BLOCK: tl.constexpr,
           ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    in_row = column < HALF
    present = (row < rows)[:, None] & in_row[None, :]
    at = row.to(tl.int64)[:, None] * (2 * HALF) + column[None, :]
    low = tl.load(q + at, present, 0).to(tl.float32)
    high = tl.load(q + at + HALF, present, 0).to(tl.float32)
    scale = tl.rsqrt((tl.sum(low * low, 1) + tl.sum(high * high, 1)) / (2 * HALF) + eps)[:, None]
    low = low * scale * tl.load(gamma + column, in_row, 0)[None, :]
    high = high * scale * tl.load(gamma + HALF + column, in_row, 0)[None, :]
    entry = (row // heads % sequence)[:, None] * HALF + column[None, :]
    c = tl.load(cos + entry, present, 0)
    s = tl.load(sin + entry, present, 0)
    tl.store(out + at, (low * c - high * s).to(out.dtype.element_ty), present)
    tl.store(out + at + HALF, (high * c + low * s).to(out.dtype.element_ty), present)


def qk_norm_rope(query, gamma, cos, sin):
    out = torch.empty_like(query)
    _, sequence, heads, head_dim = query.shape
    rows = query.numel() // head_dim
    kernel[lambda chosen: (triton.cdiv(rows, chosen["ROWS"]),)](
        query, gamma, cos, sin, out, rows, heads, sequence, query.element_size(), EPS, HALF=head_dim // 2,
        BLOCK=triton.next_power_of_2(head_dim // 2))
    return out
