"""Tests of scripts/framework_routes/variant_parameters.py: what the library for XLA says that a variant runs with."""

import unittest
import unittest.mock

from routes import PROBLEM, measured, record_of, row_of  # which makes the scripts importable
from framework_routes import variant_parameters


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


if __name__ == "__main__":
    unittest.main()
