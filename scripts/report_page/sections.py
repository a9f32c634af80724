"""What the page shows of the profiles, section by section: the plots, the numbers as tables, and what is unknown and why."""

from dataclasses import dataclass, field

from . import best, plots
from .palette import Look
from .reader import format_bytes, format_rate, format_time
from .table import Table

STATES = ["cold", "warm"]
DTYPES = ["f32", "bf16", "f16"]
TIMERS = {"graph_events": "replays of a CUDA graph", "cupti": "records of the GPU"}  # and how an entry names it
RESIDENT = 0.3  # of the L2: a quarter and the tables, so that nothing leaves it


@dataclass
class Section:
    id: str
    title: str
    lead: str
    panels: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    columns: int = 1  # how many panels stand side by side where there is room: one a dtype


def unique(items):
    return list(dict.fromkeys(items))


def timed_by(timer):
    return f"timed by {TIMERS.get(timer, timer)}" if timer else "not timed"


def name_of(*words):
    return "-".join(words).replace(" ", "-").replace("/", "-")


class Report:
    def __init__(self, profiles):
        self.profiles = profiles
        self.shown = profiles.shown()
        self.look = Look(profiles.measurements)
        timers = profiles.timers()
        # A timer None among several is that of what has no time; where there is one, all is by it.
        self.timers = timers + ([None] if None not in timers else []) if len(timers) > 1 else [None]
        self.ceilings = {timer: {level: profiles.ceiling(level, timer) for level in ("dram", "l2")} for timer in self.timers}
        self.dtypes = [dtype for dtype in DTYPES if any(m.dtype == dtype for m in self.shown)]
        self.modelled = any(m.number(f"{level}_traffic_bytes").modelled for m in self.shown for level, _ in plots.LEVELS)

    def sections(self):
        if not self.shown:
            return []
        return [self.throughput(), *self.best_variants(), self.levels(), self.roofline(), self.launches(), self.distributions()]

    # --- which cells stand for all

    def cells(self):
        """(title, measurements) of a problem and state that show how it streams and how it is when it stays in the L2:
        of each dtype the largest problem, cold, and the largest that is resident, warm; of those in the first form where
        there are any, as every variant does that."""
        found = []
        for state, most in (("cold", None), ("warm", RESIDENT * self.profiles.l2_bytes)):
            for dtype in self.dtypes:
                of = [m for m in self.shown if (m.state, m.dtype) == (state, dtype)]
                of = [m for m in of if m.first_form] or of
                if most is not None:
                    of = [m for m in of if m.working_set <= most] or of
                if of:
                    problem = max(of, key=lambda m: m.working_set).problem
                    cell = [m for m in self.shown if (m.problem, m.state, m.dtype) == (problem, state, dtype)]
                    found.append((f"{problem} {dtype}, {state}, {format_bytes(max(m.working_set for m in cell))}", cell))
        return found

    def by_timer(self, measurements):
        """(timer, what follows a title, what follows a name, measurements) of each timer: times of two are in no panel and
        no table together. Where all is by one, it is not said."""
        if self.timers == [None]:
            return [(None, "", [], measurements)]
        groups = [(timer, [m for m in measurements if (m.timer if m.seconds else None) == timer]) for timer in self.timers]
        return [(timer, f", {timed_by(timer)}", [str(timer)], of) for timer, of in groups if of]

    def timed_cells(self):
        """(title, timer, measurements): the cells by timer."""
        return [(title + words, timer, of) for title, cell in self.cells() for timer, words, _, of in self.by_timer(cell)]

    def about_timers(self):
        """What a section of times says of them; empty where all is by one."""
        named = [timed_by(timer) for timer in self.timers if timer is not None]
        return f" What was {' and what was '.join(named)} is never compared: each stands apart, with its own ceiling." \
            if named else ""

    def panels_of(self, section, cells, draw):
        for title, *cell in cells:
            panel = draw(*cell, title)
            if panel:
                section.panels.append(panel)
        section.columns = max(2, len(self.dtypes))  # of one dtype cold beside warm

    def no_times(self):
        """Why no measurement has a time; empty where one has."""
        if any(m.seconds for m in self.shown):
            return ""
        reasons = unique(m.time.reason for m in self.shown)
        return f"There are no times to show: {'; '.join(reasons)}."

    def unknown_times(self):
        untimed = [m for m in self.shown if not m.seconds]
        return [f"no time of {', '.join(unique(m.variant for m in untimed if m.time.reason == reason))}: {reason}"
                for reason in unique(m.time.reason for m in untimed)]

    # --- the sections

    def throughput(self):
        section = Section("throughput", "Throughput against working set",
                          "The bytes that the operation must move over the median time. copy moves the same head vectors "
                          "and computes nothing: it is the ceiling at each size. Dotted: the best that copies reached "
                          "through the DRAM and through the L2, by the bytes that copies move; gamma and the tables "
                          "count here, also for copy, which needs none. Dashed: where the L2 ends.")
        section.columns = max(2, len(self.dtypes))  # of one dtype cold beside warm
        section.lead = self.no_times() or section.lead + self.about_timers()
        if self.no_times():
            return section
        sizes = sorted({m.working_set for m in self.shown})
        for series in unique(m.series for m in self.shown):
            for state in STATES:
                for dtype in self.dtypes:
                    of = [m for m in self.shown if (m.series, m.state, m.dtype) == (series, state, dtype)]
                    for timer, words, name, timed in self.by_timer(of):
                        panel = plots.throughput(timed, self.ceilings[timer], self.profiles.l2_bytes, sizes, self.look,
                                                 name_of("throughput", series, dtype, state, *name),
                                                 f"{dtype}, {state}, heads {series}{words}")
                        if panel:
                            section.panels.append(panel)
                            section.tables.append(self.throughput_table(timed, panel.caption))
        for timer, words, _, _ in self.by_timer([m for m in self.shown if m.seconds]):
            for level, ceiling in self.ceilings[timer].items():
                if ceiling.value is None:
                    section.notes.append(f"no ceiling of the {level.upper()}{words}: {ceiling.reason}")
        section.notes += self.unknown_times()
        return section

    def throughput_table(self, measurements, caption):
        sizes = sorted({(m.working_set, m.problem) for m in measurements})
        table = Table(["variant", *(">" + format_bytes(size) for size, _ in sizes)], caption=f"GB/s: {caption}")
        for variant in unique(m.variant for m in measurements):
            by_problem = {m.problem: m.throughput for m in measurements if m.variant == variant}
            row = [by_problem.get(problem) for _, problem in sizes]
            table.rows.append([variant, *("-" if rate is None else "unknown" if rate.value is None
                                          else f"{rate.value / 1e9:,.0f}" for rate in row)])
        return table

    def best_variants(self):
        """The section, where the profiles hold several sizes of something, warm; else none."""
        measured = [m for m in self.profiles.measurements
                    if not m.fault and m.state == "warm" and (m.standard or best.is_plain_again(m))]
        groups = {}
        for m in measured:
            groups.setdefault((m.series, m.dtype), []).append(m)
        groups = {key: of for key, of in groups.items() if len({m.moved for m in of if m.standard}) > 1}
        if not groups:
            return []
        section = Section("best", "The best variant at each size, beside the copy",
                          "Warm calls: the bytes that the operation must move over the median time, against the bytes of the "
                          "head vectors, read and written. Of all variants with standard parameters the fastest at each size, "
                          "and below which one that is. Some are so near to one another that another run would name "
                          "another.", columns=max(2, len(self.dtypes)))
        section.lead = self.no_times() or section.lead + self.about_timers()
        if self.no_times():
            return [section]
        for series, dtype in sorted(groups, key=lambda key: (key[0], DTYPES.index(key[1]))):
            for _, words, name, timed in self.by_timer(groups[series, dtype]):
                caption = f"{dtype}, warm, heads {series}{words}"
                sizes = best.sizes_of(timed)
                panel = best.plot(sizes, self.profiles.l2_bytes, self.look, name_of("best", series, dtype, *name), caption)
                if panel:
                    section.panels.append(panel)
                    with_plain = any(best.is_plain_again(m) for m in timed)
                    section.tables.append(Table(best.titles(with_plain), best.rows(sizes, with_plain), caption))
                untimed = [m for m in timed if not m.seconds]
                section.notes += [f"{caption}: no time of {', '.join(unique(map(best.label_of, of)))}: {reason}"
                                  for reason in unique(m.time.reason for m in untimed)
                                  for of in [[m for m in untimed if m.time.reason == reason]]]
        return [section]

    def levels(self):
        section = Section("levels", "Bytes by level of memory, against the floor",
                          "How many times the bytes that the operation must move there were moved: what warps asked for "
                          "(L1), between the SMs and the L2, and in the DRAM. 1x is the floor. Where the operation needs "
                          "nothing of a level, the bytes stand there.")
        self.panels_of(section, self.cells(), lambda cell, title: plots.levels(cell, self.look, name_of("levels", title), title))
        unknown = {}
        for title, cell in self.cells():
            table = Table(["variant", *(f">{label}" for _, label in plots.LEVELS), ">shared memory"], caption=title)
            for m in cell:
                shared = m.number("shared_traffic_bytes")
                table.rows.append([m.variant, *(plots.level_text(m, level) for level, _ in plots.LEVELS),
                                   "unknown" if shared.value is None else shared.mark + format_bytes(shared.value)])
                for level, label in plots.LEVELS:
                    moved = m.number(f"{level}_traffic_bytes")
                    if moved.value is None:
                        unknown.setdefault((label, moved.reason), []).append(m.variant)
            section.tables.append(table)
        section.notes += [f"unknown bytes of the {label} ({', '.join(unique(of))}): {reason}"
                          for (label, reason), of in unknown.items()]
        if self.modelled:
            section.notes.append("~ modelled, not counted")
        return section

    def roofline(self):
        section = Section("roofline", "What bounds the time",
                          "The operation does about ten flops an element, so the roof is that of bytes. Across: the bytes "
                          "that a level moved for each byte that the operation needs; up: the needed bytes a second that "
                          "were attained. A filled mark is the DRAM, a hollow one of the same variant the L2. The lines "
                          "are what copies reached through each: a mark on the line of its level is bound by it. Where "
                          "the DRAM moves less than a tenth of what is needed, its mark is left out.")
        section.lead = self.no_times() or section.lead + self.about_timers()
        if self.no_times():
            return section
        self.panels_of(section, self.timed_cells(), lambda timer, cell, title: plots.roofline(
            cell, self.ceilings[timer], self.look, name_of("roofline", title), title))
        unknown = {}
        for title, _, cell in self.timed_cells():
            table = Table(["variant", ">GB/s", ">of copy", "bound by", ">of bound"], caption=title)
            for m in cell:
                rate, copy, bound = m.throughput, self.profiles.copy_fraction(m), m.number("bound_fraction")
                by = m.number("bound_by")
                table.rows.append([m.variant, "unknown" if rate.value is None else f"{rate.value / 1e9:,.0f}",
                                   "unknown" if copy.value is None else f"{copy.value:.1%}", by.value or "unknown",
                                   "unknown" if bound.value is None else f"{bound.value:.1%}"])
                if by.value is None:
                    unknown.setdefault(by.reason, []).append(m.variant)
            section.tables.append(table)
        section.notes += [f"unknown bound ({', '.join(unique(of))}): {reason}" for reason, of in unknown.items()]
        section.notes += self.unknown_times()
        return section

    def launches(self):
        section = Section("launches", "Kernel launches",
                          "Kernels executed by one call, counted. A range where problems differ.")
        counts, unknown = {}, {}
        titles = {"launches": "launches", "declared_launches": "declared", "submissions": "submissions",
                  "graph_launches": "launches in a graph", "graph_submissions": "submissions in a graph"}
        names = [name for name in titles if any(name in m.entry for m in self.shown)]
        table = Table(["variant", *(f">{titles[name]}" for name in names)])
        for variant in unique(m.variant for m in self.shown):
            of = [m for m in self.shown if m.variant == variant]
            known = [m.number("launches").value for m in of if m.number("launches").value is not None]
            if known:
                counts[variant] = (min(known), max(known))
            for m in of:
                if m.number("launches").value is None:
                    unknown.setdefault(m.number("launches").reason, []).append(variant)
            table.rows.append([variant, *(range_text(of, name) for name in names)])
        panel = plots.launches(counts, self.look, "launches", "launches a call")
        section.panels += [panel] if panel else []
        section.tables.append(table)
        section.notes += [f"unknown launches of {', '.join(unique(of))}: {reason}" for reason, of in unknown.items()]
        return section

    def distributions(self):
        section = Section("times", "Distribution of the times",
                          "Every sample, in percent from the median of its variant; in a row the first sample is above, the "
                          "last below. The bar is the middle half. A cross is a sample taken while heat or power held the "
                          "GPU back, which no median includes.")
        section.lead = self.no_times() or section.lead + self.about_timers()
        if self.no_times():
            return section
        self.panels_of(section, self.timed_cells(), lambda _, cell, title: plots.distributions(
            cell, self.look, name_of("times", title), title))
        for title, _, cell in self.timed_cells():
            table = Table(["variant", ">median", ">least", ">most", ">samples", ">throttled"], caption=title)
            for m in cell:
                times = ([m.time.value, min(m.seconds), max(m.seconds)] if m.seconds else [None] * 3)
                table.rows.append([m.variant, *("unknown" if t is None else format_time(t) for t in times),
                                   str(len(m.seconds)), str(len(m.throttled))])
            section.tables.append(table)
        section.notes += self.unknown_times()
        return section

    # --- what is said of the whole

    def facts(self):
        device, context = self.profiles.context["device"], self.profiles.context
        facts = [("device", device["description"]), ("L2", format_bytes(self.profiles.l2_bytes))]
        for key, label in (("driver", "driver"), ("sm_clock_mhz", "SM clock, MHz"),
                           ("memory_clock_mhz", "memory clock, MHz")):
            if device.get("facts", {}).get(key):
                facts.append((label, device["facts"][key]))
        for level, label in (("dram", "DRAM ceiling"), ("l2", "L2 ceiling")):
            for timer in self.timers:
                rate = self.ceilings[timer][level].value
                if rate and (timer is not None or self.timers == [None]):
                    facts.append((label + (f", {timed_by(timer)}" if timer else ""), format_rate(rate)))
        facts.append(("measured", ", ".join(unique(c["date"][:10] for c in self.profiles.contexts))))
        facts.append(("commit", ", ".join(unique(str(c.get("commit", "unknown")) for c in self.profiles.contexts))))
        rows = [row for c in self.profiles.contexts for row in c.get("calibration", {}).get("rows", [])]
        if rows:
            facts.append(("calibration", f"{sum(row.get('verdict') == 'ok' for row in rows)} of {len(rows)} readings ok"))
        elif context.get("calibration", {}).get("failure"):
            facts.append(("calibration", context["calibration"]["failure"]))
        facts.append(("measurements", f"{len(self.profiles.measurements)} in {len(self.profiles.paths)} profile(s)"))
        return facts

    def warnings(self):
        """What makes the evidence less than it seems, and what is not shown."""
        found = []
        for path, context in zip(self.profiles.paths, self.profiles.contexts):
            if not context.get("complete", True):
                found.append(f"{path} was interrupted: it is shown by what was measured until then.")
        faults, apart = {}, 0
        for m in self.profiles.measurements:
            found += m.entry.get("contradictions", []) + m.entry.get("measurement_errors", [])
            if m.fault:
                faults.setdefault((m.variant, m.fault), []).append(m.place)
            elif not m.standard and not (m.state == "warm" and best.is_plain_again(m)):
                apart += 1
        for (variant, fault), places in faults.items():
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            found.append(f"Not shown: {variant} ({places[0]}{more}): {fault}")
        if apart:
            found.append(f"Not shown: {apart} measurement(s) with parameters that are not the standard.")
        return unique(found)


def range_text(measurements, name):
    values = [m.number(name).value for m in measurements]
    if None in values:
        return "unknown"
    return f"{min(values):g}" if min(values) == max(values) else f"{min(values):g} to {max(values):g}"
