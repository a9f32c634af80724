"""The inputs of a problem, the reference in double, and the comparison with it: the same for every route. With numpy, in
as many threads as the machine has.

The bounds are those of the program (harness/reference.h): an element may differ by a part of the magnitudes of the pair
that it was rotated from, and the whole by a part of the reference's norm. bf16, which numpy lacks, is kept as its bits."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy

from .problems import EPS, ROTARY_BASE

# The norm-relative error of the whole, the relative error of an element, and 4 of the smallest subnormals.
TOLERANCE = {"f32": (5e-7, 32 * 2.0**-24, 4 * 2.0**-149), "bf16": (4e-3, 6 * 2.0**-8, 4 * 2.0**-133),
             "f16": (5e-4, 6 * 2.0**-11, 4 * 2.0**-24)}
STORED = {"f32": numpy.float32, "bf16": numpy.uint16, "f16": numpy.float16}
ELEMENTS_PER_CHUNK = 1 << 20


def round_to(dtype, values):
    """f32 values in the storage type, ties to even."""
    if dtype != "bf16":
        return values.astype(STORED[dtype])
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def to_double(dtype, stored):
    if dtype != "bf16":
        return stored.astype(numpy.float64)
    return (stored.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


def chunks(problem):
    """Of whole head vectors: (number, first, last)."""
    rows = max(1, ELEMENTS_PER_CHUNK // problem.head_dim)
    return [(number, first, min(first + rows, problem.rows)) for number, first in enumerate(range(0, problem.rows, rows))]


def in_threads(work, items):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


class Inputs:
    def __init__(self, problem, seed):
        self.problem = problem
        rows = numpy.empty((problem.rows, problem.head_dim), STORED[problem.dtype])

        def fill(chunk):
            number, first, last = chunk
            normal = numpy.random.default_rng([seed, number]).standard_normal((last - first, problem.head_dim),
                                                                               numpy.float32)
            rows[first:last] = round_to(problem.dtype, normal)
        in_threads(fill, chunks(problem))
        self.q = rows.reshape(problem.extents)
        self.gamma = numpy.linspace(0.5, 1.5, problem.head_dim, dtype=numpy.float32)
        half = numpy.arange(problem.head_dim // 2)
        theta = ROTARY_BASE ** (-2.0 * half / problem.head_dim)
        angles = numpy.arange(problem.sequence)[:, None] * theta[None, :]
        self.tables = numpy.stack([numpy.cos(angles), numpy.sin(angles)]).astype(numpy.float32)


def reference(inputs, first, last):
    """The rows from `first` to `last` in double, and the magnitudes that their bounds are relative to."""
    problem = inputs.problem
    half = problem.head_dim // 2
    x = to_double(problem.dtype, inputs.q.reshape(problem.rows, problem.head_dim)[first:last])
    scale = 1 / numpy.sqrt(numpy.mean(x * x, -1, keepdims=True) + float(numpy.float32(EPS)))
    y = x * scale * inputs.gamma.astype(numpy.float64)
    low, high = y[:, :half], y[:, half:]
    position = numpy.arange(first, last) // problem.heads % problem.sequence
    cos, sin = (table[position].astype(numpy.float64) for table in inputs.tables)
    magnitude = numpy.abs(low) + numpy.abs(high)
    return (numpy.concatenate([low * cos - high * sin, high * cos + low * sin], -1),
            numpy.concatenate([magnitude, magnitude], -1))


def verify(inputs, output, copied):
    """Compares the whole output, in the storage type, with the reference, or with q itself where it must be a copy. What
    an entry of a profile says of it."""
    problem = inputs.problem
    norm_bound, relative, tiny = TOLERANCE[problem.dtype]
    if output.shape != problem.extents or output.dtype != STORED[problem.dtype]:
        raise TypeError(f"the output is {output.dtype}{list(output.shape)}, not {problem.text}")
    rows = output.reshape(problem.rows, problem.head_dim)
    q = inputs.q.reshape(problem.rows, problem.head_dim)

    def compare(chunk):
        _, first, last = chunk
        got = to_double(problem.dtype, rows[first:last])
        if copied:
            expected = to_double(problem.dtype, q[first:last])
            right = rows[first:last] == q[first:last]
        else:
            expected, magnitude = reference(inputs, first, last)
            right = numpy.abs(got - expected) <= relative * magnitude + tiny  # not of a NaN
        wrong = numpy.flatnonzero(~right)
        first_wrong = None
        if wrong.size:
            row, column = divmod(int(wrong[0]), problem.head_dim)
            first_wrong = (first + row, column, float(got[row, column]), float(expected[row, column]))
        return float(numpy.sum((got - expected) ** 2)), float(numpy.sum(expected**2)), int(wrong.size), first_wrong
    parts = in_threads(compare, chunks(problem))
    error, norm = (sum(part[i] for part in parts) ** 0.5 for i in (0, 1))
    wrong = sum(part[2] for part in parts)
    tiny_norm = 0 if copied else tiny * (problem.rows * problem.head_dim) ** 0.5
    result = {"correct": bool(wrong == 0 and error <= norm_bound * norm + tiny_norm),
              "error_norm": error / norm if norm > 0 else 0.0 if error == 0 else float("inf"),
              "wrong_elements": wrong}
    first_wrong = next((part[3] for part in parts if part[3]), None)
    if first_wrong:
        row, column, got, expected = first_wrong
        token = row // problem.heads
        result["first_wrong"] = {"batch": token // problem.sequence, "position": token % problem.sequence,
                                 "head": row % problem.heads, "column": column, "got": got, "expected": expected}
    return result
