"""Tests of the libraries that scripts/framework_routes load: what that for XLA says that a variant runs with, instruments
that are not there or cannot do their work, and what NVML knows of a GPU."""

import ctypes
import os
import types
import unittest
import unittest.mock

from routes import PROBLEM, SCRIPTS, measured, record_of, row_of  # which makes the scripts importable
from framework_routes import __main__ as program, child, clocks, eviction, variant_parameters
from framework_routes.not_run import NotRun
from script import Failure


class VariantParameters(unittest.TestCase):
    """On a library that answers as harness/ffi/xla_ffi.cpp does."""

    def asked(self, answer):
        calls = []

        class Function:
            def __call__(self, *arguments):
                calls.append(arguments[:6])
                if len(answer) + 1 <= arguments[-1]:
                    arguments[-2].value = answer
                return len(answer) + 1

        class Library:
            qkprof_parameters = Function()

        with unittest.mock.patch.object(variant_parameters.ctypes, "CDLL", lambda path: Library):
            return variant_parameters.parameters_of("x.so", "fused_best", PROBLEM), calls

    def test_what_the_library_says_is_the_form(self):
        parameters, calls = self.asked(b'{"heads": 4, "programmatic": 0}')
        self.assertEqual(parameters, {"heads": 4, "programmatic": 0})
        self.assertEqual(calls, [(b"fused_best", 2, 8, 4, 128, b"f32")])
        made = measured(row_of("r"), {**record_of(), "form": parameters})
        self.assertEqual(made[0]["form"], "heads=4 programmatic=0")

    def test_where_it_cannot_tell_there_is_none(self):
        self.assertEqual(self.asked(b"{}")[0], {})
        self.assertEqual(self.asked(b" " * variant_parameters.ROOM)[0], {})
        self.assertNotIn("form", measured(row_of("r"))[0])


class Instruments(unittest.TestCase):
    def test_a_library_that_cannot_be_loaded_is_named(self):
        for library, said in (("/nowhere/libqkprof_eviction.so", "libqkprof_eviction.so, an instrument, cannot be loaded"),
                              ("libc.so.6", "libc.so.6, an instrument, cannot be loaded: .*qkprof_evict_caches"),
                              (None, "no library was named for Eviction")):
            with self.assertRaisesRegex(NotRun, said):
                child.loaded(eviction.Eviction, library, 1 << 20)

    def test_an_eviction_that_fails_says_why(self):
        asked = []

        class Function:
            def __call__(self, size, failure, room):
                asked.append(size)
                failure.value = b"CUDA failed while evicting the caches."
                return len(asked) == 1

        class Library:
            qkprof_evict_caches = Function()

        with unittest.mock.patch.object(ctypes, "CDLL", lambda path: Library):
            evict = eviction.Eviction("x.so", 120)
        evict()
        with self.assertRaisesRegex(RuntimeError, "^CUDA failed while evicting the caches.$"):
            evict()
        self.assertEqual(asked, [120, 120])

    def test_a_gpu_that_is_not_here(self):
        class Nvml:
            def __init__(self, status):
                self.nvmlInit_v2 = lambda: 0
                self.nvmlDeviceGetHandleByUUID = lambda uuid, device: status

        for status, elsewhere in ((0, False), (2, False), (6, True)):
            with unittest.mock.patch.object(ctypes, "CDLL", lambda path, status=status: Nvml(status)):
                self.assertIs(clocks.is_elsewhere("GPU-1"), elsewhere)
        with unittest.mock.patch.object(ctypes, "CDLL", side_effect=OSError):
            self.assertFalse(clocks.is_elsewhere("GPU-1"))

    def test_a_profile_of_another_gpu_is_not_added_to(self):
        onto = os.path.join(os.path.dirname(SCRIPTS), "profiles", "h200", "routes.json")
        with unittest.mock.patch.object(program, "is_elsewhere", lambda uuid: uuid.startswith("GPU-")):
            with self.assertRaisesRegex(Failure, "was measured on the GPU GPU-.*, which is not here: what comes onto it"):
                program.measure(types.SimpleNamespace(onto=onto, chosen=[]), None)


if __name__ == "__main__":
    unittest.main()
