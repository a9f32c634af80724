"""Profiles of `qkprof run` as files: read, with framework entries behind their own, and written whole or not at all."""

import json

import script

from . import problems
from .hlo import CLASSES, launches_name

SCHEMA = 1
# What makes a problem another than the plain form: an entry has these only then.
OTHER_FORMS = ("key_heads", "layout", "row_padding", "in_place", "pairing", "rotary_dim", "positions", "context",
               "table_dtype", "gamma_dtype", "gemma", "values")


NUMBER, WHOLE, TEXT = (int, float), int, str
# What is used of the first entry of a measurement, and what it is.
FACTS = {"variant": TEXT, "family": TEXT, "state": TEXT, "dtype": TEXT, "batch": WHOLE, "sequence": WHOLE, "heads": WHOLE,
         "head_dim": WHOLE, "offset": NUMBER, "eps": NUMBER, "rotary_base": NUMBER, "seed": WHOLE, "parameters": dict,
         "non_standard": list, "compulsory_bytes": NUMBER}
# What an entry may have or not know.
NUMBERS = ["error_norm", "launches", "result_buffers", "dram_read_bytes", "dram_write_bytes", "l2_read_sectors",
           "l2_write_sectors", *CLASSES.values(), *map(launches_name, CLASSES.values())]


def is_a(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool)


def fault_of_entry(entry, first):
    """What is wrong with it, a clause; empty where nothing is."""
    if not isinstance(entry, dict) or not is_a(entry.get("name"), TEXT):
        return "it has no name"
    if first:
        wrong = [name for name, kind in FACTS.items() if not is_a(entry.get(name), kind)]
        if wrong:
            return f"its {wrong[0]} is missing or is none"
        if not all(isinstance(name, str) and name in entry["parameters"] for name in entry["non_standard"]):
            return "its non_standard names what is none of its parameters"
        wrong = [name for name in NUMBERS if entry.get(name) is not None and not is_a(entry[name], NUMBER)]
        if wrong:
            return f"its {wrong[0]} is no number"
        wrong = [name for name in ("not_run", "refused") if name in entry and not is_a(entry[name], TEXT)]
        if wrong:
            return f"its {wrong[0]} is no text"
        if not entry.get("not_run") and not entry.get("refused"):
            wrong = [name for name in ("correct", "error_norm") if name not in entry]
            if wrong:
                return f"its {wrong[0]} is missing"
    if entry.get("real_time") is None:
        return "" if is_a(entry.get("real_time_reason"), TEXT) or not first else "it has neither a time nor a real_time_reason"
    if not is_a(entry["real_time"], NUMBER) or entry["real_time"] <= 0 or \
            entry.get("time_unit") not in ("ns", "us", "ms", "s"):
        return "its real_time or its time_unit is no time"
    return "" if not first or is_a(entry.get("timer"), TEXT) else "its timer is missing"


def fault_of_context(context):
    if not isinstance(context, dict) or "schema_version" not in context:
        return "it has no context with a schema_version"
    if context["schema_version"] != SCHEMA:
        return f"its schema_version is {context['schema_version']}, and {SCHEMA} is understood"
    device = context.get("device")
    if not isinstance(device, dict) or not is_a(device.get("l2_bytes"), WHOLE):
        return "its context has no device with its l2_bytes"
    if not all(isinstance(of.get(name, {}), dict) for of, name in ((device, "facts"), (context, "frameworks"))):
        return "the facts of its device, or its frameworks, are no object"
    return ""


def fault_of(profile):
    """Why it is no profile of qkprof, a clause; empty where it is one."""
    if not isinstance(profile, dict) or not isinstance(profile.get("benchmarks"), list):
        return "it has no list of benchmarks"
    fault, seen = fault_of_context(profile.get("context")), set()
    for index, entry in enumerate([] if fault else profile["benchmarks"]):
        name = entry.get("name") if isinstance(entry, dict) else None
        fault = fault_of_entry(entry, isinstance(name, str) and name not in seen)
        if fault:
            return f"entry {index + 1} of its benchmarks: {fault}"
        seen.add(name)
    return fault


def no_number(text):
    raise ValueError(f"{text} is no number of JSON")


def read(path):
    with open(path, encoding="utf-8") as file:
        try:
            profile = json.load(file, parse_constant=no_number)
        except (ValueError, RecursionError) as error:
            raise script.Failure(2, f"{path} is not JSON, so no profile: {error}.") from error
    fault = fault_of(profile)
    if fault:
        raise script.Failure(2, f"{path} is no profile of qkprof: {fault}.")
    return profile


def merged(old, made):
    """The entries with those that were made in the place of older ones of the same measurement. What was not run replaces
    nothing that was: the older entries are kept, and the second result has the reason by their names."""
    had = {entry["name"] for entry in old if "variant" in entry and "not_run" not in entry}
    kept = {entry["name"]: entry["not_run"] for entry in made if "not_run" in entry and entry["name"] in had}
    gone = {entry["name"] for entry in made} - set(kept)
    return [entry for entry in old if entry["name"] not in gone] + \
        [entry for entry in made if entry["name"] not in kept], kept


def plain_problems(profile):
    """Of the measurements, each once, in their order: those in the plain form with the standard numbers."""
    found = {}
    for entry in profile["benchmarks"]:
        if "batch" in entry and not any(key in entry for key in OTHER_FORMS) and entry["offset"] == 0 and \
                entry["eps"] == 1e-6 and entry["rotary_base"] == 10000:
            shape = "x".join(str(entry[key]) for key in ("batch", "sequence", "heads", "head_dim"))
            problem = problems.parse(f"{shape}/{entry['dtype']}")
            if problem:
                found.setdefault(problem, entry["seed"])
    return found


def text_of(profile):
    """An entry a line, as the program writes them."""
    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    entries = ",\n".join(map(line, profile["benchmarks"]))
    return f'{{"context": {line(profile["context"])},\n"benchmarks": [\n{entries}\n]}}\n'


def write(path, text):
    """The whole file or none: under another name first."""
    try:
        script.write_whole(path, text)
    except OSError as error:  # which would name the other
        raise script.Failure(2, f"{path} cannot be written: {error.strerror}.") from error
