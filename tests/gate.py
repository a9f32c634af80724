"""Tests of scripts/gate: with kernels that really regressed (plant() in CMakeLists.txt), and with a program that stands in for
qkprof's `run` and gives profiles that were counted before, so that each case takes no second."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
RECORDED = os.path.join(TOP, "profiles", "emulated.json")
QKPROF = os.environ["QKPROF"]

# Gives the profile $NOW and ends as $RAN says.
STAND_IN = f"""#!{sys.executable}
import os, shutil, sys
if sys.argv[1] != "run":
    os.execv({QKPROF!r}, [{QKPROF!r}, *sys.argv[1:]])
if os.environ.get("NOW"):
    shutil.copy(os.environ["NOW"], sys.argv[sys.argv.index("--out") + 1])
print(os.environ.get("SAYS", ""), file=sys.stderr)
sys.exit(int(os.environ.get("RAN", "0")))
"""


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Gate(unittest.TestCase):
    """The script in a copy of the tree, so that it records there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qkprof-gate-")
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        for name in ("scripts/gate", "scripts/build.sh", "profiles/emulated.json"):
            os.makedirs(os.path.dirname(os.path.join(self.top, name)), exist_ok=True)
            shutil.copy(os.path.join(TOP, name), os.path.join(self.top, name))
        self.recorded = os.path.join(self.top, "profiles", "emulated.json")
        self.now = os.path.join(self.top, "now.json")
        self.stand_in = os.path.join(self.top, "stand_in")
        write(self.stand_in, STAND_IN)
        os.chmod(self.stand_in, 0o755)

    def gate(self, *arguments, program=None, **environment):
        result = subprocess.run([os.path.join(self.top, "scripts", "gate"), *arguments], check=False,
                                capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL,
                                env={**os.environ, "QKPROF": program or self.stand_in, "NOW": self.now, **environment})
        self.said = re.sub(r"(\S)\n  (?=\S)", r"\1 ", result.stdout) + result.stderr  # without the breaks in sentences
        return result.returncode

    def expect(self, *parts):
        for part in parts:
            self.assertIn(part, self.said)

    def count_the_same(self):
        """What was counted last is counted from here on, without the seconds that it takes."""
        shutil.copy(os.path.join(self.top, "build", "emulated.json"), self.now)

    def variants(self):
        """Those in the rows of the table."""
        return set(re.findall(r"^(\w+)/\S+ +\w+ ", self.said, re.M))

    def count_now(self, change=lambda line: line, file=RECORDED):
        """What is counted from here on: each line of the file, changed; without those that become empty."""
        head, *lines = content(file).splitlines()
        changed = [line for line in map(change, lines) if line]
        write(self.now, "\n".join([head, *changed]).replace(",\n]}", "\n]}") + "\n")


class Planted(Gate):
    def test_what_is_counted_is_what_is_recorded(self):
        self.assertEqual(self.gate(program=QKPROF), 0, self.said)
        self.expect("gate: passed: all counts are as recorded.")
        before = os.stat(self.recorded)
        self.assertEqual(self.gate("--accept", program=QKPROF), 0, self.said)
        self.expect("nothing differs: profiles/emulated.json stays as it is.")
        self.assertEqual(os.stat(self.recorded).st_mtime_ns, before.st_mtime_ns)

    def test_a_sector_more_fails_beside_the_declaration_that_it_contradicts(self):
        before = content(self.recorded)
        self.assertEqual(self.gate(program=os.environ["PLANTED_SECTOR"]), 1, self.said)
        self.assertRegex(self.said, r"\nfused_register/\S+ +global_load_sectors +\d+ +\d+ +\+[\d.]+% +none\n")
        self.assertRegex(self.said, r"Worse: \d+ of \d+ cells\. fused_register/")
        self.expect("declares 284160 bytes loaded and 296000 were counted", "What a variant declares is not what is counted")
        self.assertEqual(self.variants(), {"fused_register"})
        self.count_the_same()
        self.assertEqual(self.gate("--accept", RAN="1"), 1, self.said)
        self.expect("Worse: ", "--accept records nothing")
        self.assertEqual(content(self.recorded), before)

    def test_a_launch_more_fails_until_it_is_accepted_and_one_less_can_be_kept(self):
        program = os.environ["PLANTED_LAUNCH"]
        before = content(self.recorded)
        self.assertEqual(self.gate(program=program), 1, self.said)
        self.assertRegex(self.said, r"split_two_kernel/\S+/f32/cold +launches +2 +3 ")  # a row of the table
        self.expect("Worse: ", " launches 2 -> 3 (+50.0%, none allowed): worse.", "gate: If that is meant, scripts/gate --accept records it in profiles/emulated.json")
        self.assertEqual(self.variants(), {"split_two_kernel"})
        self.assertEqual(content(self.recorded), before)

        self.assertEqual(self.gate("--accept", program=program), 0, self.said)
        self.expect("launches 2 -> 3", "gate: recorded in profiles/emulated.json")
        accepted = content(self.recorded)
        differing = [name for old, new in zip(before.splitlines(), accepted.splitlines()) if old != new
                     for name in re.findall(r'^\{"name":"(\w+)', new)]
        self.assertEqual(set(differing), {"split_two_kernel"})
        self.assertEqual(stat.S_IMODE(os.stat(self.recorded).st_mode), 0o644)
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.recorded))), ["emulated.json"])
        self.count_the_same()
        self.assertEqual(self.gate(), 0, self.said)
        self.expect("gate: passed: all counts are as recorded.")

        self.count_now()
        self.assertEqual(self.gate(), 0, self.said)
        self.assertRegex(self.said, r"split_two_kernel/\S+ +launches +3 +2 +-33.3% ")
        self.expect("gate: passed: nothing is worse, but what is counted is better")
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.assertEqual(content(self.recorded), before)


class Judgement(Gate):
    def test_a_new_variant_is_guarded_before_it_passes(self):
        self.count_now()
        lines = content(self.recorded).splitlines(keepends=True)
        write(self.recorded, "".join(line for line in lines if not line.startswith('{"name":"fused_tile_bulk/')))
        self.assertEqual(self.gate(), 1, self.said)
        self.expect("gate: fused_tile_bulk/", " more is counted and not recorded.",
                    "If that is meant, scripts/gate --accept")
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.assertEqual(content(self.recorded), content(RECORDED))

    def test_a_variant_that_is_gone_fails(self):
        self.count_now(lambda line: "" if line.startswith('{"name":"fused_tile_bulk/') else line)
        self.assertEqual(self.gate(), 1, self.said)
        self.expect("fused_tile_bulk/2x37x5x64/f32/cold", "NEW does not hold it",
                    "If that is meant, scripts/gate --accept")
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.assertNotIn("fused_tile_bulk", content(self.recorded))

    def test_a_variant_that_refuses_what_it_ran_fails(self):
        self.count_now(lambda line: line.replace('"compulsory_bytes"', '"refused":"it is tired","compulsory_bytes"', 1)
                       if line.startswith('{"name":"copy/2x37x5x64/f32') else line)
        self.assertEqual(self.gate(), 1, self.said)
        self.expect("copy/2x37x5x64/f32/cold", "in NEW refused: it is tired")

    def test_a_wrong_result_is_never_accepted(self):
        wrong = '"correct":false,"error_norm":0.5,"wrong_elements":7'
        self.count_now(lambda line: re.sub(r'"correct":true,"error_norm":[^,]*,"wrong_elements":0', wrong, line)
                       if line.startswith('{"name":"copy/2x37x5x64/f32') else line)
        before = content(self.recorded)
        for arguments in ((), ("--accept",)):
            self.assertEqual(self.gate(*arguments, RAN="5", SAYS="qkprof: copy is wrong."), 5, self.said)
            self.expect("copy/2x37x5x64/f32/cold: result: wrong result", "qkprof: copy is wrong.", "mend the variant")
        self.assertEqual(self.gate("--accept"), 5, self.said)  # by the comparison alone
        self.assertEqual(content(self.recorded), before)

    def test_what_was_interrupted_is_not_accepted(self):
        self.count_now()
        before = content(self.recorded)
        for arguments in ((), ("--accept",)):
            self.assertEqual(self.gate(*arguments, RAN="3", SAYS="qkprof: Interrupted."), 3, self.said)
            self.expect("qkprof: Interrupted.", "gate: Not everything was counted")
        self.assertEqual(content(self.recorded), before)

    def test_a_run_that_fails_compares_nothing(self):
        self.count_now()
        for code in (2, 4, 139):
            self.assertEqual(self.gate("--accept", RAN=str(code), SAYS="qkprof: no."), code, self.said)
            self.expect("qkprof: no.", f"gate: qkprof run ended with {code}, and nothing was compared.")
        self.assertEqual(self.gate(NOW=""), 4, self.said)
        self.expect("gate: qkprof run ended with 0, and nothing was compared.")

    def test_where_and_when_is_not_recorded(self):
        os.remove(self.recorded)
        self.assertEqual(self.gate("--accept", program=QKPROF), 0, self.said)
        self.assertEqual(content(self.recorded), content(RECORDED))
        self.assertIn('"date":"","host_name":"",', content(self.recorded).splitlines()[0])

    def test_other_rounding_is_nothing_to_accept_and_other_facts_are(self):
        self.count_now(lambda line: re.sub(r'("error_norm":[1-9][0-9.]+)', r"\g<1>1", line))
        self.assertNotEqual(content(self.now), content(RECORDED))
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.expect("nothing differs")
        self.assertEqual(content(self.recorded), content(RECORDED))
        self.count_now(lambda line: line.replace('"grid":[24,', '"grid":[48,'))
        self.assertEqual(self.gate(), 0, self.said)
        self.expect("gate: passed: nothing is worse, but", "other beside the counts: scripts/gate --accept")
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.assertEqual(content(self.recorded), content(self.now))

    def test_a_recorded_file_that_is_none(self):
        self.count_now()
        write(self.recorded, "<<<<<<< a conflict of a merge\n")
        self.assertEqual(self.gate(), 2, self.said)
        self.expect("profiles/emulated.json is not JSON", "gate: Nothing could be compared. scripts/gate --accept")
        self.assertEqual(self.gate("--accept"), 0, self.said)
        self.assertEqual(content(self.recorded), content(RECORDED))
        os.remove(self.recorded)
        self.assertEqual(self.gate(), 2, self.said)
        self.expect("gate: There is no profiles/emulated.json.", "scripts/gate --accept")


class Usage(Gate):
    def test_other_arguments_are_refused(self):
        for arguments in (("--acept",), ("--accept", "all"), ("",)):
            self.assertEqual(self.gate(*arguments), 2)
            self.assertEqual(self.said, f"gate: '{arguments[-1]}' is not expected: it takes --accept, or nothing "
                                        "(scripts/gate --help).\n")

    def test_help(self):
        self.assertEqual(self.gate("--help"), 0)
        self.expect("scripts/gate --accept   shows what differs", "5 a wrong result.")
        self.assertNotIn("set -e", self.said)

    def test_a_program_that_is_none(self):
        self.assertEqual(self.gate(program="/nowhere/qkprof"), 2)
        self.expect("gate: QKPROF is '/nowhere/qkprof', and that is no program.")


if __name__ == "__main__":
    unittest.main()
