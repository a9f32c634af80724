"""Makes the L2 hold other data, by the library that is built for it (harness/ffi/evict_caches.cpp)."""

import ctypes

ROOM = 1 << 12


class Eviction:
    def __init__(self, library, size):
        """By reading `size` bytes, twice the L2's. Raises OSError where the library is not there."""
        self._evict = ctypes.CDLL(library).qkprof_evict_caches
        self._evict.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t]
        self._evict.restype = ctypes.c_bool
        self._size = size

    def __call__(self):
        """Waits until it is done. Raises RuntimeError where it cannot be."""
        failure = ctypes.create_string_buffer(ROOM)
        if not self._evict(self._size, failure, ROOM):
            raise RuntimeError(failure.value.decode(errors="replace"))
