"""The best variant at each size, beside the copy: which one it is, the plot, and the rows of the table.

Best has the least median of the right results with standard parameters. Where a profile holds fused_best with
programmatic launch turned off (an entry .../programmatic:0), the best without it is found too: among what was not
launched so, that entry included."""

import math
from dataclasses import dataclass

from . import palette
from .drawing import NAMES, ROW, WIDTH, Panel, grid, ticks
from .plots import GIGA, faint, nice_steps, short, short_bytes
from .reader import format_bytes, format_time

PROGRAMMATIC = "programmatic"


@dataclass
class Size:
    """One problem."""

    problem: str
    moved: int  # q and key read and written
    copy: object = None  # the fastest ceiling that has a time; None: there is none
    best: object = None
    plain: object = None  # the best that was not launched programmatically


def is_plain_again(m):
    """Standard but for a programmatic launch that is turned off."""
    return m.entry["non_standard"] == [PROGRAMMATIC] and not m.entry.get("parameters", {}).get(PROGRAMMATIC, 1)


def label_of(m):
    return m.variant + "".join(f"/{name}:{m.entry['parameters'][name]}" for name in m.entry["non_standard"])


def sizes_of(measurements):
    """Of right results of one series, type, state and timer, by what is moved."""
    sizes = {}
    for m in measurements:
        size = sizes.setdefault(m.problem, Size(m.problem, m.moved))
        if not m.seconds:
            continue
        for role, fits in (("copy", m.standard and m.family == "ceiling"), ("best", m.standard and m.family != "ceiling"),
                           ("plain", m.family != "ceiling" and (m.standard or is_plain_again(m))
                            and not m.entry.get("parameters", {}).get(PROGRAMMATIC, 0))):
            known = getattr(size, role)
            if fits and (known is None or m.time.value < known.time.value):
                setattr(size, role, m)
    return sorted(sizes.values(), key=lambda size: (size.moved, size.problem))


def cells(size, m):
    """Of a table: its name, its time and the copy's over that."""
    if m is None:
        return ["unknown"] * 3
    return [label_of(m), format_time(m.time.value),
            f"{size.copy.time.value / m.time.value:.1%}" if size.copy else "unknown"]


def rows(sizes, with_plain):
    return [[format_bytes(size.moved), size.problem, format_time(size.copy.time.value) if size.copy else "unknown",
             *cells(size, size.best), *(cells(size, size.plain) if with_plain else [])] for size in sizes]


def titles(with_plain):
    plain = ["best without programmatic launch", ">time", ">of copy"] if with_plain else []
    return [">moved", "problem", ">copy", "best variant", ">time", ">of copy", *plain]


def plot(sizes, l2_bytes, look, name, caption):
    """Throughput against moved bytes: the copy's line, the best variant's points, and below them a row for each variant
    that is the best somewhere, at the sizes where it is. None where no variant has a time."""
    found = [size for size in sizes if size.best]
    if not found:
        return None
    winners = list(dict.fromkeys(size.best.variant for size in found))
    gap, bottom = 22, 38
    below = ROW * len(winners)
    panel = Panel(name, caption, f"The best variant at each size, beside the copy: {caption}", 270 + gap + below)
    axes = panel.axes(40, NAMES + 4, 14, bottom + below + gap)
    names = panel.axes(40, NAMES + 4, panel.height - bottom - below, bottom)
    lines = {"copy": [(s.moved, s.copy.throughput.value / GIGA) for s in sizes if s.copy],
             "best": [(s.moved, s.best.throughput.value / GIGA) for s in found]}
    low, high = (limit(math.log2(size.moved) for size in sizes) for limit in (min, max))
    step = 2 if high - low < 9 else 4
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if (power - 16) % step == 0]
    for of in (axes, names):
        of.set_xscale("log", base=2)
        of.set_xlim(2 ** (low - 0.5), 2 ** (high + 0.5))
        if 2 ** (low - 0.5) < l2_bytes < 2 ** (high + 0.5):
            of.axvline(l2_bytes, **faint(linestyle=(0, (4, 2))))
    if 2 ** (low - 0.5) < l2_bytes < 2 ** (high + 0.5):
        panel.text(panel.place(axes, l2_bytes, 0)[0], panel.height - 6, f"L2: {l2_bytes / 2 ** 20:g} MiB", "faint",
                   across="center")
    ticks(axes.xaxis, [], [])
    ticks(names.xaxis, [2 ** power for power in powers], [short_bytes(power) for power in powers])
    names.set_xlabel("moved")
    top = max(y for points in lines.values() for _, y in points) * 1.08
    axes.set_ylim(0, top)
    ticks(axes.yaxis, nice_steps(top), [short(value) for value in nice_steps(top)])
    grid(axes)
    panel.text(4, panel.height - 6, "GB/s", "faint")
    axes.plot(*zip(*lines["best"]), color=palette.light("ink"), linewidth=0.8, zorder=2)
    if lines["copy"]:
        copies = {size.copy.variant for size in sizes if size.copy}
        copy = min(copies)
        line, = axes.plot(*zip(*lines["copy"]), color=look.colour[copy], marker=look.marker[copy], markersize=4.5,
                          markeredgewidth=0, linewidth=1.8, linestyle=(0, (4, 1.5)), zorder=3, clip_on=False)
        panel.mark(line, len(lines["copy"]))
        panel.labels(axes, {copy: lines["copy"][-1]}, look)
    names.set_ylim(len(winners) - 0.5, -0.5)
    names.spines["left"].set_visible(False)
    names.tick_params(axis="y", length=0)
    ticks(names.yaxis, [], [])
    panel.text(40, below + bottom + gap / 2, "the best", "faint")
    for row, variant in enumerate(winners):
        points = [(x, y) for size, (x, y) in zip(found, lines["best"]) if size.best.variant == variant]
        drawn = {"color": look.colour[variant], "marker": look.marker[variant], "markeredgewidth": 0, "linestyle": "none",
                 "zorder": 4, "clip_on": False}
        line, = axes.plot(*zip(*points), markersize=5.5, **drawn)
        panel.mark(line, len(points))
        line, = names.plot([x for x, _ in points], [row] * len(points), markersize=5.5, **drawn)
        panel.mark(line, len(points))
        names.axhline(row, color=palette.light("rule"), linewidth=0.6, zorder=1)
        height = panel.place(names, 2 ** low, row)[1]
        panel.text(WIDTH - NAMES + 15, height, look.title[variant])
    return panel
