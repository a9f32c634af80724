"""Reads profiles of `qkprof run --out` (Google Benchmark's JSON, an entry a repetition) as measurements.

What is unknown stays unknown: a Number without a value has the reason.
"""

import json
import statistics
from dataclasses import dataclass, field

from script import Failure

SCHEMA = 1
ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2}
UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Number:
    value: float | None
    source: str = "counted"
    reason: str = ""

    @property
    def modelled(self):
        return self.source == "modelled"

    @property
    def mark(self):
        return "~" if self.modelled else ""


@dataclass
class Measurement:
    """A variant on a problem in a cache state."""

    entry: dict  # the first repetition, which has the facts
    source: str  # the file it is from
    seconds: list = field(default_factory=list)
    throttled: list = field(default_factory=list)  # the seconds of samples that heat or power held back

    def __post_init__(self):
        e = self.entry
        self.variant, self.family, self.dtype, self.state = e["variant"], e["family"], e["dtype"], e["state"]
        end = f"/{self.dtype}/{self.state}"
        self.problem = e["name"][len(self.variant) + 1:e["name"].index(end)].replace("/", " ")
        self.compulsory_bytes = e["compulsory_bytes"]
        tensor = (e["batch"] * e["sequence"] * (e["heads"] + e.get("key_heads", 0)) * e["head_dim"]
                  * ELEMENT_BYTES[self.dtype])
        self.moved = 2 * tensor  # query and key, read and written
        self.working_set = self.compulsory_bytes - (tensor if e.get("in_place") else 0)
        # What problems of different sizes have in common: all but batch and sequence.
        shape, *form = self.problem.split(" ")
        self.series = " ".join([shape.split("x", 2)[2], *form])
        self.first_form = not form
        self.standard = not e["non_standard"]
        self.empty = tensor == 0
        self.timer = e.get("timer")

    @property
    def place(self):
        return f"{self.problem} {self.dtype} {self.state}"

    @property
    def fault(self):
        """Why there is nothing to show of it; empty where there is."""
        if self.entry.get("refused"):
            return f"refused: {self.entry['refused']}"
        if self.entry.get("not_run"):
            return f"not run: {self.entry['not_run']}"
        if not self.entry.get("correct", False):
            return self.entry.get("error_message") or "the result is wrong"
        return "the problem is empty: there is nothing to move" if self.empty else ""

    def number(self, name):
        if name not in self.entry:
            return Number(None, reason="the profile does not hold it")
        value = self.entry[name]
        if value is None:
            return Number(None, reason=self.entry.get(name + "_reason", "the profile does not say why"))
        return Number(value, self.entry.get(name + "_source", "counted"))

    @property
    def time(self):
        if self.seconds:
            return Number(statistics.median(self.seconds))
        return Number(None, reason=self.entry.get("real_time_reason") or "every sample was throttled")

    @property
    def throughput(self):
        """Bytes per second of what the operation must move, not of what was moved."""
        time = self.time
        return Number(self.compulsory_bytes / time.value) if time.value else time


@dataclass
class Profiles:
    context: dict  # of the first; all are of one device
    contexts: list
    paths: list
    measurements: list

    @property
    def l2_bytes(self):
        return self.context["device"]["l2_bytes"]

    def shown(self):
        """Right results with standard parameters: what is drawn."""
        return [m for m in self.measurements if m.standard and not m.fault]

    def timers(self):
        """By which what is drawn was timed, in the order of the profiles: times of two are never compared."""
        return list(dict.fromkeys(m.timer for m in self.shown() if m.seconds))

    def timer_of_copies(self, path):
        """By which the ceilings of the profile were timed: those of `qkprof run`, so of its own copy. None: unknown."""
        return next((m.timer for m in self.measurements if m.source == path and m.variant == "copy" and m.seconds), None)

    def ceiling(self, level, timer=None):
        """The best rate of a copy through the level in bytes per second, of all the profiles; of those by the timer, where
        one is named."""
        key = f"{level}_bytes_per_second"
        contexts = [c for path, c in zip(self.paths, self.contexts)
                    if timer is None or self.timer_of_copies(path) in (None, timer)]
        if not contexts:
            return Number(None, reason="no copy through it was timed so")
        rates = [c["ceilings"][key] for c in contexts if c.get("ceilings", {}).get(key)]
        if rates:
            return Number(max(rates))
        reasons = [c["ceilings"].get(key + "_reason", "") for c in contexts if "ceilings" in c]
        return Number(None, reason=next(filter(None, reasons), "the profile does not hold it"))

    def copy_fraction(self, m):
        """Of the fastest ceiling's rate on its problem, by its own timer, where the profile does not say it itself."""
        if "copy_fraction" in m.entry or not m.seconds:
            return m.number("copy_fraction")
        times = [of.time.value for of in self.shown() if of.family == "ceiling" and of.seconds
                 and (of.problem, of.dtype, of.state, of.timer) == (m.problem, m.dtype, m.state, m.timer)]
        return Number(min(times) / m.time.value) if times else Number(None, reason="no copy was timed so")


def read_one(path):
    try:
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)
    except (ValueError, RecursionError) as error:
        raise Failure(2, f"{path} is no profile of qkprof: it is not JSON ({error}).") from error
    try:
        context, entries = profile["context"], profile["benchmarks"]
        if context["schema_version"] != SCHEMA:
            raise Failure(2, f"{path} has version {context['schema_version']} of the schema, and this reads {SCHEMA}.")
        device = context["device"]
        float(device["l2_bytes"])
        (device["description"], device["has_clock"], device["backend"], context["date"], entries[:0])
    except (KeyError, TypeError, ValueError) as error:
        raise Failure(2, f"{path} is no profile of qkprof: its context or its benchmarks are missing ({error}).") from error
    by_name = {}
    for index, entry in enumerate(entries):
        try:
            measurement = by_name.setdefault(entry["name"], None) or Measurement(entry, path)
            by_name[entry["name"]] = measurement
            if entry["real_time"] is not None:
                samples = measurement.throttled if entry.get("throttled") else measurement.seconds
                samples.append(entry["real_time"] * UNIT_SECONDS[entry["time_unit"]])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Failure(2, f"{path} is no profile of qkprof: entry {index + 1} of its benchmarks lacks something or has "
                             f"it wrong ({error}).") from error
    if not by_name:
        raise Failure(2, f"{path} holds no measurement: there is nothing to report.")
    return context, list(by_name.values())


def read(paths):
    contexts, measurements, seen = [], [], {}
    for path in paths:
        context, more = read_one(path)
        device, first = context["device"], (contexts or [context])[0]["device"]
        if (device["description"], device["l2_bytes"]) != (first["description"], first["l2_bytes"]):
            raise Failure(2, f"{paths[0]} and {path} are of different devices ({first['description']} and "
                             f"{device['description']}): give profiles of one.")
        for m in more:
            if m.entry["name"] in seen:
                raise Failure(2, f"{seen[m.entry['name']]} and {path} both hold {m.entry['name']}: give one profile of "
                                 "each measurement.")
            seen[m.entry["name"]] = path
        contexts.append(context)
        measurements += more
    return Profiles(contexts[0], contexts, list(paths), measurements)


# --- how numbers are written, as qkprof writes them

def in_units(value, step, units, digits):
    unit = 0
    while value >= 999.5 and unit + 1 < len(units):  # 999.5 would be shown as 1000
        value /= step
        unit += 1
    before = len(f"{value:.0f}") if value >= 1 else 1
    return f"{value:.{max(0, digits - before)}f} {units[unit]}"


def format_bytes(value):
    return f"{value:g} B" if value < 1024 else in_units(value / 1024, 1024, ["KiB", "MiB", "GiB", "TiB", "PiB"], 3)


def format_time(seconds):
    return in_units(seconds * 1e9, 1000, ["ns", "us", "ms", "s"], 4)


def format_rate(bytes_per_second):
    return f"{bytes_per_second / 1e9:,.0f} GB/s"
