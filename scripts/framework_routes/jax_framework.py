"""JAX as the child of the routes uses it: arrays on its device, and compiled functions with their HLO."""

import jax
import jaxlib
import jax.numpy as jnp
import numpy

from .not_run import NotRun
from .operation import STORED

# The HLO names the sources below scripts/, and nothing of the machine that it was made on.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/scripts/")

DTYPES = {"f32": jnp.dtype("float32"), "bf16": jnp.dtype("bfloat16"), "f16": jnp.dtype("float16")}


def result_of(output):
    """What the operation computes, of a function that returns something beside it."""
    return output[0] if isinstance(output, (tuple, list)) else output


class Compiled:
    def __init__(self, function, specifications):
        lowered = jax.jit(function).lower(*specifications)
        self.before = lowered.as_text("hlo")
        self.call = lowered.compile()
        self.hlo = self.call.as_text()


class JaxFramework:
    """Of one route: `make`(problem, form) gives the function that is compiled, of q, gamma and the tables, which are two
    arguments or, where they are `joined`, one."""

    def __init__(self, make, forms=lambda problem: [{}], joined=False):
        self._make = make
        self.forms = forms
        self._joined = joined

    @staticmethod
    def versions():
        return {"jax": jax.__version__, "jaxlib": jaxlib.__version__}

    @staticmethod
    def require_gpu():
        platform = jax.devices()[0].platform
        if platform != "gpu":
            raise NotRun(f"JAX {jax.__version__} finds no GPU here: its platform is {platform}")

    def compile(self, problem, form):
        tables = (problem.sequence, problem.head_dim // 2)
        shapes = [(problem.extents, DTYPES[problem.dtype]), ((problem.head_dim,), jnp.float32)]
        shapes += [((2, *tables), jnp.float32)] if self._joined else [(tables, jnp.float32)] * 2
        return Compiled(self._make(problem, form), [jax.ShapeDtypeStruct(*shape) for shape in shapes])

    def upload(self, inputs):
        dtype = DTYPES[inputs.problem.dtype]
        tables = [inputs.tables] if self._joined else list(inputs.tables)
        arrays = [jax.device_put(array) for array in (inputs.q.view(dtype), inputs.gamma, *tables)]
        return [array.block_until_ready() for array in arrays]

    @staticmethod
    def wait(output):
        jax.block_until_ready(output)

    @staticmethod
    def address(output):
        return result_of(output).unsafe_buffer_pointer()

    @staticmethod
    def download(problem, output):
        return numpy.asarray(result_of(output)).view(STORED[problem.dtype])
