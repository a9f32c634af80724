"""The plots. Each returns a Panel, or None where there is nothing to draw: what is unknown is not drawn, the tables and
notes of its section say why."""

import math
import statistics

from . import palette
from .drawing import NAMES, ROW, SMALL, WIDTH, Panel, grid, ticks
from .reader import format_bytes, format_time

LEVELS = [("l1", "L1"), ("l2", "L2"), ("dram", "DRAM")]
GIGA = 1e9


def faint(**line):
    return {"color": palette.light("faint"), "linewidth": 1, "zorder": 1.5, **line}


def nice_steps(top, least=3):
    """0 and the multiples up to `top` of the largest round number of which there are at least so many."""
    power = 10 ** math.floor(math.log10(top / least))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= top / least)
    return [step * i for i in range(int(top / step) + 1)]


def short_bytes(power):
    """Of a power of two."""
    return f"{2 ** (power % 10)} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power // 10]}"


def short(value):
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:g}"


# --- throughput

def throughput(measurements, ceilings, l2_bytes, sizes, look, name, caption):
    """What the operation must move over the time it took, along the working set; all of one dtype, state and series."""
    lines = {}
    for m in measurements:
        if m.throughput.value:
            lines.setdefault(m.variant, []).append((m.working_set, m.throughput.value / GIGA))
    if not lines:
        return None
    panel = Panel(name, caption, f"Throughput against working set: {caption}", 300)
    axes = panel.axes(40, NAMES + 4, 14, 38)
    axes.set_xscale("log", base=2)
    axes.set_xlim(sizes[0] / 1.6, max(sizes[-1], l2_bytes) * 1.6)
    levels = [(label, ceilings[key].value / GIGA) for key, label in (("dram", "DRAM"), ("l2", "L2"))
              if ceilings[key].value]
    top = max([y for points in lines.values() for _, y in points] + [rate for _, rate in levels]) * 1.08
    axes.set_ylim(0, top)
    low, high = (math.log2(limit) for limit in axes.get_xlim())
    step = 2 if high - low < 9 else 4
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if (power - 16) % step == 0]
    ticks(axes.xaxis, [2 ** power for power in powers], [short_bytes(power) for power in powers])
    ticks(axes.yaxis, nice_steps(top), [short(value) for value in nice_steps(top)])
    grid(axes)
    axes.set_xlabel("working set")
    panel.text(4, panel.height - 6, "GB/s", "faint")
    axes.axvline(l2_bytes, **faint(linestyle=(0, (4, 2))))
    panel.text(panel.place(axes, l2_bytes, 0)[0], panel.height - 6, f"L2: {l2_bytes / 2 ** 20:g} MiB", "faint",
               across="center")
    for label, rate in levels:
        axes.axhline(rate, **faint(linestyle=(0, (1, 2))))
        axes.annotate(f"{label} {rate:,.0f}", (axes.get_xlim()[0], rate), (3, 3), textcoords="offset points",
                      color=palette.light("faint"))
    ends = {}
    for variant, points in lines.items():
        xs, ys = zip(*sorted(points))
        ceiling = look.colour[variant] == palette.light("ink")
        line, = axes.plot(xs, ys, color=look.colour[variant], marker=look.marker[variant], markersize=4.5,
                          markeredgewidth=0, linewidth=1.8 if ceiling else 1.2, linestyle=(0, (4, 1.5)) if ceiling else "-",
                          zorder=3 if ceiling else 2, clip_on=False)
        panel.mark(line, len(xs))
        ends[variant] = (xs[-1], ys[-1])
    panel.labels(axes, ends, look)
    return panel


# --- lists of variants

def rows_of(panel, variants, look, top):
    """Writes the names of the variants in rows and returns the height of each, in pixels."""
    heights = {variant: panel.height - top - ROW * (i + 0.5) for i, variant in enumerate(variants)}
    for variant, height in heights.items():
        panel.sign(6, height, look, variant)
        panel.text(13, height, look.title[variant])
    return heights


def list_axes(panel, left, right, top, variants):
    """Axes beside those rows: row i is at y = i."""
    axes = panel.axes(left, right, top, panel.height - top - ROW * len(variants))
    axes.set_ylim(len(variants) - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    ticks(axes.yaxis, [], [])
    return axes


def lollipop(panel, axes, look, variant, row, start, value):
    axes.plot([start, value], [row, row], color=look.colour[variant], linewidth=2.2, solid_capstyle="butt", zorder=2)
    line, = axes.plot([value], [row], color=look.colour[variant], marker=look.marker[variant], markersize=5.5,
                      markeredgewidth=0, linestyle="none", clip_on=False, zorder=3)
    panel.mark(line, 1)


def level_text(m, level):
    """Its bytes at the level as people read them: times the floor, or bytes where nothing need move there."""
    moved, floor = m.number(f"{level}_traffic_bytes"), m.number(f"{level}_floor_bytes")
    if moved.value is None:
        return "unknown"
    if not floor.value:
        return moved.mark + format_bytes(moved.value)
    ratio = moved.value / floor.value
    return f"{moved.mark}{ratio:.2f}x" if ratio < 10 else f"{moved.mark}{ratio:.1f}x"


def levels(measurements, look, name, caption):
    """Bytes by level over those that must move there; all of one problem and state."""
    ratios = {}
    for level, _ in LEVELS:
        for m in measurements:
            moved, floor = m.number(f"{level}_traffic_bytes").value, m.number(f"{level}_floor_bytes").value
            if moved is not None and floor:
                ratios[m.variant, level] = moved / floor
    if not ratios:
        return None
    top, gap = 34, 8
    panel = Panel(name, caption, f"Bytes by level against the floor: {caption}", top + ROW * len(measurements) + 24)
    heights = rows_of(panel, [m.variant for m in measurements], look, top)
    width = (WIDTH - NAMES - gap * len(LEVELS)) / len(LEVELS)
    figures = 38  # of the numbers at the right of each column
    most = max(2.2, *ratios.values())
    for column, (level, label) in enumerate(LEVELS):
        left = NAMES + gap + column * (width + gap)
        axes = list_axes(panel, left, WIDTH - left - width + figures, top, measurements)
        axes.set_xscale("log", base=2)
        axes.set_xlim(min(0.9, *ratios.values()), most)
        marks = [mark for mark in (1, 4, 16, 64) if mark <= most * 1.01] if most > 3 else [1, 2]
        ticks(axes.xaxis, marks, [f"{mark}x" for mark in marks])
        axes.axvline(1, **faint(linewidth=1))
        floors = [m.number(f"{level}_floor_bytes").value for m in measurements if m.family != "ceiling"]
        floor = max((value for value in floors if value), default=0)
        panel.text(left, panel.height - 8, label, weight="bold")
        panel.text(left, panel.height - 22, f"floor {format_bytes(floor)}" if floor else "needs nothing", "faint",
                   SMALL - 0.5)
        if not floor:
            axes.set_axis_off()
        for row, m in enumerate(measurements):
            if (m.variant, level) in ratios:
                lollipop(panel, axes, look, m.variant, row, 1, ratios[m.variant, level])
            text = level_text(m, level)
            panel.text(left + width, heights[m.variant], "?" if text == "unknown" else text,
                       "faint" if text == "unknown" else "ink", SMALL - 0.5, "right")
    return panel


def launches(counts, look, name, caption):
    """{variant: (least, most) launches a call}."""
    if not counts:
        return None
    panel = Panel(name, caption, "Kernel launches a call, per variant", ROW * len(counts) + 6)
    rows_of(panel, list(counts), look, 3)
    axes = list_axes(panel, NAMES + 8, 40, 3, counts)
    axes.spines["bottom"].set_visible(False)
    ticks(axes.xaxis, [], [])
    axes.set_xlim(0, max(most for _, most in counts.values()))
    for row, (variant, (least, most)) in enumerate(counts.items()):
        lollipop(panel, axes, look, variant, row, 0, most)
        axes.annotate(f"{most:g}" if least == most else f"{least:g} to {most:g}", (most, row), (7, -3.5),
                      textcoords="offset points", color=palette.light("ink"))
    return panel


# --- what bounds the time

def roofline(measurements, ceilings, look, name, caption):
    """Attained throughput against the bytes that each level moved for a byte that the operation needs."""
    points = {}
    for m in measurements:
        for level in ("l2", "dram"):
            moved = m.number(f"{level}_traffic_bytes").value
            # Less than a tenth of what is needed is what spills, not what bounds.
            if m.throughput.value and moved is not None and moved >= m.compulsory_bytes / 10:
                points.setdefault(m.variant, {})[level] = (moved / m.compulsory_bytes, m.throughput.value / GIGA)
    if not points:
        return None
    panel = Panel(name, caption, f"Roofline: {caption}", 300)
    axes = panel.axes(40, NAMES + 4, 14, 38)
    every = [point for of in points.values() for point in of.values()]
    rates = {level: ceilings[level].value / GIGA for level in ("l2", "dram") if ceilings[level].value}
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(0.5, *(x * 0.8 for x, _ in every)), max(4, *(x * 1.4 for x, _ in every)))
    axes.set_ylim(min(y for _, y in every) * 0.6, max([y for _, y in every] + list(rates.values())) * 1.9)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    ticks(axes.xaxis, *zip(*[(v, short(v)) for v in (0.01, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32) if left <= v <= right]))
    ticks(axes.yaxis, *zip(*[(v, short(v)) for k in range(-3, 6) for v in (10.0 ** k, 2 * 10.0 ** k, 5 * 10.0 ** k)
                             if low <= v <= high]))
    grid(axes)
    axes.set_xlabel("bytes moved a byte needed")
    panel.text(4, panel.height - 6, "GB/s of what is needed", "faint")
    (x0, y0), (x1, y1) = panel.place(axes, left, 1), panel.place(axes, right, left / right)
    slope = math.degrees(math.atan2(y1 - y0, x1 - x0))
    for level, rate in rates.items():
        dashes = "-" if level == "dram" else (0, (4, 2))
        axes.plot([left, right], [rate / left, rate / right], **faint(linestyle=dashes))
        # Its name along it, on the side away from the other line.
        x = min(right / (right / left) ** 0.02, rate / (low * 1.3))
        above = rate == max(rates.values())
        axes.annotate(f"{dict(LEVELS)[level]} {rate:,.0f} GB/s", (x, rate / x), (0, 2 if above else -2),
                      textcoords="offset points", ha="right", va="bottom" if above else "top", rotation=slope,
                      rotation_mode="anchor", color=palette.light("faint"))
    ends = {}
    for variant, of in points.items():
        colour = look.colour[variant]
        xs, ys = zip(*of.values())
        axes.plot(xs, ys, color=colour, linewidth=0.8, alpha=0.6, zorder=2)
        for level, (x, y) in of.items():
            line, = axes.plot([x], [y], color=colour, marker=look.marker[variant], markersize=6, linestyle="none",
                              markerfacecolor=colour if level == "dram" else palette.light("ground"), markeredgecolor=colour,
                              markeredgewidth=1, zorder=3)
            panel.mark(line, 1)
        ends[variant] = (max(xs), ys[0])
    panel.labels(axes, ends, look)
    return panel


# --- time

def distributions(measurements, look, name, caption):
    """The samples of each variant about their median, in percent; in a row from the first sample, above, to the last."""
    timed = [m for m in measurements if m.seconds]
    if not timed:
        return None
    panel = Panel(name, caption, f"Samples of time: {caption}", ROW * len(timed) + 18 + 38)
    heights = rows_of(panel, [m.variant for m in timed], look, 18)
    axes = list_axes(panel, NAMES + 8, 66, 18, timed)
    panel.text(WIDTH, panel.height - 7, "median", "faint", across="right")
    reach = 0.1
    for row, m in enumerate(timed):
        median = statistics.median(m.seconds)
        deviations = [(value / median - 1) * 100 for value in m.seconds]
        held_back = [(value / median - 1) * 100 for value in m.throttled]
        reach = max([reach, *map(abs, deviations + held_back)])
        if len(deviations) > 1:
            low, _, high = statistics.quantiles(deviations, n=4, method="inclusive")
            axes.barh(row, high - low, left=low, height=0.74, color=look.colour[m.variant], alpha=0.25, linewidth=0)
        steps = [row + 0.56 * ((i + 0.5) / len(deviations) - 0.5) for i in range(len(deviations))]
        line, = axes.plot(deviations, steps, color=look.colour[m.variant], marker=look.marker[m.variant], markersize=3,
                          markeredgewidth=0, linestyle="none", clip_on=False, zorder=3)
        panel.mark(line, len(deviations))
        if held_back:
            axes.plot(held_back, [row] * len(held_back), color=palette.light("faint"), marker="x", markersize=4,
                      linestyle="none", zorder=3)
        panel.text(WIDTH, heights[m.variant], format_time(median), across="right")
    axes.set_xlim(-reach * 1.06, reach * 1.06)
    steps = nice_steps(reach, 1)[1:]
    marks = [-step for step in reversed(steps)] + [0, *steps]
    ticks(axes.xaxis, marks, [f"{mark:+g}%" if mark else "0" for mark in marks])
    axes.axvline(0, **faint(linewidth=0.8))
    grid(axes, "x")
    axes.set_xlabel("from the median")
    return panel
