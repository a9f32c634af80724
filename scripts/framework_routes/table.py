"""The routes side by side: for each problem a table of all that ran it, native variants too, and what did not."""

import statistics

from .hlo import CLASSES, launches_name
from .routes import route_of

UNKNOWN = "-"
TITLES = ["route", "state", ">launches", ">fusions", ">custom calls", ">unfused", ">time us", ">of ceiling", ">GB/s",
          ">DRAM", ">L2", ">error", "timer"]


def measurements(entries):
    """One for each name: its first entry with all times, in microseconds."""
    found = {}
    for entry in entries:
        first, times = found.setdefault(entry["name"], (entry, []))
        if entry.get("real_time") is not None and not entry.get("throttled"):
            times.append(entry["real_time"] * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[entry["time_unit"]])
    return list(found.values())


def problem_of(entry):
    # What stands between the variant and the state names the problem, its form included.
    return "/".join(entry["name"].split("/")[1:]).rsplit(f"/{entry['state']}", 1)[0]


def median(times):
    return statistics.median(times) if times else None


class Ceilings:
    """The shortest median of a ceiling, by problem, state and timer: those of two timers are never compared."""

    def __init__(self, found):
        self._times = {}
        for entry, times in found:
            if entry["family"] == "ceiling" and times:
                key = self._key(entry)
                self._times[key] = min(median(times), self._times.get(key, float("inf")))

    @staticmethod
    def _key(entry):
        return problem_of(entry), entry["state"], entry["timer"]

    def fraction(self, entry, times):
        ceiling = self._times.get(self._key(entry)) if times else None
        return None if ceiling is None else ceiling / median(times)


def number(value, digits):
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def whole(value):
    return UNKNOWN if value is None else f"{value:g}"


def hlo_cells(entry):
    """"1 -> 2": one instruction that was two kernels."""
    cells = []
    for name in CLASSES.values():
        promised, launched = entry.get(name), entry.get(launches_name(name))
        cells.append(whole(promised) if launched in (None, promised) else f"{whole(promised)} -> {whole(launched)}")
    return cells


def traffic_cells(entry):
    """Bytes over those that must move, through the DRAM and the L2."""
    cells = []
    for names, unit in ((("dram_read_bytes", "dram_write_bytes"), 1), (("l2_read_sectors", "l2_write_sectors"), 32)):
        counts = [entry.get(name) for name in names]
        cells.append(UNKNOWN if None in counts else f"{sum(counts) * unit / entry['compulsory_bytes']:.2f}x")
    return cells


def label_of(entry):
    return " ".join([entry["variant"], *(f"{name}={entry['parameters'][name]}" for name in entry["non_standard"])])


def row_of(entry, times, ceilings):
    fraction = ceilings.fraction(entry, times)
    time = median(times)
    return [label_of(entry), entry["state"], whole(entry.get("launches")), *hlo_cells(entry), number(time, 2),
            UNKNOWN if fraction is None else f"{100 * fraction:.1f} %",
            number(entry["compulsory_bytes"] / time / 1e3 if time else None, 0), *traffic_cells(entry),
            ("" if entry["correct"] else "WRONG ")
            + (UNKNOWN if entry["error_norm"] is None else f"{entry['error_norm']:.1e}"),
            entry.get("timer", UNKNOWN)]


def split_notes(found):
    """Where torch.compile made more kernels of the operation than XLA did."""
    launches = {(entry["variant"], problem_of(entry), entry["state"]): entry.get("launches") for entry, _ in found}
    notes = {}
    for (variant, problem, state), count in launches.items():
        xla = launches.get(("jax_xla", problem, state))
        if variant == "torch_compile" and count is not None and xla is not None and count > xla:
            note = f"torch.compile makes {whole(count)} kernels a call where XLA makes {whole(xla)}"
            notes.setdefault(note, {})[problem] = 0
    return [f"{note}: {', '.join(of)}." for note, of in notes.items()]


def buffer_notes(found):
    """Warm is the same memory again: where a framework's allocator gave other memory to the results, that is said."""
    return [f"{entry['name']}: its results went to {entry['result_buffers']} buffers in turn, so what is warm is the inputs."
            for entry, _ in found if entry["state"] == "warm" and entry.get("result_buffers", 1) > 1]


def lines_of(rows, markdown):
    titles = [title.lstrip(">") for title in TITLES]
    right = [title.startswith(">") for title in TITLES]
    if markdown:
        def line(cells):
            return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
        return [line(titles), "|" + "|".join("--:" if to_right else "---" for to_right in right) + "|", *map(line, rows)]
    widths = [max(len(row[i]) for row in [titles, *rows]) for i in range(len(titles))]
    return ["  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                      for cell, width, to_right in zip(row, widths, right)).rstrip() for row in [titles, *rows]]


def render(entries, markdown=False):
    found = measurements(entries)
    ceilings = Ceilings(found)
    parts = []
    for problem in dict.fromkeys(problem_of(entry) for entry, _ in found if route_of(entry["variant"])):
        of_it = sorted(((entry, times) for entry, times in found if problem_of(entry) == problem),
                       key=lambda pair: pair[0]["state"])
        rows = [row_of(entry, times, ceilings) for entry, times in of_it
                if not entry.get("not_run") and not entry.get("refused")]
        megabytes = of_it[0][0]["compulsory_bytes"] / 1e6
        title = f"{problem}: {megabytes:.2f} MB must move"
        lines = [f"**{title}**", ""] if markdown else [title]
        if rows:
            lines += lines_of(rows, markdown)
        absent = {}
        for entry, times in of_it:
            reason = entry.get("not_run") or entry.get("refused")
            if reason is None and not times:
                reason = f"no time: {entry['real_time_reason']}"
            if reason:
                absent.setdefault((label_of(entry), reason), []).append(entry["state"])
        if markdown and absent:
            lines.append("")
        for (variant, reason), states in absent.items():
            what = reason if reason.startswith("no time: ") else f"not run: {reason}"
            lines.append(("- " if markdown else "") + f"{variant} ({', '.join(states)}): {what}.")
        parts.append("\n".join(lines))
    notes = split_notes(found) + buffer_notes(found)
    return "\n\n".join(parts + (["\n".join(notes)] if notes else [])) + "\n"
