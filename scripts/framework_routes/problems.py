"""A problem in its plain form, as the routes compute it, and the names that follow from it."""

from dataclasses import dataclass

BYTES = {"f32": 4, "bf16": 2, "f16": 2}
STATES = ("warm", "cold")
SEED = 1
EPS = 1e-6
ROTARY_BASE = 10000.0


@dataclass(frozen=True)
class Problem:
    batch: int
    sequence: int
    heads: int
    head_dim: int
    dtype: str

    @property
    def shape(self):
        return f"{self.batch}x{self.sequence}x{self.heads}x{self.head_dim}"

    @property
    def text(self):
        return f"{self.shape}/{self.dtype}"

    @property
    def extents(self):
        return self.batch, self.sequence, self.heads, self.head_dim

    @property
    def rows(self):
        return self.batch * self.sequence * self.heads

    @property
    def compulsory_bytes(self):
        """Every head vector read and written once, gamma and both tables read once."""
        if self.rows == 0:
            return 0
        return 2 * self.rows * self.head_dim * BYTES[self.dtype] + 4 * self.head_dim + 4 * self.sequence * self.head_dim

    def fields(self):
        """As an entry of a profile has them."""
        return {"batch": self.batch, "sequence": self.sequence, "heads": self.heads, "head_dim": self.head_dim,
                "dtype": self.dtype}


def parse(text):
    """BxSxHxD/dtype; None for what is none, or has an odd or no head_dim."""
    shape, _, dtype = text.partition("/")
    extents = shape.split("x")
    if len(extents) != 4 or dtype not in BYTES or not all(e.isascii() and e.isdigit() and len(e) < 10 for e in extents):
        return None
    problem = Problem(*map(int, extents), dtype)
    return problem if problem.rows > 0 and problem.head_dim > 0 and problem.head_dim % 2 == 0 else None


def measurement_name(variant, problem, state):
    return f"{variant}/{problem.text}/{state}"


def range_name(variant, problem, state):
    """Of the NVTX range, in the domain qkprof, that each call runs in."""
    return f"{variant}.{problem.shape}.{problem.dtype}.{state}"
