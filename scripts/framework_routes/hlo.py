"""What `qkprof hlo` says of a module that XLA wrote: how many fusions, custom calls and other kernels it promises, and,
beside an exec profile, how many kernels each of these was in a call."""

import json
import subprocess

# The classes of qkprof's totals, and what they are called in an entry.
CLASSES = {"fusions": "hlo_fusions", "custom_calls": "hlo_custom_calls", "unfused": "hlo_unfused"}


def launches_name(name):
    return f"{name[:-1] if name.endswith('s') else name}_launches"


def totals_of(qkprof, path, exec_profile=None, range_name=None):
    """The totals, and why there are none: one of the two."""
    command = [qkprof, "hlo", path, "--format", "json"]
    if exec_profile is not None:
        command += ["--observed", exec_profile, "--range", f"qkprof@{range_name}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        totals = json.loads(done.stdout)["totals"]
        return {name: totals[name] for name in CLASSES}, ""
    except (ValueError, KeyError, TypeError, OSError) as error:
        said = done.stderr.strip().splitlines() if not isinstance(error, OSError) else [str(error)]
        return None, f"qkprof hlo did not read it: {said[-1] if said else error}"


def counters(totals, reason):
    """Of an entry: a number, or None with the reason."""
    values = {}
    for key, name in CLASSES.items():
        count = totals[key].get("instructions") if totals else None
        observed = totals[key].get("observed") if totals else None
        values[name] = (count, reason)
        values[launches_name(name)] = (observed, reason or "qkprof hlo could not tell which kernels of the call these were")
    return values
