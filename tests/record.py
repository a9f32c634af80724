"""Tests of scripts/record, with a program that stands in for qkprof."""

import os
import stat
import subprocess
import tempfile
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

    def calls(self):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            return file.read().splitlines()

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
                      "--out h300/qwen3-8b_decode.json", calls)

    def test_some_are_recorded_without_a_table(self):
        result = self.record("--out=h300", "decode", "counters")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([call.split()[-1] for call in self.calls()], ["h300/counters.json", "h300/decode.json"])
        self.assertFalse([call for call in self.calls() if "--tuning" in call])

    def test_refuted_claims_are_recorded_and_a_wrong_result_is_said(self):
        result = self.record("--out", "h300", "claims", ends="claims*) exit 1 ;;")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.record("--out", "h300", "counters", "decode", ends="*counters.json) exit 5 ;; *decode.json) exit 4 ;;")
        self.assertEqual(result.returncode, 5)
        self.assertIn("record: h300/counters.json: qkprof run ended with exit code 5.\n", result.stderr)
        self.assertIn("record: h300/decode.json: qkprof run ended with exit code 4.\n", result.stderr)

    def test_bad_input_is_said(self):
        for arguments, sentence in ((["--out", "h300", "claim"], "'claim' is not expected"), ([], "--out FOLDER says"),
                                    (["--out"], "--out FOLDER says"), (["--out", "h400"], "there is no folder h400")):
            with self.subTest(arguments):
                result = self.record(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(sentence, result.stderr)
        self.assertEqual(self.record("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
