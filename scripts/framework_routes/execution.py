"""Runs the child of a route, under `qkprof exec` and once more for the memory traffic, and reads what they left behind."""

import json
import os
import signal
import subprocess

import script

SCHEMA = 1  # of the exec profiles that are understood
CALL = ("launches", "transfers", "submissions", "busy_seconds", "span_seconds", "host_seconds")  # a call of a range


class Execution:
    """Of one route: what the child said, the ranges that exec saw, and why what is missing is missing."""

    def __init__(self, said, ranges, reason):
        self.versions = said.get("versions", {})
        self.records = {record["problem"]: record for record in said.get("problems", [])}
        self.failure = said.get("failure", "")
        self.ranges = ranges  # by name, those of qkprof's domain
        self.reason = reason  # why the child or exec said no more; empty: both ended well

    def not_run(self, text):
        """Why the route did not run a problem, a clause; empty where it did."""
        if text in self.records:
            return self.records[text].get("failure", "")
        return self.failure or self.reason or "its process ended without a word of it"


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            loaded = json.load(file)
        return loaded if isinstance(loaded, dict) else {}
    except (OSError, ValueError):
        return {}


def end_of(code, log):
    """How a process ended, with the last that it said."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("qkprof: ")]
    name = ""
    if code < 0 or code > 128:
        number = -code if code < 0 else code - 128
        name = signal.Signals(number).name if number in signal.valid_signals() else ""
    how = f"was ended by {name}" if name else f"ended with exit code {code}"
    return f"its process {how}" + (f", after: {lines[-1][:300]}" if lines else "")


def why_no_exec(code, log):
    """Why qkprof exec wrote no profile: the last that it said itself."""
    said = [line.removeprefix("qkprof: ").strip() for line in log.splitlines() if line.startswith("qkprof: ")]
    return f"qkprof exec: {said[-1]}" if said else end_of(code, log)


def call(command, log, seconds):
    """The exit code, and all that the command wrote; None for one that took too long, which is ended with all that it
    started."""
    path = [os.path.join(script.TOP, "scripts"), *filter(None, [os.environ.get("PYTHONPATH")])]
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                                   start_new_session=True)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        return code, file.read()


def ranges_of(profile):
    """By name. Empty, with the reason, for what is no exec profile that is understood."""
    if profile.get("exec_schema") != SCHEMA or not isinstance(profile.get("ranges"), list):
        return {}, "qkprof exec wrote no profile of its calls"
    ranges = {}
    for row in profile["ranges"]:
        if row["domain"] == "qkprof" and not row["inside"]:
            ranges[row["name"]] = {**row, "first_calls": [dict(zip(CALL, call)) for call in row["first_calls"]]}
    # The processes that had work, or tried to: what kept the recording from them explains an absent range.
    failures = [process["failure"] for process in profile.get("processes", []) if process.get("failure")]
    return ranges, failures[0] if failures and not ranges else ""


def child_command(own, route, texts, out):
    return [own.python, "-B", "-m", "framework_routes.child", "--route", route.name, "--problems", ",".join(texts),
            "--hlo-dir", own.hlo_dir, "--ffi", os.path.join(own.build_dir, "libqkprof_ffi.so"), "--out", out]


def measuring(own, device):
    """What the child needs where it measures."""
    return ["--states", own.states, "--seed", str(own.seed), "--eviction",
            os.path.join(own.build_dir, "libqkprof_eviction.so"), "--evicted-bytes", str(2 * device["l2_bytes"])]


def run_route(own, route, texts, device, folder):
    """In the folder, which is this process's own; on the device that the profile names."""
    said, exec_profile = os.path.join(folder, f"{route.name}.json"), os.path.join(folder, f"{route.name}.exec.json")
    command = [own.qkprof, "exec", "--out", exec_profile, "--quiet", "--",
               *child_command(own, route, texts, said), *measuring(own, device), "--calls", str(own.samples),
               "--gpu", str(device.get("facts", {}).get("uuid", "")), "--ranges",
               os.path.join(own.build_dir, "libqkprof_ranges.so")]
    code, log = call(command, os.path.join(folder, f"{route.name}.log"), own.timeout)
    profile = load(exec_profile)
    reason = f"it took longer than {own.timeout} s" if code is None else ""
    if code:
        reason = end_of(code, log) if "exec_schema" in profile else why_no_exec(code, log)
    ranges, absent = ranges_of(profile)
    executed = Execution(load(said), ranges, reason or absent)
    add_traffic(own, route, executed, device, folder)
    return executed, exec_profile


def add_traffic(own, route, executed, device, folder):
    """To the records of what ran: the passes of the counters are none of the times, nor under exec."""
    forms = {text: record.get("form", {}) for text, record in executed.records.items() if record.get("states")}
    if not forms:
        return
    said = os.path.join(folder, f"{route.name}.traffic.json")
    command = [*child_command(own, route, list(forms), said), *measuring(own, device), "--forms", json.dumps(forms),
               "--traffic", os.path.join(own.build_dir, "libqkprof_traffic.so")]
    code, log = call(command, os.path.join(folder, f"{route.name}.traffic.log"), own.timeout)
    reason = f"counting it took longer than {own.timeout} s" if code is None else end_of(code, log) if code else ""
    counted = Execution(load(said), {}, reason)
    for text in forms:
        found = counted.records.get(text, {})
        executed.records[text]["traffic"] = found.get("traffic", {})
        executed.records[text]["traffic_failures"] = {
            **dict.fromkeys(own.states.split(","), counted.not_run(text) or reason), **found.get("traffic_failures", {})}


def compile_route(own, route, texts, folder):
    """Its HLO alone, without exec and without a GPU."""
    said = os.path.join(folder, f"{route.name}.json")
    command = [*child_command(own, route, texts, said), "--hlo-only"]
    code, log = call(command, os.path.join(folder, f"{route.name}.log"), own.timeout)
    reason = f"it took longer than {own.timeout} s" if code is None else end_of(code, log) if code != 0 else ""
    return Execution(load(said), {}, reason)
