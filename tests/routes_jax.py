"""Tests of what scripts/framework_routes makes of JAX, on this machine's CPU: its HLO, what it refuses in words, the
operation and its verification, and the Pallas kernels as JAX interprets them. QKPROF_JAX_PYTHON names a Python with JAX;
without one it says NOT_RUN. QKPROF names the program."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = os.path.join(os.path.dirname(TESTS), "scripts")
QKPROF = os.environ.get("QKPROF", os.path.join(os.path.dirname(TESTS), "build", "qkprof"))
JAX_PYTHON = os.environ.get("QKPROF_JAX_PYTHON", "")

sys.dont_write_bytecode = True
sys.path.insert(0, SCRIPTS)
from framework_routes import execution, hlo  # noqa: E402


class Jax(unittest.TestCase):
    def child(self, folder, *arguments):
        out = os.path.join(folder, "said.json")
        subprocess.run([JAX_PYTHON, "-B", "-m", "framework_routes.child", "--problems", "128x1024x16x128/f32", "--hlo-dir", folder,
                        "--out", out, "--ffi", "/nowhere/libqkprof_ffi.so", *arguments], check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": SCRIPTS, "JAX_PLATFORMS": "cpu"})
        return execution.load(out)

    def test_a_cpu_makes_several_fusions_of_what_a_gpu_makes_one(self):
        with tempfile.TemporaryDirectory() as folder:
            said = self.child(folder, "--route", "jax_xla", "--hlo-only")
            with open(said["problems"][0]["hlo"], encoding="utf-8") as file:
                optimised = file.read()
            with open(said["problems"][0]["hlo_before"], encoding="utf-8") as file:
                before = file.read()
            entry = optimised[optimised.index("\nENTRY "):]
            self.assertGreater(entry.count(" fusion("), 1)
            self.assertNotIn(" fusion(", before)
            totals, reason = hlo.totals_of(QKPROF, said["problems"][0]["hlo"])
            self.assertEqual(reason, "")
            self.assertEqual(totals["fusions"]["instructions"], entry.count(" fusion("))

    def test_what_needs_a_gpu_is_refused_in_words(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("finds no GPU here: its platform is cpu", self.child(
                folder, "--route", "jax_xla", "--ranges", "/nowhere", "--states", "warm")["failure"])
            self.assertIn("libqkprof_ffi.so is not built", self.child(folder, "--route", "jax_ffi_copy", "--hlo-only")["failure"])
            refused = self.child(folder, "--route", "jax_pallas_tile", "--hlo-only")["problems"][0]["failure"]
            self.assertRegex(refused, "^[A-Za-z]+: .")

    def run_program(self, program):
        done = subprocess.run([JAX_PYTHON, "-B", "-c", program], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": SCRIPTS, "JAX_PLATFORMS": "cpu"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_the_operation_and_its_verification(self):
        said = self.run_program("""
import json
from framework_routes import jax_routes, operation, problems
for dtype in problems.BYTES:
    problem = problems.parse('2x37x3x96/' + dtype)
    inputs = operation.Inputs(problem, 1)
    framework = jax_routes.open_route('', '')
    output = framework.compile(problem, {}).call(*framework.upload(inputs))
    right = framework.download(problem, output).copy()
    print(json.dumps(operation.verify(inputs, right, False)))
    print(json.dumps(operation.verify(inputs, inputs.q, True)))
    right[1, 2, 0, 5] = 0
    print(json.dumps(operation.verify(inputs, right, False)))
""")
        self.assertEqual([verdict["correct"] for verdict in said], [True, True, False] * 3)
        for wrong in said[2::3]:
            place = {key: wrong["first_wrong"][key] for key in ("batch", "position", "head", "column")}
            self.assertEqual((wrong["wrong_elements"], place),
                             (1, {"batch": 1, "position": 2, "head": 0, "column": 5}))

    def test_the_pallas_kernels_as_jax_interprets_them(self):
        said = self.run_program("""
import json
import jax
from framework_routes import jax_framework, operation, pallas_routes, problems
framework = jax_framework.JaxFramework(None)
def verdict(shape, dtype, make):
    problem = problems.parse(shape + '/' + dtype)
    inputs = operation.Inputs(problem, 1)
    output = jax.jit(make(problem))(*framework.upload(inputs))
    print(json.dumps([shape, operation.verify(inputs, framework.download(problem, output), False)['correct']]))
for dtype in problems.BYTES:
    for kind in ('vector', 'tile'):
        for shape in ('2x8x8x64', '3x5x4x128'):
            verdict(shape, dtype, lambda problem: pallas_routes.make(problem, pallas_routes.forms_of(problem, kind)[-1], True))
    try:
        from jax.experimental.pallas import mosaic_gpu
        parameters = mosaic_gpu.InterpretGPUParams()
    except (ImportError, AttributeError):
        assert tuple(map(int, jax.__version__.split('.')[:2])) < (0, 11)
        continue
    from framework_routes import mosaic_route
    for shape in ('2x128x2x128', '64x1x3x64'):
        verdict(shape, dtype, lambda problem: mosaic_route.make(problem, {}, parameters))
""")
        self.assertGreaterEqual(len(said), 12)
        self.assertEqual([shape for shape, correct in said if not correct], [])


if __name__ == "__main__":
    if not JAX_PYTHON:
        print("NOT_RUN: QKPROF_JAX_PYTHON names no Python with JAX")
        sys.exit()
    unittest.main()
