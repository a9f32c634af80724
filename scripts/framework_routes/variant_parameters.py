"""With which parameters a variant runs a problem in XLA, as the library says that runs it (harness/ffi/xla_ffi.cpp)."""

import ctypes
import json

ROOM = 1 << 12


def parameters_of(library, variant, problem):
    """By name. Empty where the library cannot tell, as without a GPU: the call says why."""
    ask = ctypes.CDLL(library).qkprof_parameters
    ask.argtypes = [ctypes.c_char_p, *[ctypes.c_int64] * 4, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    ask.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(b"{}", ROOM)
    ask(variant.encode(), *problem.extents, problem.dtype.encode(), text, ROOM)
    return json.loads(text.value)
