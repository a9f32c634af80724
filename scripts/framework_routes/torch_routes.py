"""The operation in plain PyTorch, by torch.compile, and as a Triton kernel of our own."""

import sys

import torch

from .not_run import NotRun
from .operation import STORED
from .problems import EPS

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def qk_norm_rope(query, gamma, cos, sin):
    """In f32; what is stored in 16 bits is widened first and rounded at the end."""
    x = query.float()
    y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * gamma
    half = x.shape[-1] // 2
    low, high = y[..., :half], y[..., half:]
    c = cos[None, :, None, :]
    s = sin[None, :, None, :]
    return torch.cat([low * c - high * s, high * c + low * s], -1).to(query.dtype)


class Compiled:
    hlo = before = None

    def __init__(self, call):
        self.call = call


class TorchFramework:
    """Of one route: `make`(problem) gives the function that is called with q, gamma, cos and sin."""

    def __init__(self, make, modules):
        self._make = make
        self._modules = modules

    def versions(self):
        return {"torch": torch.__version__, **{module.__name__: module.__version__ for module in self._modules}}

    @staticmethod
    def require_gpu():
        if not torch.cuda.is_available():
            raise NotRun(f"PyTorch {torch.__version__} finds no GPU here")

    @staticmethod
    def forms(problem):
        return [{}]

    def compile(self, problem, form):
        return Compiled(self._make(problem))

    @staticmethod
    def upload(inputs):
        q = torch.from_numpy(inputs.q.view("int16" if inputs.problem.dtype == "bf16" else inputs.q.dtype))
        arrays = [q.cuda().view(DTYPES[inputs.problem.dtype]),
                  *(torch.from_numpy(array).cuda() for array in (inputs.gamma, *inputs.tables))]
        torch.cuda.synchronize()
        return arrays

    @staticmethod
    def wait(output):
        torch.cuda.synchronize()

    @staticmethod
    def address(output):
        return output.data_ptr()

    @staticmethod
    def download(problem, output):
        if problem.dtype == "bf16":
            output = output.view(torch.int16)
        return output.cpu().numpy().view(STORED[problem.dtype])


def compiled_function(problem):
    torch._dynamo.reset()  # what was compiled for another shape would make this one dynamic
    return torch.compile(qk_norm_rope, fullgraph=True, dynamic=False)


def open_route(kind, library):
    if kind == "eager":
        return TorchFramework(lambda problem: qk_norm_rope, [])
    import triton  # torch.compile writes its kernels with it
    if kind == "compile":
        return TorchFramework(compiled_function, [triton])
    from . import triton_kernel
    return TorchFramework(lambda problem: triton_kernel.qk_norm_rope, [sys.modules["triton"]])
