"""Tests of scripts/framework_routes, with no GPU and no framework: on made-up records, and with a program and a Python that
stand in for qkprof and for one with frameworks."""

import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = os.path.dirname(os.path.realpath(__file__))
SCRIPTS = os.path.join(os.path.dirname(TESTS), "scripts")
QKPROF = os.environ.get("QKPROF", os.path.join(os.path.dirname(TESTS), "build", "qkprof"))

sys.dont_write_bytecode = True
sys.path.insert(0, SCRIPTS)
from framework_routes import entries, execution, hlo, problems, profile_file, table  # noqa: E402
from framework_routes.clocks import Clocks  # noqa: E402
from framework_routes.routes import ROUTES, route_of  # noqa: E402
from routes_stand_ins import PROGRAM, PYTHON, lives, write_program  # noqa: E402
from script import Failure  # noqa: E402

XLA = route_of("jax_xla")
PROBLEM = problems.parse("2x8x4x128/f32")
FORM = {"device": 0, "stream": 7, "graph": False, "grid": [64, 1, 1], "block": [128, 1, 1], "registers": 40,
        "static_shared": 1024, "dynamic_shared": 2048, "count": 3}
TOTALS = {"fusions": {"instructions": 1, "least": 1, "most": 1, "observed": 1},
          "custom_calls": {"instructions": 0, "least": 0, "most": 0, "observed": 0},
          "unfused": {"instructions": 2, "least": 2, "most": 2, "observed": None},
          "transfers": {"instructions": 0, "least": 0, "most": 0, "observed": None}}
RIGHT = {"correct": True, "error_norm": 6e-8, "wrong_elements": 0}


def row_of(name, busy=(5e-6, 4e-6, 6e-6)):
    calls = [{"launches": 1, "transfers": 0, "submissions": 1, "busy_seconds": seconds, "span_seconds": seconds,
              "host_seconds": 3e-5} for seconds in busy]
    kernel = {"name": "fusion", "count": len(calls), "without_time": 0, "seconds": {}, "forms": [{**FORM, "count": len(calls)}],
              "in_other_forms": 0}
    return {"domain": "qkprof", "name": name, "inside": [], "calls": len(calls), "open": 0, "first_calls": calls,
            "without_record": 0, "late_records": 0, "work": {"launches": len(calls), "kernels": [kernel]}}


def record_of(calls=3, verification=None):
    states = {state: {"range": problems.range_name("jax_xla", PROBLEM, state), "calls": calls, "buffers": 1}
              for state in problems.STATES}
    return {"problem": PROBLEM.text, "form": {}, "states": states, "verification": verification or RIGHT}


def hlo_counters(totals, **more):
    """As they are of a qkprof that answers so; None: that cannot be run."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "qkprof")
        if totals:
            write_program(program, "#!/bin/sh\necho '{answer}'\n", answer=json.dumps({"totals": totals, **more}))
        return hlo.counters(program, "a.hlo", "exec.json", "r")


def measured(row, record=None, totals=None, **more):
    return entries.measured(XLA, PROBLEM, "warm", 1, record or record_of(), row, hlo_counters(totals, **more))


class Problems(unittest.TestCase):
    def test_a_problem_is_read_and_its_floor_follows(self):
        self.assertEqual(problems.parse("128x1024x16x128/f32").compulsory_bytes, 2148008448)  # as qkprof writes it
        self.assertEqual(problems.parse("3x5x2x64/bf16").text, "3x5x2x64/bf16")

    def test_what_is_no_problem_is_none(self):
        for text in ("", "1x2x3x4", "1x2x3/f32", "1x2x3x5/f32", "0x2x3x4/f32", "1x2x3x0/f32", "1x2x3x4/f64",
                     "1x2x3+1x4/f32", "1xSx3x4/f32", "1x2x3x-4/f32", "1x2x3x9999999999/f32"):
            self.assertIsNone(problems.parse(text), text)


class Entries(unittest.TestCase):
    def test_a_sample_for_each_call_and_the_rest_in_the_first(self):
        made = measured(row_of("r"), totals=TOTALS)
        self.assertEqual([entry["real_time"] for entry in made], [5.0, 4.0, 6.0])
        self.assertEqual([entry["repetition_index"] for entry in made], [0, 1, 2])
        self.assertEqual({entry["name"] for entry in made}, {"jax_xla/2x8x4x128/f32/warm"})
        first = made[0]
        self.assertEqual((first["timer"], first["time_unit"], first["family"]), ("cupti", "us", "framework"))
        self.assertAlmostEqual(first["cpu_time"], 30)
        self.assertEqual((first["launches"], first["launches_source"]), (1, "counted"))
        self.assertEqual((first["registers"], first["shared_bytes"]), (40, 3072))
        self.assertEqual(first["kernels"], [{"name": "fusion", "launches": 1, "grid": [64, 1, 1], "block": [128, 1, 1],
                                             "registers": 40, "static_shared": 1024, "dynamic_shared": 2048}])
        self.assertFalse([key for key in first if key.startswith("declared_")])
        self.assertNotIn("variant", made[1])

    def test_what_hlo_promised_and_what_ran(self):
        first = measured(row_of("r"), totals=TOTALS)[0]
        self.assertEqual((first["hlo_fusions"], first["hlo_fusion_launches"], first["hlo_custom_calls"]), (1, 1, 0))
        self.assertEqual(first["hlo_unfused"], 2)

    def test_copies_outside_the_fusions_are_launches_of_what_is_unfused(self):
        copied = {**TOTALS, "unfused": {"instructions": 0, "observed": None}, "transfers": {"instructions": 1, "observed": 0}}
        first = measured(row_of("r"), totals=copied, observed={"transfers": 1})[0]
        self.assertEqual((first["hlo_unfused"], first["hlo_unfused_launches"]), (1, 1))
        self.assertIsNone(measured(row_of("r"), totals=copied, observed={"transfers": None})[0]["hlo_unfused_launches"])
        # A custom call may copy too: whose copies they are is not known.
        called = {**copied, "custom_calls": {"instructions": 1, "observed": 1}}
        self.assertIsNone(measured(row_of("r"), totals=called, observed={"transfers": 1})[0]["hlo_unfused_launches"])

    def test_what_hlo_promised_and_nobody_saw(self):
        first = measured(row_of("r"), totals=TOTALS)[0]
        self.assertIsNone(first["hlo_unfused_launches"])
        self.assertIn("could not tell", first["hlo_unfused_launches_reason"])
        self.assertIn("could not be run", measured(row_of("r"))[0]["hlo_fusions_reason"])

    def test_the_clocks_around_the_calls(self):
        record = record_of()
        record["states"]["warm"].update(sm_clock_mhz=1980, memory_clock_mhz=3201)
        record["states"]["cold"].update(clock_failure="NVML is away")
        first = measured(row_of("r"), record)[0]
        self.assertEqual([first[key] for key in ("sm_clock_mhz", "sm_clock_mhz_source", "memory_clock_mhz")],
                         [1980, "counted", 3201])
        cold = entries.measured(XLA, PROBLEM, "cold", 1, record, row_of("r"), {})[0]
        self.assertEqual((cold["sm_clock_mhz"], cold["sm_clock_mhz_reason"]), (None, "NVML is away"))

    def test_without_nvml_there_is_a_reason(self):
        clocks = Clocks("GPU-0")
        clocks.read()
        self.assertIn("the GPU's clocks cannot be read: ", clocks.take()["clock_failure"])

    def test_a_count_that_differs_between_the_calls_is_unknown(self):
        row = row_of("r")
        row["first_calls"][1]["launches"] = 2
        first = measured(row, totals=TOTALS)[0]
        self.assertIsNone(first["launches"])
        self.assertEqual(first["launches_reason"], "it differs between the calls: 1 to 2")
        self.assertEqual(first["submissions"], 1)

    def expect_untimed(self, made, reason):
        self.assertEqual(len(made), 1)
        self.assertIsNone(made[0]["real_time"])
        self.assertEqual(made[0]["aggregate_name"], "untimed")
        self.assertRegex(made[0]["real_time_reason"], reason)

    def test_records_that_are_not_those_of_the_calls_give_no_time_and_no_count(self):
        for made, reason in ((measured(None), "no range"), (measured(row_of("r", (1e-6, 2e-6))), "the records have 2"),
                             (measured(row_of("r", (1e-6, 0, 2e-6))), "another thread")):
            self.expect_untimed(made, reason)
            self.assertTrue(made[0]["correct"])
            self.assertIsNone(made[0]["launches"])
            self.assertRegex(made[0]["launches_reason"], reason)
            self.assertEqual(made[0]["kernels"], [])

    def test_calls_of_which_records_are_missing_are_not_known(self):
        for key in ("without_record", "late_records"):
            row = row_of("r")
            row[key] = 1
            self.expect_untimed(measured(row), "has no record")
        row = row_of("r")
        row["work"]["kernels"][0]["without_time"] = 1
        self.expect_untimed(measured(row), "without its time")

    def test_resources_of_more_forms_than_are_kept_are_unknown(self):
        row = row_of("r")
        row["work"]["kernels"][0]["in_other_forms"] = 4
        self.assertIsNone(measured(row)[0]["registers"])

    def test_a_wrong_result_has_no_time(self):
        wrong = {"correct": False, "error_norm": float("inf"), "wrong_elements": 7, "first_wrong": {
            "batch": 0, "position": 1, "head": 2, "column": 3, "got": float("nan"), "expected": 0.5}}
        made = measured(row_of("r"), record_of(verification=wrong))
        self.expect_untimed(made, "wrong result: 7 of 8192 elements, the first at b=0 s=1 h=2 d=3: got nan, expected 0.5")
        self.assertIsNone(made[0]["error_norm"])
        self.assertIsNone(made[0]["first_wrong"]["got"])
        json.dumps(made, allow_nan=False)

    def test_what_did_not_run_says_so(self):
        made = entries.not_run(XLA, PROBLEM, "cold", 1, "ValueError: no.")
        self.expect_untimed(made, "^not run: ValueError: no$")
        self.assertEqual((made[0]["not_run"], made[0]["error_message"]), ("ValueError: no", "not run: ValueError: no"))
        self.assertNotIn("correct", made[0])


class Table(unittest.TestCase):
    def entries(self):
        made = []
        for name, busy, launches in (("jax_ffi_copy", 4e-6, 1), ("jax_xla", 8e-6, 1), ("torch_compile", 16e-6, 2)):
            row = row_of("r", (busy,) * 3)
            for call in row["first_calls"]:
                call["launches"] = launches
            made += entries.measured(route_of(name), PROBLEM, "warm", 1, record_of(), row,
                                     hlo_counters(TOTALS) if name == "jax_xla" else {})
        native = copy.deepcopy(made[:1])
        native[0].update(name="copy/2x8x4x128/f32/warm", variant="copy", timer="graph_events", real_time=1.0)
        return native + made + entries.not_run(route_of("torch_triton"), PROBLEM, "warm", 1, "No module named 'torch'")

    def test_a_route_is_held_against_the_ceiling_of_its_own_timer(self):
        lines = table.render(self.entries()).splitlines()
        self.assertEqual(lines[0], "2x8x4x128/f32: 0.07 MB must move")
        by_route = {line.split()[0]: line for line in lines[1:] if line}
        self.assertIn("100.0 %", by_route["copy"])
        self.assertIn("100.0 %", by_route["jax_ffi_copy"])
        self.assertIn("50.0 %", by_route["jax_xla"])
        self.assertIn("25.0 %", by_route["torch_compile"])

    def test_without_a_ceiling_of_the_timer_there_is_no_percentage(self):
        entries_without = [entry for entry in self.entries() if not entry["name"].startswith("jax_ffi_copy")]
        self.assertEqual(table.render(entries_without).count("%"), 1)  # the native copy's own

    def test_the_others_and_the_splits_are_named(self):
        text = table.render(self.entries())
        self.assertIn("torch_triton (warm): not run: No module named 'torch'.", text)
        self.assertIn("torch.compile makes 2 kernels a call where XLA makes 1: 2x8x4x128/f32.", text)
        alike = self.entries()
        for entry in alike:
            if "launches" in entry:
                entry["launches"] = 2
        self.assertNotIn("torch.compile makes", table.render(alike))

    def test_promised_and_launched_differ(self):
        made = measured(row_of("r"), totals={**TOTALS, "fusions": {"instructions": 1, "observed": 3}})
        self.assertIn("1 -> 3", table.render(made))

    def test_results_in_other_memory_are_not_called_warm(self):
        record = record_of()
        for state in record["states"].values():
            state["buffers"] = 2
        self.assertIn("jax_xla/2x8x4x128/f32/warm: its results went to 2 buffers", table.render(measured(row_of("r"), record)))
        self.assertNotIn("buffers", table.render(measured(row_of("r"))))

    def test_markdown(self):
        text = table.render(self.entries(), markdown=True)
        self.assertIn("\n| route | state | launches |", text)
        self.assertIn("\n|---|---|--:|", text)
        self.assertIn("\n- torch_triton (warm): not run", text)


class Reasons(unittest.TestCase):
    def test_how_a_process_ended(self):
        self.assertEqual(execution.end_of(1, "a\nb\n\n"), "its process ended with exit code 1, after: b")
        self.assertEqual(execution.end_of(139, ""), "its process was ended by SIGSEGV")
        self.assertEqual(execution.end_of(-9, ""), "its process was ended by SIGKILL")
        self.assertEqual(execution.end_of(139, "a\nqkprof: The command was ended by SIGSEGV."),
                         "its process was ended by SIGSEGV, after: a")
        self.assertEqual(execution.why_no_exec(4, "a\nqkprof: There is no library."), "qkprof exec: There is no library.")

    def test_a_profile_that_is_none_has_no_ranges_and_a_reason(self):
        for profile in ({}, {"exec_schema": 2, "ranges": []}, {"exec_schema": 1}):
            self.assertEqual(execution.ranges_of(profile)[0], {})
            self.assertIn("wrote no profile", execution.ranges_of(profile)[1])
        silent = {"exec_schema": 1, "ranges": [], "processes": [{"failure": "CUPTI was taken"}]}
        self.assertEqual(execution.ranges_of(silent)[1], "CUPTI was taken")

    def test_words_of_an_assert_that_says_nothing(self):
        from framework_routes.not_run import NotRun, words
        try:
            assert not ROUTES
        except AssertionError as error:
            self.assertEqual(words(error), "AssertionError in test_words_of_an_assert_that_says_nothing: assert not ROUTES")
        self.assertEqual(words(ValueError("\n a\nb")), "ValueError: a")
        self.assertEqual(words(NotRun("there is none")), "there is none")


class Script(unittest.TestCase):
    """The whole of it, onto a profile of the emulated device."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="qkprof-routes-test.")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)
        self.python, self.native, self.out = (os.path.join(self.folder, name) for name in ("python", "native.json", "out.json"))
        write_program(self.python, PYTHON, python=sys.executable)
        write_program(os.path.join(self.folder, "qkprof"), PROGRAM, python=sys.executable, totals=json.dumps(TOTALS))

    def measure_native(self):
        subprocess.run([QKPROF, "run", "--device", "emulated", "--variants", "copy", "--shapes", "2x8x4x128,1x4x4+2x64",
                        "--dtypes", "f32,bf16", "--out", self.native], check=True, capture_output=True)

    def run_script(self, *arguments, python=None):
        return subprocess.run([sys.executable, "-B", "-m", "framework_routes", "--build-dir", self.folder, "--python",
                               python or self.python, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": SCRIPTS})

    def onto(self, *arguments, python=None):
        self.measure_native()
        return self.run_script("--onto", self.native, "--out", self.out, *arguments, python=python)

    def read(self):
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)

    def test_every_route_is_an_entry_whatever_became_of_it(self):
        done = self.onto("--samples", "3")
        self.assertEqual(done.returncode, 5, done.stderr)  # one of them is wrong
        self.assertNotIn("4+2", done.stdout)
        profile = self.read()
        self.assertEqual(profile["context"]["frameworks"], {"python": "3.0", "jax": "0.1"})
        made = {}
        for entry in profile["benchmarks"]:
            made.setdefault(entry["name"], []).append(entry)
        for route in ROUTES:
            for dtype in ("f32", "bf16"):
                for state in problems.STATES:
                    self.assertIn(f"{route.name}/2x8x4x128/{dtype}/{state}", made)
        self.assertEqual({name.split("/")[1] for name in made if not name.startswith("copy/")}, {"2x8x4x128"})
        warm, cold = (made[f"jax_xla/2x8x4x128/bf16/{state}"][0] for state in ("warm", "cold"))
        self.assertEqual((warm["dram_read_bytes"], warm["dram_read_bytes_source"]), (4096, "counted"))
        self.assertEqual((warm["dram_write_bytes"], warm["dram_write_bytes_reason"]), (None, "the GPU gave none"))
        self.assertEqual((cold["l2_read_sectors"], cold["l2_read_sectors_reason"]), (None, "it is broken"))
        self.assertEqual(made["jax_pallas_tile/2x8x4x128/bf16/warm"][0]["dram_read_bytes_reason"], "RuntimeError: CUPTI failed")
        self.assertEqual(made["jax_xla/2x8x4x128/bf16/cold"][0]["hlo_fusion_launches"], 1)
        self.assertEqual([entry["real_time"] for entry in made["jax_xla/2x8x4x128/bf16/cold"]], [5.0, 5.0, 5.0])
        self.assertEqual(made["jax_xla/2x8x4x128/bf16/cold"][0]["form"], "rows=4")
        self.assertEqual(made["jax_ffi_copy/2x8x4x128/f32/warm"][0]["not_run"],
                         "its process was ended by SIGSEGV, after: a last word")
        self.assertEqual(made["jax_ffi_copy/2x8x4x128/f32/warm"][0]["family"], "ceiling")
        self.assertEqual(made["jax_pallas_mosaic/2x8x4x128/f32/warm"][0]["not_run"], "AssertionError in a: assert b")
        self.assertEqual(made["torch_eager/2x8x4x128/f32/warm"][0]["not_run"],
                         "ModuleNotFoundError: No module named 'torch'")
        self.assertIn("wrong result", made["jax_ffi_naive_three_kernel/2x8x4x128/f32/warm"][0]["error_message"])
        for line in ("jax_pallas_mosaic (cold, warm): not run: AssertionError in a: assert b.", "WRONG"):
            self.assertIn(line, done.stdout)

    def test_the_profile_keeps_what_the_native_run_wrote(self):
        self.assertEqual(self.onto("--routes", "jax_xla").returncode, 0)
        with open(self.native, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(self.out, encoding="utf-8") as file:
            written = file.read().splitlines()
        native = [line.rstrip(",") for line in lines[2:-2]]
        self.assertEqual([line.rstrip(",") for line in written[2:2 + len(native)]], native)

    def test_a_route_that_runs_again_replaces_what_it_measured(self):
        self.onto("--routes", "jax_xla,torch_eager", "--samples", "2")
        before = self.read()
        done = self.run_script("--onto", self.out, "--out", self.out, "--routes", "jax_xla", "--samples", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [entry["name"] for entry in self.read()["benchmarks"]]
        self.assertEqual(set(names), {entry["name"] for entry in before["benchmarks"]})
        self.assertEqual(names.count("jax_xla/2x8x4x128/f32/warm"), 3)

    def test_a_python_without_frameworks(self):
        bare = os.path.join(self.folder, "bare")
        write_program(bare, '#!/bin/sh\nexec {python} -S "$@"\n', python=sys.executable)
        done = self.onto("--routes", "jax_xla,torch_*", python=bare)
        self.assertEqual(done.returncode, 3)
        self.assertIn("jax_xla (cold, warm): not run: ModuleNotFoundError: No module named", done.stdout)
        self.assertTrue(all("not_run" in entry for entry in self.read()["benchmarks"] if entry["variant"] != "copy"))

    def test_what_was_measured_is_kept_where_nothing_is(self):
        self.onto("--routes", "jax_xla", "--samples", "2")
        before = self.read()
        bare = os.path.join(self.folder, "bare")
        write_program(bare, '#!/bin/sh\nexec {python} -S "$@"\n', python=sys.executable)
        done = self.run_script("--onto", self.out, "--out", self.out, "--routes", "jax_xla,torch_eager", python=bare)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("jax_xla/2x8x4x128/f32/warm: not run: ModuleNotFoundError: ", done.stderr)
        self.assertIn(f"; what {self.out} holds of it is kept.", done.stderr)
        after = self.read()
        self.assertEqual([e for e in after["benchmarks"] if not e["name"].startswith("torch")], before["benchmarks"])
        self.assertEqual(after["context"], before["context"])
        self.assertEqual(sum(e["name"].startswith("torch_eager/") for e in after["benchmarks"]), 4)
        # And of another state than those that are measured.
        done = self.run_script("--onto", self.out, "--out", self.out, "--routes", "jax_xla", "--states", "warm")
        self.assertEqual(sum(e["name"] == "jax_xla/2x8x4x128/f32/cold" for e in self.read()["benchmarks"]), 2)

    def test_words_that_are_said_twice_are_one(self):
        done = self.onto("--routes", "jax_xla,jax_xla", "--states", "warm,warm", "--dtypes", "f32,f32", "--samples", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [entry["name"] for entry in self.read()["benchmarks"] if entry["variant"] == "jax_xla"]
        self.assertEqual(sorted(names), [f"jax_xla/2x8x4x128/{dtype}/warm" for dtype in ("bf16", "f32")])

    def test_a_signal_ends_all_that_was_started(self):
        self.measure_native()
        slow, pids, temporary = (os.path.join(self.folder, name) for name in ("slow", "pids", "temporary"))
        os.mkdir(temporary)
        write_program(slow, f"#!/bin/sh\necho $$ $PPID >{pids}.part\nmv {pids}.part {pids}\nexec sleep 60\n")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number.name):
                script = subprocess.Popen(
                    [sys.executable, "-B", "-m", "framework_routes", "--build-dir", self.folder, "--python", slow, "--onto",
                     self.native, "--out", self.out, "--routes", "jax_xla"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, env={**os.environ, "PYTHONPATH": SCRIPTS, "TMPDIR": temporary})
                for _ in range(200):
                    if os.path.exists(pids):
                        break
                    time.sleep(0.1)
                with open(pids, encoding="utf-8") as file:
                    started = list(map(int, file.read().split()))
                os.unlink(pids)
                self.assertTrue(all(map(lives, started)))
                script.send_signal(number)
                _, said = script.communicate(timeout=30)
                self.assertEqual(script.returncode, 128 + number, said)
                self.assertEqual(said.splitlines()[1:], [f"routes: It was ended by {number.name}, with all that "
                                                          "it had started."])
                for _ in range(50):
                    if not any(map(lives, started)):
                        break
                    time.sleep(0.1)
                self.assertFalse([pid for pid in started if lives(pid)])
                self.assertEqual(os.listdir(temporary), [])
                self.assertFalse(os.path.exists(self.out))

    def expect_refused(self, sentence, *arguments):
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_bad_input(self):
        self.measure_native()
        bad = os.path.join(self.folder, "bad.json")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("{")
        self.expect_refused("--out FILE says where")
        self.expect_refused("No route is called 'jax_x'", "--onto", self.native, "--out", self.out, "--routes", "jax_x")
        self.expect_refused("'hot' is none of warm, cold", "--onto", self.native, "--out", self.out, "--states", "hot")
        self.expect_refused("at least 1", "--onto", self.native, "--out", self.out, "--samples", "0")
        self.expect_refused("is not JSON", "--onto", bad, "--out", self.out)
        self.expect_refused("No such file", "--onto", bad + "x", "--out", self.out)
        with open(bad, "w", encoding="utf-8") as file:
            file.write("[]")
        self.expect_refused("is no profile of qkprof", "--onto", bad, "--out", self.out)

    def test_what_fails_is_said_before_anything_runs(self):
        self.measure_native()
        onto = ("--onto", self.native, "--routes", "jax_xla")
        ran = os.path.join(self.folder, "ran")
        write_program(self.python, f"#!/bin/sh\ntouch {ran}\n")
        write_program(os.path.join(self.folder, "qkprof"), f"#!/bin/sh\ntouch {ran}\n")
        nowhere = os.path.join(self.folder, "nowhere", "out.json")
        self.expect_refused(f"--out {nowhere} cannot be written: there is no folder", *onto, "--out", nowhere)
        self.expect_refused(f"--out {self.folder} cannot be written: it is a folder", *onto, "--out", self.folder)
        self.expect_refused("No route is called 'jax_x'", "--out", self.out, "--routes", "jax_x")
        self.expect_refused("'f64' is none of f32, bf16, f16", "--out", self.out, "--dtypes", "f32,f64")
        self.expect_refused("--python /nowhere/python: there is no program", *onto, "--out", self.out, "--python",
                            "/nowhere/python")
        self.expect_refused("--build-dir /nowhere: there is no such folder", *onto, "--out", self.out, "--build-dir", "/nowhere")
        os.mkdir(os.path.join(self.folder, "empty"))
        self.expect_refused("there is no program qkprof in it", *onto, "--out", self.out, "--build-dir",
                            os.path.join(self.folder, "empty"))
        self.assertFalse(os.path.exists(ran))

    def test_a_damaged_profile_is_refused(self):
        self.measure_native()
        with open(self.native, encoding="utf-8") as file:
            whole = json.load(file)

        def expect(sentence, damage):
            profile = copy.deepcopy(whole)
            damage(profile)
            bad = os.path.join(self.folder, "bad.json")
            with open(bad, "w", encoding="utf-8") as file:
                json.dump(profile, file)
            with self.assertRaises(Failure) as raised:
                profile_file.read(bad)
            self.assertEqual(raised.exception.code, 2)
            self.assertIn(sentence, str(raised.exception))
            return bad
        expect("entry 1 of its benchmarks: it has no name", lambda p: p.update(benchmarks=[1]))
        expect("no device with its l2_bytes", lambda p: p["context"].pop("device"))
        expect("its schema_version is 99, and 1 is understood", lambda p: p["context"].update(schema_version=99))
        expect("has no context", lambda p: p.update(context=[]))
        expect("no list of benchmarks", lambda p: p.update(benchmarks={}))
        expect("entry 2 of its benchmarks: its seed is missing", lambda p: p["benchmarks"][1].pop("seed"))
        expect("its launches is no number", lambda p: p["benchmarks"][0].update(launches="one"))
        expect("its non_standard names", lambda p: p["benchmarks"][0].update(non_standard=[[]]))
        expect("its correct is missing", lambda p: p["benchmarks"][0].pop("correct"))
        expect("its real_time", lambda p: p["benchmarks"][0].update(real_time=0, time_unit="us"))
        expect("NaN is no number", lambda p: p["benchmarks"][0].update(real_time=float("nan")))
        ran = [*measured(row_of("r"), totals=TOTALS), *entries.not_run(XLA, PROBLEM, "cold", 1, "there is none")]
        self.assertEqual(profile_file.fault_of({**whole, "benchmarks": ran}), "")
        refused = 0
        for index in (0, len(ran) - 1):  # whatever is missing or is another thing: a sentence, or it is not needed
            for name in ran[index]:
                for value in (None, "", "x", 0, -1, [], {}, True):
                    profile = {**whole, "benchmarks": copy.deepcopy(ran)}
                    profile["benchmarks"][index][name] = value
                    if value is None:
                        del profile["benchmarks"][index][name]
                    if profile_file.fault_of(profile):
                        refused += 1
                        continue
                    with self.subTest(name=name, value=value):
                        profile_file.plain_problems(profile)
                        table.render(profile["benchmarks"])
        self.assertGreater(refused, 100)
        bad = expect("it has no name", lambda p: p["benchmarks"].append({}))
        self.expect_refused("it has no name", "--onto", bad, "--out", self.out)


if __name__ == "__main__":
    unittest.main()
