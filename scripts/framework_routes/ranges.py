"""NVTX push/pop ranges in qkprof's own domain, by the library that is built for it (harness/ffi/nvtx_ranges.cpp)."""

import contextlib
import ctypes


class Ranges:
    def __init__(self, library):
        """Raises OSError where the library is not there."""
        functions = ctypes.CDLL(library)
        self._push = functions.qkprof_push
        self._push.argtypes = [ctypes.c_char_p]
        self._push.restype = None
        self._pop = functions.qkprof_pop
        self._pop.argtypes = []
        self._pop.restype = None

    @contextlib.contextmanager
    def __call__(self, name):
        self._push(name.encode())
        try:
            yield
        finally:
            self._pop()
