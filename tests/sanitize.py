"""Tests of scripts/sanitize, with no GPU: the real lists of qkprof, and programs that stand in for its trace and for
compute-sanitizer."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts", "sanitize")
QKPROF = os.environ["QKPROF"]

# Traces what it is asked for, but no blocks of 1024 where the head dim is 128.
TRACE = f'''if [ "$1" = list ]; then exec "{QKPROF}" "$@"; fi
echo "$@" >>trace.calls
case "$*" in
    *threads=1024*1x37x4x128*) echo "qkprof: Nothing was traced: every chosen variant refused the problem." >&2; exit 3 ;;
esac
echo "# copy.warm"
echo "# fused_register.warm"
'''
# Runs the program as the real one does, and finds what `finds` says.
SANITIZER = '''tool=$2
shift 4
"$@" || exit
echo "========= COMPUTE-SANITIZER"
case "$tool $*" in {finds} esac
if [ "$tool" = racecheck ]; then
    echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else
    echo "========= ERROR SUMMARY: 0 errors"
fi
'''


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

    def traces(self):
        with open(os.path.join(self.folder, "trace.calls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_every_tool_runs_on_every_problem_and_every_value(self):
        result = self.sanitize("--variants", "copy")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
            self.assertRegex(result.stdout, rf"{tool} +14 +28 +0\n")  # 11 problems and threads of 128, 512 and 1024
        calls = self.traces()
        self.assertEqual(len(calls), 4 * (14 + 1))
        packed = ("trace --states warm --variants copy --dtypes bf16 --shapes 1x9x3x80 --layout packed --in-place")
        self.assertEqual(calls.count(packed), 4)
        self.assertEqual(sum("--sweep threads=512" in call for call in calls), 4)
        self.assertFalse([call for call in calls if "threads=256" in call])

    def test_a_value_that_is_refused_is_tried_on_another_problem(self):
        result = self.sanitize("--variants", "copy", "--tools", "memcheck")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        widest = [call for call in self.traces() if "threads=1024" in call]
        self.assertEqual([call.split("--shapes ")[1] for call in widest], ["1x37x4x128", "1x23x4x256"])

    def test_a_finding_fails_with_its_call_and_its_log(self):
        for tool, summary in (("memcheck", "ERROR SUMMARY: 3 errors"),
                              ("racecheck", "RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)")):
            with self.subTest(tool):
                finds = f'"{tool} "*"--shapes 1x23x3x256"*) echo "========= {summary}"; exit 86 ;;'
                result = self.sanitize("--variants", "copy", finds=finds)
                self.assertEqual((result.returncode, result.stderr), (1, ""), result.stdout)
                self.assertRegex(result.stdout, rf"{tool} found 3 in qkprof trace .*--shapes 1x23x3x256: logs/\d+_{tool}.log")
                self.assertRegex(result.stdout, rf"{tool} +14 +28 +3\n")

    def test_a_program_that_a_tool_ended_has_a_finding_too(self):
        result = self.sanitize("--variants", "copy", "--tools", "memcheck",
                               sanitizer='echo "========= ERROR SUMMARY: 1 error"; exit 86\n')
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stdout, r"memcheck +14 +0 +14\n")

    def test_a_run_that_did_not_happen_is_no_pass(self):
        no_gpu = TRACE.split("\n", maxsplit=1)[0] + '\necho "qkprof: There is no GPU." >&2; exit 4\n'
        result = self.sanitize(trace=no_gpu)
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("There is no GPU.", result.stderr)
        result = self.sanitize(sanitizer='echo "Device not supported"; exit 0\n')
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("Device not supported", result.stderr)
        result = self.sanitize(sanitizer='echo "========= ERROR SUMMARY: 0 errors"\n')  # and nothing was traced
        self.assertEqual((result.returncode, result.stdout), (4, ""))

    def test_nothing_but_refusals_is_no_pass(self):
        refusing = TRACE.split("\n", maxsplit=1)[0] + "\nexit 3\n"
        result = self.sanitize("--variants", "copy", trace=refusing)
        self.assertEqual((result.returncode, result.stderr), (3, ""), result.stdout)
        self.assertIn("refused: --variants copy --dtypes bf16 --shapes 3x64x4x128\n", result.stdout)

    def test_bad_input_is_said(self):
        for arguments, sentence in ((["--tools", "memchek"], "there is no tool memchek"), (["--jobs", "0"], "at least 1"),
                                    (["--preset", "gat"], "there is no preset gat")):
            with self.subTest(arguments):
                result = self.sanitize(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(sentence, result.stderr)
        result = self.sanitize("--compute-sanitizer", "/absent/sanitizer")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (4, 1), result.stderr)


if __name__ == "__main__":
    unittest.main()
