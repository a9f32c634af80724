"""Tests of scripts/sanitize, with no GPU: the real lists of qkprof, and programs that stand in for its trace and for
compute-sanitizer."""

import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts", "sanitize")
QKPROF = os.environ["QKPROF"]

# Traces what it is asked for, but no blocks of 1024 where the head dim is 128.
TRACE = f'''if [ "$1" = list ]; then exec "{QKPROF}" "$@"; fi
echo "$@" >>trace.calls
case "$*" in
    *threads=1024*1x37x4x128*) echo "qkprof: Nothing was traced: every chosen variant refused the problem." >&2; exit 3 ;;
    *"threads=512 --dtypes f32 "*) echo "qkprof: Nothing was traced: every chosen variant refused the problem." >&2; exit 3 ;;
esac
case "$*" in
    *"--variants fused_best"*) echo "qkprof: Nothing was traced: every chosen variant refused the problem." >&2; exit 3 ;;
esac
echo "# copy.warm"
echo "# fused_register.warm"
'''
# Runs the program as the real one does, and finds what `finds` says.
SANITIZER = '''tool=$2
shift 4
echo "========= COMPUTE-SANITIZER"
"$@"
code=$?
[ $code = 0 ] || echo "========= Target application returned an error"
case "$tool $*" in {finds} esac
if [ "$tool" = racecheck ]; then
    echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else
    echo "========= ERROR SUMMARY: 0 errors"
fi
exit $code
'''
NO_RUN = 'if [ "$1" = list ]; then exec "' + QKPROF + '" "$@"; fi\n'
PROBLEMS = 11  # of the preset gate


class Sanitize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def sanitize(self, *arguments, finds="", trace=TRACE, sanitizer=SANITIZER):
        return subprocess.run([sys.executable, "-B", SCRIPT, "--qkprof", self.program("qkprof", trace), "--compute-sanitizer",
                               self.program("compute-sanitizer", sanitizer.replace("{finds}", finds)), "--out", "logs",
                               "--jobs", "2", "--dtypes", "bf16", *arguments],
                              cwd=self.folder, capture_output=True, text=True, check=False)

    @staticmethod
    def lines(path):
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

    def traces(self):
        return self.lines(os.path.join(self.folder, "trace.calls"))

    def test_every_tool_runs_on_every_problem_and_every_value(self):
        result = self.sanitize("--variants", "copy")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            self.assertRegex(result.stdout, rf"{tool} +{PROBLEMS + 3} +{2 * (PROBLEMS + 3)} +0\n")
        calls = self.traces()
        self.assertEqual(len(calls), 4 * (PROBLEMS + 3 + 1))
        packed = ("trace --device cuda --states warm --variants copy --dtypes bf16 --shapes 1x9x3x80 --layout packed --in-place")
        self.assertEqual(calls.count(packed), 4)
        self.assertEqual(sum("--sweep threads=512 --dtypes bf16" in call for call in calls), 4)
        self.assertFalse([call for call in calls if "threads=256" in call])

    def test_a_value_that_is_refused_is_tried_on_another_problem(self):
        result = self.sanitize("--variants", "copy", "--tools", "memcheck")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        widest = [call for call in self.traces() if "threads=1024" in call]
        self.assertEqual([call.split("--shapes ")[1] for call in widest], ["1x37x4x128", "1x23x4x256"])

    def test_a_value_that_is_refused_in_a_type_is_tried_in_the_next(self):
        result = self.sanitize("--variants", "copy", "--tools", "memcheck", "--dtypes", "f32,bf16,f16")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        of_512 = [call.split("--dtypes ")[1] for call in self.traces() if "threads=512" in call]
        self.assertEqual(of_512, [f"f32 --shapes {shape}" for shape in ("1x37x4x128", "1x23x4x256", "1x41x4x64", "1x4096x16x128")]
                         + ["bf16 --shapes 1x37x4x128"])

    def test_a_finding_fails_with_its_call_and_its_log(self):
        for tool, summary, end in (("memcheck", "ERROR SUMMARY: 3 errors", 86), ("memcheck", "ERROR SUMMARY: 3 errors", 3),
                                   ("memcheck", "ERROR SUMMARY: 3 errors", 4),  # the program had lost the GPU
                                   ("racecheck", "RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)", 86),
                                   ("racecheck", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 3 warnings)", 0)):
            with self.subTest((tool, summary, end)):
                finds = f'"{tool} "*"--shapes 1x23x3x256"*) echo "========= Invalid"; echo "========= {summary}"; exit {end} ;;'
                result = self.sanitize("--variants", "copy", finds=finds)
                self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
                self.assertRegex(result.stdout, rf"{tool} found 3 in qkprof trace .*--shapes 1x23x3x256: logs/\d+_00_{tool}.log")
                self.assertRegex(result.stdout, rf"{tool} +{PROBLEMS + 2} +\d+ +3\n")

    def test_a_second_summary_counts_and_so_does_an_exit_code(self):
        for line, found in (('echo "========= ERROR SUMMARY: 0 errors"; echo "========= ERROR SUMMARY: 7 errors"', 7),
                            ("exit 86", 1)):
            with self.subTest(line):
                finds = f'"memcheck "*"--shapes 1x23x3x256"*) {line} ;;'
                result = self.sanitize("--variants", "copy", "--tools", "memcheck", finds=finds)
                self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
                self.assertIn(f"memcheck found {found} in ", result.stdout)

    def test_what_is_not_clear_is_no_pass_and_loses_no_finding(self):
        for line in ('echo "========= Internal Sanitizer Error: it did not track the launch."', "exit 0", "exit 7",
                     'echo "========= LEAK SUMMARY: 64 bytes leaked in 1 allocations"', "kill -9 $$"):
            with self.subTest(line):
                finds = f'"memcheck "*"--shapes 1x23x3x256"*) {line} ;;'
                result = self.sanitize("--variants", "copy", finds=finds)
                self.assertEqual((result.returncode, result.stderr), (4, ""), result.stdout)
                self.assertRegex(result.stdout, r"memcheck gave no clear result \(.*\) of qkprof trace .*1x23x3x256: logs/")
                finds += ' "synccheck "*) echo "========= ERROR SUMMARY: 2 errors"; exit 86 ;;'
                result = self.sanitize("--variants", "copy", finds=finds)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn("synccheck found 2 in ", result.stdout)

    def test_a_run_that_did_not_happen_is_no_pass(self):
        result = self.sanitize(trace=NO_RUN + 'echo "qkprof: There is no GPU." >&2; exit 4\n')
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("There is no GPU.", result.stdout)
        result = self.sanitize(sanitizer='echo "Device not supported"; exit 0\n')
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("Device not supported", result.stdout)
        result = self.sanitize(sanitizer='echo "========= ERROR SUMMARY: 0 errors"\n')
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("nothing was traced", result.stdout)
        result = self.sanitize(trace=NO_RUN + 'echo "qkprof: --device: there is no cuda:7." >&2; exit 2\n')
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("there is no cuda:7", result.stderr)

    def test_a_variant_that_was_never_run_is_no_pass(self):
        result = self.sanitize("--variants", "copy, fused_best")  # of which the stand-in never traces the second
        self.assertEqual((result.returncode, result.stderr), (3, ""), result.stdout)
        self.assertIn("never run: racecheck fused_best\n", result.stdout)
        self.assertNotIn("never run: racecheck copy", result.stdout)
        refusing = NO_RUN + 'echo "qkprof: Nothing was traced: every chosen variant refused the problem." >&2; exit 3\n'
        result = self.sanitize("--variants", "copy", trace=refusing)
        self.assertEqual((result.returncode, result.stderr), (3, ""), result.stdout)
        self.assertIn("refused: --variants copy --dtypes bf16 --shapes 3x64x4x128\n", result.stdout)
        result = self.sanitize("--variants", "copy", trace=NO_RUN + "exit 3\n")  # for another reason
        self.assertEqual(result.returncode, 4, result.stdout)

    def test_an_interruption_ends_what_runs(self):
        hanging = self.program("hanging", 'echo $$ >>pids; exec sleep 100\n')
        with subprocess.Popen([sys.executable, "-B", SCRIPT, "--qkprof", QKPROF, "--compute-sanitizer", hanging, "--out", "logs",
                               "--jobs", "2"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            path = os.path.join(self.folder, "pids")
            while len(self.lines(path)) < 2 and process.poll() is None:
                time.sleep(0.01)
            process.terminate()
            _, said = process.communicate()
        self.assertEqual((process.returncode, said), (3, "sanitize: interrupted: what was not run is not checked.\n"))
        for pid in self.lines(path):
            self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)

    def test_bad_input_is_said(self):
        for arguments, sentence in ((["--tools", "memchek"], "there is no 'memchek'"), (["--jobs", "0"], "at least 1"),
                                    (["--variants", "copy,nothing"], "there is no 'nothing'"), (["--tools", ""], "there is no ''"),
                                    (["--dtypes", "f8"], "there is no 'f8'"), (["--layout", "packed"], "unrecognized arguments")):
            with self.subTest(arguments):
                result = self.sanitize(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(sentence, result.stderr)
        result = self.sanitize("--compute-sanitizer", "/absent/sanitizer")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (4, 1), result.stderr)
        for answer in ("echo null", "echo '[{}]'", "echo '[]'", "echo no", "exit 4"):
            with self.subTest(answer):
                result = self.sanitize(trace=answer + "\n")
                self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (4, "", 1), result.stderr)


if __name__ == "__main__":
    unittest.main()
