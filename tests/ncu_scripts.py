"""Tests of scripts/ncu.py, scripts/ncu_trace and scripts/ncu_agreement, with no GPU: on a table of ncu, and with programs
that stand in for ncu and qkprof."""

import importlib.util
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = os.path.join(os.path.dirname(TESTS), "scripts")
TABLE = os.path.join(TESTS, "data", "ncu_raw.csv")

sys.dont_write_bytecode = True
sys.path.insert(0, SCRIPTS)
spec = importlib.util.spec_from_file_location("ncu", os.path.join(SCRIPTS, "ncu.py"))
ncu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ncu)

COUNTS = {
    "copy.cold": (1, 256, 16, 0, 32768, 32768, 0, 0, 32768, 32768, 1048576, 4096),
    "copy.warm": (1, 256, 16, 0, 32768, 32768, 0, 0, 32768, 32768, 512, 0),
    "naive_three_kernel.cold": (3, 576, 32, 128, 131336, 65664, 96, 0, 106760, 65664, 1052072, 2048),
    "fused_tile_bulk.cold": (1, 132, 40, 49152, 33792, 32768, 6144, 640, 33792, 32768, 1052672, 0),
}
NAMES = ("launches", "blocks", "registers", "shared_bytes", "global_load_sectors", "global_store_sectors",
         "shared_wavefronts", "bank_conflicts", "l2_read_sectors", "l2_write_sectors", "dram_read_bytes",
         "dram_write_bytes")


def table_lines():
    with open(TABLE, encoding="utf-8") as file:
        return file.read().splitlines()


def entry(name, counts):
    variant, state = name.split(".")
    made = {"name": f"{variant}/1x256x8x128/f32/{state}", "variant": variant, "state": state, "batch": 1, "sequence": 256,
            "heads": 8, "head_dim": 128, "dtype": "f32", "non_standard": []}
    made.update(zip(NAMES, counts))
    made["kernels"] = [{"name": "k", "launches": 1, "grid": [made.pop("blocks"), 1, 1]}]
    return made


class Table(unittest.TestCase):
    def test_a_call_is_the_sum_of_its_kernels_and_the_largest_of_their_resources(self):
        counters = ncu.read_counters(TABLE)
        self.assertEqual({name: tuple(of[counter] for counter in NAMES) for name, of in counters.items()}, COUNTS)

    def test_thousands_and_scaled_units(self):
        self.assertEqual(ncu.number("1,048,576", "byte"), 1048576)
        self.assertEqual(ncu.number("49.15", "Kbyte/block"), 49150)
        self.assertEqual(ncu.number("2.5", "Mbyte"), 2.5e6)
        self.assertIsNone(ncu.number("n/a", "byte"))
        self.assertIsNone(ncu.number("", ""))

    def test_a_number_that_ncu_lacks_makes_the_sum_unknown(self):
        lines = [line.replace('"1,049,000"', '"n/a"') for line in table_lines()]
        kernels = [kernel for kernel in ncu.read_kernels(lines, "t") if kernel[0] == "naive_three_kernel.cold"]
        self.assertIsNone(ncu.counters_of(kernels)["dram_read_bytes"])

    def expect_refused(self, lines, sentence):
        with self.assertRaisesRegex(ncu.Failure, sentence) as caught:
            ncu.read_kernels(lines, "t.csv")
        self.assertEqual(caught.exception.code, 2)

    def test_what_is_no_such_table_is_refused(self):
        lines = table_lines()
        self.expect_refused([], "is no table")
        self.expect_refused(["==ERROR== nothing"], "is no table")
        self.expect_refused(lines[:2], "is no table")
        self.expect_refused([line.replace("Push/Pop_Range", "x") for line in lines], "--nvtx")
        self.expect_refused([line.replace("dram__bytes_read.sum", "x") for line in lines], "lacks dram__bytes_read.sum")
        self.expect_refused([line.replace("qkprof:", "other:") for line in lines], "ran in no range")
        self.expect_refused(lines[:-1] + [lines[-1][:80] + '"'], "cut off")


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, body):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(self.path(name), stat.S_IRWXU)
        return self.path(name)

    def call(self, script, *arguments, **environment):
        return subprocess.run([sys.executable, os.path.join(SCRIPTS, script), *arguments], cwd=self.folder, check=False,
                              capture_output=True, text=True, env={**os.environ, **environment})

    def profile(self, changes=()):
        entries = [entry(name, counts) for name, counts in COUNTS.items()]
        for name, counter, value in changes:
            next(e for e in entries if name == f"{e['variant']}.{e['state']}")[counter] = value
        with open(self.path("profile.json"), "w", encoding="utf-8") as file:
            json.dump({"context": {}, "benchmarks": entries + entries[:1]}, file)  # the second repetition of one
        return self.path("profile.json")

    def compare(self, *changes):
        return self.call("ncu_agreement", "--profile", self.profile(changes), "--csv", TABLE)

    def stand_ins(self, ncu_says="", ncu_code=0):
        """A qkprof that writes the profile and names the ranges, an ncu that writes its report and the table."""
        ranges = "".join(f"# {name}\\n" for name in COUNTS)
        qkprof = self.program("qkprof", f'''echo "$@" >>{self.path("qkprof.calls")}
case $1 in
run) for last; do :; done; cp {self.profile()} "$last" ;;
trace) printf "{ranges}" ;;
esac
''')
        stand_in = self.program("ncu", f'''echo "$@" >>{self.path("ncu.calls")}
if [ "$1" = --import ]; then exec cat {TABLE}; fi
echo "{ncu_says}"
while [ "$1" != --export ]; do shift; done
: >"$2"
exit {ncu_code}
''')
        return "--qkprof", qkprof, "--ncu", stand_in

    def calls(self, name):
        with open(self.path(name + ".calls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_equal_numbers_agree(self):
        result = self.compare()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("1x256x8x128 f32", result.stdout)
        self.assertIn("0 disagreement(s), 0 number(s)", result.stdout)

    def test_bytes_may_differ_by_a_percent_and_under_the_floor(self):
        result = self.compare(("copy.cold", "dram_read_bytes", 1048576 * 1.009), ("copy.warm", "dram_read_bytes", 8600),
                              ("copy.cold", "l2_read_sectors", 32768 + 300),
                              ("naive_three_kernel.cold", "dram_write_bytes", 2048 + 3 * 8192))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"copy.cold .* 0\.89%")
        self.assertRegex(result.stdout, r"copy.warm .* ~ ")

    def test_conflicts_may_differ_by_a_quarter_and_no_more(self):
        few = (("fused_tile_bulk.cold", "bank_conflicts", 690), ("fused_tile_bulk.cold", "shared_wavefronts", 6144 + 50))
        self.assertEqual(self.compare(*few).returncode, 0)
        many = (("fused_tile_bulk.cold", "bank_conflicts", 940), ("fused_tile_bulk.cold", "shared_wavefronts", 6144 + 300))
        self.assertIn("1 disagreement(s), 0 number(s)", self.compare(*many).stdout)

    def test_each_difference_is_a_disagreement(self):
        for change in (("copy.cold", "dram_read_bytes", 1048576 * 1.02), ("copy.warm", "dram_read_bytes", 512 + 8193),
                       ("copy.cold", "l2_write_sectors", 32768 * 1.02), ("copy.cold", "launches", 2),
                       ("copy.cold", "registers", 17), ("copy.cold", "shared_bytes", 16),
                       ("copy.cold", "global_load_sectors", 32769), ("copy.cold", "global_store_sectors", 32767),
                       ("fused_tile_bulk.cold", "shared_wavefronts", 6145),
                       ("copy.cold", "dram_write_bytes", 4096 + (3 << 20) + 1),
                       ("copy.cold", "kernels", [{"launches": 1, "grid": [255, 1, 1]}])):
            with self.subTest(change):
                result = self.compare(change)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertRegex(result.stdout, rf"f32 {change[0]}: \w+ is [\d,]+ by ncu and [\d,.]+ by CUPTI")
                self.assertIn("1 disagreement(s), 0 number(s)", result.stdout)

    def test_unknown_is_no_agreement(self):
        result = self.compare(("copy.cold", "dram_read_bytes", None), ("copy.cold", "dram_read_bytes_reason", "no permission"))
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("copy.cold: dram_read_bytes by CUPTI unknown: no permission.", result.stdout)

    def test_a_range_that_only_one_of_them_has_is_no_agreement(self):
        result = self.compare(("copy.cold", "variant", "coby"))
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("coby.cold: ncu counted no kernel in this range.", result.stdout)
        self.assertIn("copy.cold: the profile does not hold what ncu counted.", result.stdout)

    def test_two_problems_need_a_choice(self):
        both = [("copy.warm", "dtype", "bf16"), ("copy.warm", "name", "copy/1x256x8x128/bf16/warm")]
        result = self.compare(*both)
        self.assertEqual(result.returncode, 2)
        self.assertIn("choose one with --shape and --dtype", result.stderr)
        result = self.call("ncu_agreement", "--profile", self.profile(both), "--csv", TABLE, "--dtype", "f32")
        self.assertEqual(result.returncode, 3, result.stderr)  # copy.warm is in the table of ncu alone

    def test_bad_input_is_one_sentence(self):
        for arguments in (("--profile", TABLE, "--csv", TABLE), ("--profile", self.profile(), "--csv", self.profile()),
                          ("--profile", self.profile(), "--csv", "absent.csv"), ("--profile", "absent", "--csv", TABLE)):
            with self.subTest(arguments):
                result = self.call("ncu_agreement", *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(self.call("ncu_agreement").returncode, 2)
        result = self.call("ncu_agreement", "--profile", self.profile(), "--csv", TABLE, "--in-place")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--in-place is not expected", result.stderr)

    def test_a_problem_is_all_that_its_name_says(self):
        packed = [("copy.warm", "name", "copy/1x256x8x128/packed/in-place/f32/warm")]
        result = self.compare(*packed)
        self.assertEqual(result.returncode, 2)
        self.assertIn("holds 2 problems of that shape and type (1x256x8x128 f32, 1x256x8x128 packed in-place f32)",
                      result.stderr)
        every = [(name, "name", "{}/1x256x8+2x128/packed/f32/{}".format(*name.split("."))) for name in COUNTS]
        result = self.call("ncu_agreement", "--profile", self.profile(every), "--csv", TABLE, "--shape", "1x256x8+2x128")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertTrue(result.stdout.startswith("1x256x8+2x128 packed f32 "), result.stdout)

    def test_further_options_go_to_both(self):
        result = self.call("ncu_agreement", "--shape", "1x256x8x128", "--dtype", "f32", "--out", "o", "--context", "512",
                           *self.stand_ins())
        self.assertTrue(all("--context 512" in call for call in self.calls("qkprof")), self.calls("qkprof"))

    def test_both_are_run_on_each_problem(self):
        result = self.call("ncu_agreement", "--shape", "1x256x8x128", "--dtype", "f32", "--out", "o",
                           *self.stand_ins())
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual([call.split()[0] for call in self.calls("qkprof")], ["run", "trace"])
        self.assertTrue(os.path.exists(self.path("o/1x256x8x128_f32/trace.ncu-rep")))

    def test_ncu_is_called_on_each_range_in_the_state_that_qkprof_prepares(self):
        result = self.call("ncu_trace", "--variants", "copy,naive*", "--out", "o", "--states", "cold,warm", *self.stand_ins())
        self.assertEqual((result.returncode, result.stdout), (0, "o/trace.csv\n"), result.stderr)
        self.assertEqual(self.calls("qkprof"), ["trace --variants copy,naive* --states cold,warm"])
        call = self.calls("ncu")[0]
        for words in ("--nvtx ", "--nvtx-include qkprof@copy.cold/ ", "--nvtx-include qkprof@fused_tile_bulk.cold/ ",
                      "--cache-control none ", "--clock-control none ", "--replay-mode application ",
                      "--export o/trace.ncu-rep "):
            self.assertIn(words, call)
        self.assertTrue(call.endswith("qkprof trace --variants copy,naive* --states cold,warm"), call)

    def test_what_ncu_refuses_is_said_in_a_sentence(self):
        for says, code, sentence in (("==ERROR== ERR_NVGPUCTRPERM", 1, "NVreg_RestrictProfilingToAdminUsers=0"),
                                     ("==WARNING== No kernels were profiled.", 0, "found no kernel"),
                                     ("==ERROR== Failed to find metric x", 1, "ended with code 1")):
            with self.subTest(says):
                result = self.call("ncu_trace", "--out", "o", *self.stand_ins(says, code))
                self.assertEqual((result.returncode, result.stdout), (4, ""))
                self.assertIn(sentence, result.stderr)

    def test_a_missing_ncu_or_qkprof_is_said_in_a_sentence(self):
        qkprof = self.stand_ins()[:2]
        result = self.call("ncu_trace", "--out", "o", *qkprof, "--ncu", "/absent/ncu")
        self.assertEqual(result.returncode, 4)
        self.assertIn("/absent/ncu cannot be run", result.stderr)
        result = self.call("ncu_trace", "--out", "o", "--ncu", "/absent/ncu", "--qkprof", "/absent/qkprof")
        self.assertEqual(result.returncode, 4)
        self.assertIn("/absent/qkprof cannot be run", result.stderr)

    def test_the_refusal_of_qkprof_is_handed_on(self):
        stand_ins = self.stand_ins()
        self.program("qkprof", "echo 'qkprof: There is no GPU.' >&2; exit 4\n")
        result = self.call("ncu_trace", "--out", "o", *stand_ins)
        self.assertEqual(result.returncode, 4)
        self.assertIn("There is no GPU.", result.stderr)


if __name__ == "__main__":
    unittest.main()
