"""Tests of scripts/readme: that README.md holds what was recorded, and that it would be seen if it did not."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SCRIPT = os.path.join(TOP, "scripts", "readme")
PROFILES = os.path.join(TOP, "profiles", "h200")
QKPROF = os.environ["QKPROF"]


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, "--qkprof", QKPROF, *arguments], capture_output=True, text=True, check=False)


class Readme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "README.md")
        with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
            self.text = file.read()

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def another_number(text, line_begins):
        """With another digit behind the first point in the line that begins so; and the line."""
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(line_begins))
        point = lines[at].index(".", len(line_begins)) + 1
        lines[at] = lines[at][:point] + str((int(lines[at][point]) + 1) % 10) + lines[at][point + 1:]
        return "\n".join(lines), lines[at]

    def test_readme_holds_what_was_recorded(self):
        result = run("--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_number_that_differs_is_seen_in_each_table_and_mended(self):
        text, planted = self.text, []
        for line_begins in ("    fused_best             warm", "    fused_best             cold", "    naive_primitives       warm      -",
                            "| qwen3-8b | 64 |", "| `fused_register` | 1 |", "| 1 MiB |", "| 1024 | 20.0 MiB |",
                            "| 1x1024x16x128 | bf16 |", "| `jax_xla` |"):
            text, line = self.another_number(text, line_begins)
            planted.append(line)
        self.write(text)
        result = run("--check", "--readme", self.path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual([line[1:] for line in result.stdout.split("\n") if line.startswith("-") and not line.startswith("---")],
                         sorted(planted, key=text.index))
        self.assertEqual(self.read(), text)
        self.assertEqual(run("--readme", self.path).returncode, 0)
        self.assertEqual(self.read(), self.text)

    def test_what_cannot_be_compared_is_said(self):
        self.write(self.text.replace("| tokens | moved | copy | best |", "| token | moved | copy | best |"))
        result = run("--readme", self.path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("has 0 tables, and one is expected, that begin with '| tokens | moved", result.stderr)
        profiles = os.path.join(self.folder, "h200")
        shutil.copytree(PROFILES, profiles)
        with open(os.path.join(profiles, "decode.json"), encoding="utf-8") as file:
            decode = json.load(file)
        decode["benchmarks"] = [entry for entry in decode["benchmarks"] if not entry["run_name"].startswith("fused_register/")]
        with open(os.path.join(profiles, "decode.json"), "w", encoding="utf-8") as file:
            json.dump(decode, file)
        self.write(self.text)
        result = run("--readme", self.path, "--profiles", profiles)
        self.assertEqual(result.returncode, 2)
        self.assertIn("decode.json has no times of fused_register/1x64x16x128/f32/warm", result.stderr)
        self.assertEqual(self.read(), self.text)
        with open(os.path.join(profiles, "decode.json"), "w", encoding="utf-8") as file:
            file.write('{"benchmarks": [{"name": "x"}]}')
        result = run("--readme", self.path, "--profiles", profiles)
        self.assertEqual(result.returncode, 2)
        self.assertIn("decode.json is no profile of qkprof run --out (KeyError: 'run_name').", result.stderr)
        shutil.copy(os.path.join(PROFILES, "decode.json"), profiles)
        with open(os.path.join(profiles, "seed_resident.json"), encoding="utf-8") as file:
            seed = file.read()
        with open(os.path.join(profiles, "seed_resident.json"), "w", encoding="utf-8") as file:
            file.write(seed.replace('"dram_traffic_bytes":', '"dram_traffic_byte":'))
        result = run("--readme", self.path, "--profiles", profiles)
        self.assertEqual(result.returncode, 2)
        self.assertIn("seed_resident.json does not know dram_traffic_bytes of copy/", result.stderr)
        os.unlink(os.path.join(profiles, "routes.json"))
        result = run("--readme", self.path, "--profiles", profiles)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("routes.json: No such file or directory.", result.stderr)
        with open(os.path.join(profiles, "routes.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        result = run("--readme", self.path, "--profiles", profiles)
        self.assertEqual(result.returncode, 2)
        self.assertIn("routes.json is no profile", result.stderr)
        result = run("--check", "--qkprof", os.path.join(self.folder, "none"))
        self.assertEqual(result.returncode, 4)
        self.assertIn("none run --device emulated cannot be run, or failed: ", result.stderr)


unittest.main()
