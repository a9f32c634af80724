"""Tests of scripts/record, with a program that stands in for qkprof."""

import os
import signal
import stat
import subprocess
import tempfile
import time
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "scripts", "record")

STAND_IN = '''echo "$@" >>calls
for word; do file=$word; done
echo recorded >"$file"
case "$1 $file" in {ends} esac
'''


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(os.path.join(self.folder, "h300"))

    def record(self, *arguments, ends=""):
        program = os.path.join(self.folder, "qkprof")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + STAND_IN.replace("{ends}", ends))
        os.chmod(program, os.stat(program).st_mode | stat.S_IXUSR)
        return subprocess.run([SCRIPT, *arguments], cwd=self.folder, env={**os.environ, "QKPROF": program},
                              capture_output=True, text=True, check=False)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def calls(self):
        return self.read("calls").splitlines()

    def test_all_are_recorded_with_the_table_that_is_tuned_first(self):
        result = self.record("--out", "h300")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "h300"))), [
            "claims.json", "counters.json", "decode.json", "gemma-3-27b_decode.json", "gemma-3-27b_prefill.json",
            "large.json", "qwen3-8b_decode.json", "qwen3-8b_prefill.json", "seed_resident.json", "tuning.toml"])
        calls = self.calls()
        self.assertEqual([call.split()[0] for call in calls], ["tune"] * 2 + ["claims"] + ["run"] * 8)
        self.assertTrue(all("--tuning h300/tuning.toml" in call for call in calls[2:]), calls)
        self.assertIn("run --device cuda --tuning h300/tuning.toml --shapes model:qwen3-8b/decode --positions int64:scattered "
                      "--dtypes bf16 --layout packed --in-place --table-dtype storage --gamma-dtype storage --samples 12 "
                      "--out h300/qwen3-8b_decode.json.part", calls)

    def test_some_are_recorded_without_a_table(self):
        result = self.record("--out=h300", "decode", "counters")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call.split()[-1] for call in self.calls()], ["h300/counters.json.part", "h300/decode.json.part"])
        self.assertFalse([call for call in self.calls() if "--tuning" in call])

    def test_refuted_claims_are_recorded_and_a_wrong_result_is_said(self):
        result = self.record("--out", "h300", "claims", ends="claims*) exit 1 ;;")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.write("h300/counters.json", "before")
        ends = "*counters.json.part) exit 5 ;; *decode.json.part) kill -9 $$ ;;"
        result = self.record("--out", "h300", "counters", "decode", "large", ends=ends)
        self.assertEqual(result.returncode, 5)
        self.assertIn("record: h300/counters.json is not recorded: qkprof run ended with exit code 5.\n", result.stderr)
        self.assertIn("record: h300/decode.json is not recorded: qkprof run ended with exit code 137.\n", result.stderr)
        self.assertEqual(self.read("h300/counters.json"), "before")
        self.assertEqual(self.read("h300/counters.json.part"), "recorded\n")
        self.assertEqual(self.read("h300/large.json"), "recorded\n")
        self.assertEqual(self.record("--out", "h300", "decode", ends=ends).returncode, 4)

    def test_nothing_written_is_not_recorded(self):
        result = self.record("--out", "h300", "claims", ends='claims*) rm "$file"; exit 3 ;;')
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("h300/claims.json is not recorded", result.stderr)

    def test_without_a_table_nothing_follows(self):
        self.write("h300/tuning.toml", "before\n")
        result = self.record("--out", "h300", ends='tune*) echo before >"$file"; exit 4 ;;')
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual((len(self.calls()), self.read("h300/tuning.toml")), (1, "before\n"))
        self.assertEqual(os.listdir(os.path.join(self.folder, "h300")), ["tuning.toml"])

    def test_an_interruption_ends_it_and_the_program_once(self):
        self.record("--out", "h300", "decode")
        self.write("qkprof", "#!/bin/sh\ntrap 'echo ended >>ends; exit 3' TERM INT\necho $$ >pid\nsleep 10 >/dev/null 2>&1 &\nwait\n")
        with subprocess.Popen([SCRIPT, "--out", "h300", "counters", "decode"], cwd=self.folder, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "QKPROF": "./qkprof"}) as process:
            while not os.path.exists(os.path.join(self.folder, "pid")):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        self.assertEqual(process.returncode, 3)
        self.assertIn("record: interrupted: ", said)
        self.assertEqual(self.read("ends"), "ended\n")

    def test_bad_input_is_said(self):
        for arguments, sentence in ((["--out", "h300", "claim"], "'claim' is not expected"), ([], "--out FOLDER says"),
                                    (["--out"], "--out FOLDER says"), (["--out", "h400"], "h400 is no folder"),
                                    (["--out", "h300", "tuning claims"], "'tuning claims' is not expected")):
            with self.subTest(arguments):
                result = self.record(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(sentence, result.stderr)
        self.assertEqual(self.record("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
