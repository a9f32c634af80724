"""The memory traffic of a call by hardware counters, by the library that is built for it (harness/ffi/count_traffic.cpp)."""

import ctypes
import json

ROOM = 1 << 16
CALLBACK = ctypes.CFUNCTYPE(None)


class Traffic:
    def __init__(self, library):
        """Raises OSError where the library is not there."""
        self._count = ctypes.CDLL(library).qkprof_count_traffic
        self._count.argtypes = [CALLBACK, CALLBACK, ctypes.c_char_p, ctypes.c_size_t]
        self._count.restype = ctypes.c_size_t

    def count(self, prepare, call):
        """Of one call, counted in as many passes as it takes: by name, [number or None, why there is none]. `prepare` puts
        the caches into their state before each; both end with a synchronisation. Raises what they raise."""
        raised = []

        def guarded(function):
            def run():
                try:
                    function()
                except Exception as error:  # it must not pass through the library
                    raised.append(error)
            return CALLBACK(run)
        text = ctypes.create_string_buffer(ROOM)
        self._count(guarded(prepare), guarded(call), text, ROOM)
        if raised:
            raise raised[0]
        counters = json.loads(text.value)
        if "failure" in counters:
            raise RuntimeError(counters["failure"])
        return {name: [counter.get("value"), counter.get("reason", "")] for name, counter in counters.items()}
