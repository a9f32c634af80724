"""The verdicts of `qkprof claims` on the profiles, as tables to read.

Judging is the program's alone: without it there are no verdicts, and the page says so.
"""

import json
import os
import subprocess
from dataclasses import dataclass, field

from script import Failure

from .reader import format_bytes
from .table import Table

# The exit codes with which it has judged: all supported, one refuted, one undecided, a wrong result in a profile.
JUDGED = (0, 1, 3, 5)
SIGNS = {"supported": "✓", "refuted": "✗", "undecided": "?"}


@dataclass
class Verdict:
    id: str
    verdict: str
    statement: str
    source: str
    test: str
    summary: str
    measured: str
    controls: list
    control_summary: str
    reasons: list
    failures: list
    table: Table = field(default=None)

    @property
    def sign(self):
        return SIGNS[self.verdict]


@dataclass
class Judgement:
    verdicts: list
    missing: str = ""  # why there are none
    warnings: list = field(default_factory=list)

    def count(self, verdict):
        return sum(v.verdict == verdict for v in self.verdicts)


def judge(program, paths):
    if not os.access(program, os.X_OK):
        return Judgement([], f"The claims were not judged: the program {program} is not built here (scripts/run builds "
                             "it). What follows is the profile alone.")
    command = [program, "claims", "--format", "json"]
    for path in paths:
        command += ["--profile", path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    said = result.stderr.strip()
    if result.returncode not in JUDGED:
        raise Failure(2 if result.returncode == 2 else 4,
                      f"{program} claims ended with code {result.returncode}: {said.splitlines()[-1] if said else ''}")
    try:
        return Judgement([verdict_of(claim) for claim in json.loads(result.stdout)["claims"]],
                         warnings=[line.removeprefix("qkprof: ") for line in said.splitlines()])
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(4, f"{program} claims wrote what this does not understand ({error}): are both of one version?") \
            from error


def verdict_of(claim):
    evidence, controls = claim["evidence"], claim["controls"]
    return Verdict(
        id=claim["id"], verdict=claim["verdict"], statement=claim["statement"], source=claim["source"],
        test=test_text(evidence), summary=summary_of(evidence), measured=measured_text(evidence, controls),
        controls=[test_text(control) for control in controls],
        control_summary=control_summary(controls), reasons=claim["reasons"], failures=failures_of(evidence),
        table=evidence_table(evidence, controls))


def test_text(test):
    must_fail = " must fail" if test["must_fail"] else ""
    where = f", where {test['where']}" if test["where"] else ""
    return f"{test['measure']} {test['relation']}{must_fail} for {', '.join(test['subjects'])}{where}"


def counted(items, unit):
    counts = [(sum(item["outcome"] == outcome for item in items), outcome) for outcome in ("holds", "fails", "undecided")]
    if not items:
        return "no evidence"
    return ", ".join(f"{outcome} in {count}" for count, outcome in counts if count) + f" of {len(items)} {unit}"


def summary_of(evidence):
    if "series" in evidence:
        return counted(evidence["series"], "series of sizes")
    return counted(evidence["cells"], "cells")


def control_summary(controls):
    cells = [cell for control in controls for cell in control["cells"]]
    if not cells:
        return "no evidence"
    return f"bites in {sum(cell['outcome'] == 'bites' for cell in cells)} of {len(cells)}"


def measured_text(evidence, controls):
    """The least and the greatest value of the claim's measure, and those of each control."""
    def span(cells):
        values = [cell["value"] for cell in cells if cell["value"] is not None]
        if not values:
            return "unknown"
        least, most = f"{min(values):.4g}", f"{max(values):.4g}"
        return least if least == most else f"{least} to {most}"
    found = sorted(filter(None, (s["crossing_bytes"] for s in evidence.get("series", []))))
    if all(cell["value"] is None for part in (evidence, *controls) for cell in part["cells"]):
        return "nothing is known of it"
    text = f"measured {span(evidence['cells'])}"
    if found:
        text += f", turns at {' to '.join(dict.fromkeys(format_bytes(size) for size in (found[0], found[-1])))}"
    return text + f"; control: {', '.join(dict.fromkeys(span(control['cells']) for control in controls))}"


def failures_of(evidence):
    """In which cells it fails: of each subject, type and state the problems."""
    if "series" in evidence:
        return [f"{s['variant']} {s['dtype']} {s['state']}: {s['reason']}" for s in evidence["series"]
                if s["outcome"] == "fails"]
    failures = {}
    for cell in evidence["cells"]:
        if cell["outcome"] == "fails":
            key = f"{cell['variant']} {cell['dtype']} {cell['state']}"
            failures.setdefault(key, []).append(cell["shape"].replace("/", " "))
    return [f"{key}: {', '.join(shapes)}" for key, shapes in failures.items()]


def evidence_table(evidence, controls):
    table = Table(["of", "subject", "outcome", ">cells", ">value", "99 % interval", "in"])
    if "series" in evidence:
        table.rows += [series_row(series) for series in evidence["series"]]
    else:
        table.rows += cell_rows(evidence["cells"], "claim")
    for control in controls:
        table.rows += cell_rows(control["cells"], "control")
    return table


def cell_rows(cells, part):
    """Of each subject and outcome two rows: the least and the greatest value."""
    groups = {}
    for cell in cells:
        groups.setdefault((cell["variant"], cell["outcome"]), []).append(cell)
    for (variant, outcome), group in sorted(groups.items()):
        known = sorted((cell for cell in group if cell["value"] is not None), key=lambda cell: cell["value"])
        head = [part, variant, outcome, str(len(group))]
        if not known:
            yield [*head, "unknown", "", group[0].get("reason", "")]
            continue
        least, most = known[0], known[-1]
        everywhere = least is not most and least["value"] == most["value"]
        yield [*head, f"{least['value']:.4g}", interval_text(least), "each of them" if everywhere else place_of(least)]
        if least["value"] != most["value"]:
            yield ["", "", "", "", f"{most['value']:.4g}", interval_text(most), place_of(most)]


def interval_text(cell):
    return "{:.4g} to {:.4g}".format(*cell["interval"]) if "interval" in cell else ""


def place_of(cell):
    return f"{cell['shape'].replace('/', ' ')} {cell['dtype']} {cell['state']}"


def series_row(series):
    def size(name):
        return format_bytes(series[name]) if series[name] is not None else "unknown"
    known = series["holds_up_to_bytes"] is not None or series["fails_from_bytes"] is not None
    return ["claim", series["variant"], series["outcome"], "sizes",
            f"{size('holds_up_to_bytes')} to {size('fails_from_bytes')}" if known else "unknown",
            f"at {size('crossing_bytes')}" if series["crossing_bytes"] is not None else "",
            f"{series['dtype']} {series['state']}"]
