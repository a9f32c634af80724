"""What `qkprof hlo` says of a module that XLA wrote: how many fusions, custom calls and other kernels it promises, and,
beside an exec profile, how many kernels each of these was in a call."""

import json
import subprocess

# What an entry tells of the classes of qkprof's totals; copies outside the fusions are unfused like other kernels there.
CLASSES = {"fusions": "hlo_fusions", "custom_calls": "hlo_custom_calls", "unfused": "hlo_unfused"}
PARTS = {"unfused": ("unfused", "transfers")}
MAY_COPY = ("custom_calls", "libraries", "collectives", "control")  # besides the copies outside the fusions


def total(totals, name, key):
    """None where a part that has instructions is unknown."""
    parts = [totals[part] for part in PARTS.get(name, (name,))]
    numbers = [part.get(key) for part in parts if part["instructions"] > 0 or part.get(key)]
    return None if None in numbers else sum(numbers)


def launched(answer, name):
    """Of a class, in a call: the kernels, and of what is unfused the copies and fills too. None where that is unknown."""
    kernels = total(answer["totals"], name, "observed")
    copies = answer["observed"]["transfers"] if name == "unfused" and answer.get("observed") else 0
    if copies and any(answer["totals"].get(part, {}).get("instructions") for part in MAY_COPY):
        return None
    return None if None in (kernels, copies) else kernels + copies


def launches_name(name):
    return f"{name[:-1] if name.endswith('s') else name}_launches"


def totals_of(qkprof, path, *more):
    """The totals, and why there are none: one of the two."""
    try:
        done = subprocess.run([qkprof, "hlo", path, "--format", "json", *more], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        answer = json.loads(done.stdout)
        return {name: {"instructions": total(answer["totals"], name, "instructions"), "observed": launched(answer, name)}
                for name in CLASSES}, ""
    except OSError as error:
        return None, f"qkprof hlo could not be run: {error.strerror}"
    except (ValueError, KeyError, TypeError) as error:
        said = done.stderr.strip().splitlines()
        return None, f"qkprof hlo did not read it: {said[-1] if said else error}".rstrip(".")


def counters(qkprof, path, exec_profile, range_name):
    """Of an entry, for each class of instructions: how many there are, and how many launches they were in a call of the
    range; each a number, or None with the reason. Without a range there are no launches."""
    promised, reason = totals_of(qkprof, path)
    observed, unseen = None, "the calls were not recorded"
    if range_name is not None:
        observed, unseen = totals_of(qkprof, path, "--observed", exec_profile, "--range", f"qkprof@{range_name}")
    values = {}
    for key, name in CLASSES.items():
        values[name] = (promised[key].get("instructions") if promised else None, reason)
        values[launches_name(name)] = (observed[key].get("observed") if observed else None,
                                       unseen or "qkprof hlo could not tell which kernels of the call these were")
    return values
