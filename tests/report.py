"""Tests of scripts/report: pages of a made-up profile and of the recorded ones, in words, in drawn data and in pixels.

The class Screenshots opens the page in a headless Chromium; without one it says NOT_RUN. QKPROF names the program that
judges; without it a stand-in gives recorded verdicts."""

import copy
import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser

TESTS = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(TESTS)
SCRIPTS = os.path.join(TOP, "scripts")
DEBIAN_PYTHON = "/usr/bin/python3"

sys.dont_write_bytecode = True
sys.path.insert(0, SCRIPTS)
try:
    import jinja2  # noqa: F401
    import matplotlib.image
    import numpy
except ImportError as error:
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON) and os.path.exists(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])  # as scripts/report looks for them
    print(f"NOT_RUN: {error.name} was not found, with which scripts/report draws: python3-matplotlib, python3-jinja2")
    sys.exit(0)

from report_page import drawing, palette, plots, reader, table, verdicts
from report_page.sections import Report

RECORDED = sorted(glob.glob(os.path.join(TOP, "profiles", "h200", "*.json")))
SECTIONS = ["verdicts", "throughput", "best", "levels", "roofline", "launches", "times", "about"]
FAMILIES = {"copy": ("ceiling", 1, 1), "naive_three_kernel": ("naive", 3, 2.6), "split_two_kernel": ("split", 2, 1.5),
            "fused_register": ("register", 1, 1.02), "fused_tile_shared": ("shared", 1, 1.01)}
MIB = 1 << 20


def made_up():
    """A profile of 16 sizes in two types and both states, as of a GPU."""
    entries = []
    for dtype, bytes_of in (("f32", 4), ("bf16", 2)):
        for tokens in (4 << i for i in range(16)):
            for variant, (family, launches, passes) in FAMILIES.items():
                for state in ("cold", "warm"):
                    entries += samples(variant, family, launches, passes, tokens, dtype, bytes_of, state)
    return {"context": {
        "date": "2026-01-02T03:04:05+00:00", "schema_version": 1, "commit": "abc", "complete": True,
        "device": {"description": "a device of the tests", "has_clock": True, "backend": "cuda", "l2_bytes": 60 * MIB,
                   "facts": {}},
        "ceilings": {"dram_bytes_per_second": 4.2e12, "l2_bytes_per_second": None, "l2_bytes_per_second_reason": "no copy"}},
        "benchmarks": entries}


def samples(variant, family, launches, passes, tokens, dtype, bytes_of, state):
    needed = 2 * tokens * 16 * 128 * bytes_of + tokens * 512
    moved = needed * passes
    rate = 4e12 if needed > 60 * MIB or state == "cold" else 5.5e12
    shape = f"{max(1, tokens // 1024)}x{min(tokens, 1024)}x16x128"
    facts = {"name": f"{variant}/{shape}/{dtype}/{state}", "time_unit": "us", "variant": variant, "family": family,
             "batch": max(1, tokens // 1024), "sequence": min(tokens, 1024), "heads": 16, "head_dim": 128, "dtype": dtype,
             "state": state, "non_standard": [], "compulsory_bytes": needed, "correct": True, "launches": launches,
             "declared_launches": launches, "submissions": launches, "shared_traffic_bytes": 0, "copy_fraction": 1 / passes,
             "bound_fraction": 0.9, "bound_by": "DRAM", "measurement_errors": [], "contradictions": []}
    for level in ("l1", "l2", "dram"):
        resident = level == "dram" and state == "warm" and needed < 60 * MIB
        facts |= {f"{level}_traffic_bytes": 0 if resident else moved, f"{level}_floor_bytes": 0 if resident else needed}
    time = (3e-6 * launches + moved / rate) * 1e6
    # The facts are in the first repetition alone.
    return [{**(facts if i == 0 else {"name": facts["name"], "time_unit": "us"}), "repetition_index": i,
             "real_time": time * (1 + 0.002 * ((i * 7) % 5 - 2))} for i in range(6)]


class Html(HTMLParser):
    """Ids, what is fetched from elsewhere, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.fetched, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.fetched += [attributes[name] for name in ("src", "href", "xlink:href", "data")
                         if name in attributes and not attributes[name].startswith("#")]
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()


def data_of(svg):
    """How many data a plot in SVG holds: marks and lines with numbers for places, in the groups that are data."""
    groups = re.findall(r'<g class="data">(.*?)</g>\s*</g>|<g class="data">(.*?)</g>', svg, flags=re.DOTALL)
    marks = [mark for group in groups for mark in re.findall(r"<use [^>]*>", "".join(group))]
    return sum(bool(re.search(r'x="-?[\d.]+"', mark) and re.search(r'y="-?[\d.]+"', mark)) for mark in marks)


def picture_of(panel, folder, without_data=False):
    for axes in panel.figure.axes:
        for artist in axes.lines:
            artist.set_visible(not (without_data and artist.get_gid() == "data"))
    path = os.path.join(folder, "panel.png")
    panel.png(path)
    return matplotlib.image.imread(path)


def difference(one, other):
    """Pixels that are not the same."""
    return int((numpy.abs(one - other).max(axis=-1) > 0.1).sum())


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def stand_in(self, code=1, answer=os.path.join(TESTS, "golden", "claims.json"), says=""):
        path = self.file("qkprof", f"#!/bin/sh\necho \"$@\" >{self.path('calls')}\n[ -z '{says}' ] || echo '{says}' >&2\n"
                                   f"cat {answer}\nexit {code}\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def call(self, *arguments):
        return subprocess.run([sys.executable, "-B", "-P", "-m", "report_page", *arguments], cwd=self.folder, check=False,
                              capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SCRIPTS})

    def page(self, *profiles, qkprof=None):
        result = self.call(*profiles, "--out", self.path("page.html"), "--markdown", self.path("page.md"), "--qkprof",
                           qkprof or self.stand_in())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(self.path("page.html"), encoding="utf-8") as html, open(self.path("page.md"), encoding="utf-8") as markdown:
            return html.read(), markdown.read()

    def report(self, profile):
        return Report(reader.read([self.file("made_up.json", profile)]))

    def assert_whole(self, html):
        parsed = Html(html)
        self.assertEqual(parsed.open, [])
        self.assertEqual(parsed.fetched, [], "the page must need nothing but itself")
        self.assertNotRegex(html, r"@import|url\((?!#)")
        for section in SECTIONS:
            self.assertIn(section, parsed.ids)
        for name in set(re.findall(r'xlink:href="#([^"]+)"|url\(#([^)]+)\)', html)):
            self.assertIn(name[0] or name[1], parsed.ids)

    def assert_says(self, text, words):
        self.assertTrue(words in text, f"it does not say: {words}")  # without the whole page

    def assert_drawn(self, svgs):
        self.assertTrue(svgs, "there is no plot")
        for svg in svgs:
            self.assertGreater(data_of(svg), 0, f"an empty plot: {svg[:200]}")


class Page(Case):
    def test_a_made_up_profile(self):
        html, markdown = self.page(self.file("made_up.json", made_up()))
        self.assert_whole(html)
        svgs = re.findall(r"<svg .*?</svg>", html, flags=re.DOTALL)
        self.assert_drawn(svgs)
        self.assertEqual(len(svgs), 4 + 2 + 4 + 4 + 1 + 4)
        self.assertEqual(data_of(svgs[0]), 16 * len(FAMILIES))
        self.assertEqual(data_of(svgs[-1]), 6 * len(FAMILIES))
        self.assert_says(html, "no ceiling of the L2: no copy")
        self.assert_says(markdown, "## Kernel launches")
        self.assert_says(markdown, "| naive_three_kernel | 3 | 3 | 3 |")

    def test_the_recorded_profiles(self):
        self.assertTrue(RECORDED)
        for path in RECORDED:
            with self.subTest(os.path.basename(path)):
                html, markdown = self.page(path, qkprof=os.environ.get("QKPROF"))
                self.assert_whole(html)
                self.assert_drawn(re.findall(r"<svg .*?</svg>", html, flags=re.DOTALL))
                self.assert_says(markdown, "NVIDIA H200")
                self.assert_says(html, "A fusion is exactly one kernel launch." if "QKPROF" in os.environ else "What is said")

    def test_verdicts_come_first_with_their_evidence(self):
        html, markdown = self.page(self.file("made_up.json", made_up()))
        with open(self.path("calls"), encoding="utf-8") as calls:
            self.assertEqual(calls.read(), f"claims --format json --profile {self.path('made_up.json')}\n")
        self.assertLess(html.index('id="verdicts"'), html.index('id="throughput"'))
        for words in ("✗ refuted", "✓ supported", "must fail for naive_primitives", "measured 1 to 1.051; control: 1.998 to 2",
                      "fails: fused_tile_shared f32 warm: 1x64x16x128", "holds in 2, fails in 1, undecided in 1 of 4 cells",
                      "1.049 to 1.054", "turns at 977 KiB"):
            self.assert_says(html, words)
            self.assert_says(markdown, words)

    def test_an_undecided_verdict_says_why(self):
        with open(os.path.join(TESTS, "golden", "claims.json"), encoding="utf-8") as file:
            claims = json.load(file)
        claims["claims"][0] |= {"verdict": "undecided", "reasons": ["1 of 8 cells: CUPTI may not", "459 further samples"]}
        answer = self.file("claims.json", claims)
        for text in self.page(self.file("made_up.json", made_up()), qkprof=self.stand_in(3, answer)):
            for words in ("? undecided", "undecided: 1 of 8 cells: CUPTI may not", "undecided: 459 further samples"):
                self.assert_says(text, words)

    def test_a_program_that_is_not_built_is_said(self):
        html, markdown = self.page(self.file("made_up.json", made_up()), qkprof="/absent/qkprof")
        for text in (html, markdown):
            self.assertIn("The claims were not judged: the program /absent/qkprof is not built here", text)
        self.assertIn('id="throughput"', html)

    def test_no_clock_no_plots_of_time(self):
        profile = made_up()
        profile["benchmarks"] = [{**entry, "real_time": None, "real_time_reason": "the emulated device has no clock",
                                  "dram_traffic_bytes_source": "modelled"}
                                 for entry in profile["benchmarks"] if entry["repetition_index"] == 0]
        html, markdown = self.page(self.file("made_up.json", profile))
        self.assert_whole(html)
        self.assertEqual(html.count("There are no times to show: the emulated device has no clock."), 4)
        self.assertEqual(len(re.findall("<svg ", html)), 4 + 1)
        self.assert_says(html, "~1.02x")
        self.assert_says(markdown, "| fused_register | 1.02x | 1.02x | ~1.02x | 0 B |")
        self.assert_says(markdown, "~ modelled, not counted")

    def test_unknown_is_unknown_with_its_reason(self):
        profile = made_up()
        for entry in profile["benchmarks"]:
            if entry.get("variant") == "fused_register":
                entry |= {"launches": None, "launches_reason": "CUPTI is busy", "dram_traffic_bytes": None,
                          "dram_traffic_bytes_reason": "no permission"}
        html, markdown = self.page(self.file("made_up.json", profile))
        self.assert_says(markdown, "| fused_register | unknown | 1 | 1 |")
        self.assert_says(markdown, "| fused_register | 1.02x | 1.02x | unknown | 0 B |")
        for reason in ("unknown launches of fused_register: CUPTI is busy",
                       "unknown bytes of the DRAM (fused_register): no permission"):
            self.assert_says(html, reason)

    def test_what_is_wrong_or_refused_is_said_and_not_drawn(self):
        profile = made_up()
        for entry in profile["benchmarks"]:
            if entry.get("variant") == "fused_register":
                entry |= {"refused": "it has <b>no</b> keys"}
            elif entry.get("variant") == "split_two_kernel":
                entry |= {"correct": False, "error_message": "3 elements are wrong", "contradictions": ["It contradicts."]}
        profile["context"]["complete"] = False
        html, _ = self.page(self.file("made_up.json", profile))
        for words in ("refused: it has &lt;b&gt;no&lt;/b&gt; keys", "3 elements are wrong", "It contradicts.", "was interrupted"):
            self.assert_says(html, words)
        self.assertIsNone(re.search(r"<text[^>]*>(fused_register|split_two_kernel)<", html))

    def two_timers(self):
        """The made-up profile, and beside it a framework's copy and route that are timed otherwise, at half the rate."""
        profile = made_up()
        for entry in profile["benchmarks"]:
            entry["timer"] = "graph_events"
        for variant, family, of in (("jax_ffi_copy", "ceiling", "copy"), ("jax_xla", "framework", "split_two_kernel")):
            for entry in made_up()["benchmarks"]:
                if entry["name"].startswith(f"{of}/"):
                    entry |= {"name": entry["name"].replace(of, variant), "timer": "cupti",
                              "real_time": entry["real_time"] * 2}
                    if "variant" in entry:
                        entry |= {"variant": variant, "family": family}
                        del entry["copy_fraction"]
                    profile["benchmarks"].append(entry)
        return profile

    def test_times_of_two_timers_are_never_compared(self):
        profile = self.two_timers()
        report = self.report(profile)
        graph, records = "timed by replays of a CUDA graph", "timed by records of the GPU"
        by_timer = {graph: set(FAMILIES), records: {"jax_ffi_copy", "jax_xla"}}
        self.assertEqual([{row[3] for row in t.rows} for t in report.best_variants()[0].tables],
                         [{"fused_tile_shared"}, {"jax_xla"}] * 2)
        for section in (report.throughput(), report.roofline(), report.distributions()):
            self.assertIn(f"{graph} and what was {records} is never compared", section.lead)
            self.assertEqual(len(section.panels), 8)
            for words, variants in by_timer.items():
                tables = [t for t in section.tables if t.caption.endswith(f", {words}")]
                self.assertEqual([{row[0] for row in t.rows} for t in tables], [variants] * 4)
                for panel in section.panels:
                    names = set(re.findall(r">([a-z_]+)(?: \(ceiling\))?</text>", panel.svg()))
                    if panel.caption.endswith(words):
                        self.assertEqual(names & set.union(*by_timer.values()), variants, panel.caption)
        # The ceilings of the context are of `qkprof run`: they stand in its panels alone.
        for section in (report.throughput(), report.roofline()):
            for panel in section.panels:
                self.assertEqual("DRAM 4,200" in panel.svg(), panel.caption.endswith(graph), panel.caption)
        self.assertIn(f"no ceiling of the DRAM, {records}: no copy through it was timed so", report.throughput().notes)
        self.assertIn((f"DRAM ceiling, {graph}", "4,200 GB/s"), report.facts())
        # And a route is held against the copy of its own timer.
        table_of = next(t for t in report.roofline().tables if t.caption.endswith(records))
        copied, xla = (next(row[2] for row in table_of.rows if row[0] == name) for name in ("jax_ffi_copy", "jax_xla"))
        self.assertEqual(copied, "100.0%")
        self.assertLess(abs(float(xla.rstrip("%")) - 66.7), 1)
        self.assert_whole(self.page(self.file("two.json", profile))[0])

    def test_what_has_no_time_is_in_no_timers_table(self):
        profile = self.two_timers()
        for entry in profile["benchmarks"]:
            if entry["name"].startswith("split_two_kernel/"):
                entry |= {"real_time": None, "real_time_reason": "it was not timed"}
        report = self.report(profile)
        self.assertIn("no time of split_two_kernel: it was not timed", report.throughput().notes)
        for t in report.roofline().tables:
            self.assertEqual("split_two_kernel" in {row[0] for row in t.rows}, t.caption.endswith(", not timed"))

    def test_one_timer_is_not_said(self):
        profile = made_up()
        before = self.page(self.file("one.json", profile))
        for entry in profile["benchmarks"]:
            entry["timer"] = "graph_events"
        self.assertEqual(self.page(self.file("one.json", profile)), before)
        self.assertNotIn("timed by", before[0])

    def test_throttled_samples_are_in_no_median(self):
        profile = made_up()
        profile["benchmarks"][0] |= {"throttled": True, "real_time": 1e6}
        measurement = self.report(profile).shown[0]
        self.assertEqual((len(measurement.seconds), len(measurement.throttled)), (5, 1))
        self.assertLess(measurement.time.value, 1e-3)


class BadInput(Case):
    def refused(self, *arguments, code=2):
        result = self.call(*arguments, "--out", self.path("page.html"), "--markdown", self.path("page.md"))
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("page")], [])
        return result.stderr

    def test_one_sentence_and_no_file(self):
        for content in ("", "{", "[]", '{"context": {}}', '{"context": {"schema_version": 1}, "benchmarks": []}', "\x00"):
            with self.subTest(content):
                self.assertIn("is no profile of qkprof", self.refused(self.file("bad.json", content)))
        self.assertIn("No such file", self.refused(self.path("absent.json")))

    def test_what_is_there_is_not_written_over(self):
        profile = self.file("p.json", made_up())
        os.mkfifo(self.path("pipe"))
        for out, why in ((profile, "is one of the profiles"), (self.folder, "is no regular file"),
                         (self.path("pipe"), "is no regular file"), (self.path("none/x.html"), "there is no folder")):
            result = self.call(profile, "--out", out)
            self.assertEqual((result.returncode, why in result.stderr), (2, True), result.stderr)

    def test_an_empty_profile_and_other_versions(self):
        profile = made_up()
        self.assertIn("holds no measurement", self.refused(self.file("p.json", {**profile, "benchmarks": []})))
        cut = copy.deepcopy(profile)
        del cut["benchmarks"][3]["time_unit"]
        self.assertIn("entry 4", self.refused(self.file("p.json", cut)))
        profile["context"]["schema_version"] = 2
        self.assertIn("version 2 of the schema", self.refused(self.file("p.json", profile)))

    def test_profiles_that_do_not_go_together(self):
        one = self.file("one.json", made_up())
        self.assertIn("both hold copy/1x4x16x128/f32/cold", self.refused(one, one))
        other = made_up()
        other["context"]["device"]["description"] = "another"
        self.assertIn("different devices", self.refused(one, self.file("two.json", other)))

    def test_what_the_program_refuses_is_handed_on(self):
        profile = self.file("one.json", made_up())
        self.assertIn("The profile is bad.", self.refused(profile, "--qkprof", self.stand_in(2, "/dev/null",
                                                                                              "The profile is bad.")))
        self.refused(profile, "--qkprof", self.stand_in(139, "/dev/null"), code=4)
        self.refused(profile, "--qkprof", self.stand_in(0, profile), code=4)


class Plots(Case):
    def test_each_plot_has_its_data_in_its_pixels(self):
        for section in self.report(made_up()).sections():
            self.assertTrue(section.panels)
            for panel in section.panels:
                with self.subTest(panel.name):
                    self.assertEqual(data_of(panel.svg()), panel.data)
                    picture = picture_of(panel, self.folder)
                    self.assertGreater(len(numpy.unique(picture.reshape(-1, picture.shape[-1]), axis=0)), 20)
                    self.assertGreater(difference(picture, picture_of(panel, self.folder, without_data=True)), 40)

    def test_an_empty_plot_is_found(self):
        report = self.report(made_up())
        for m in report.shown:
            m.seconds = []
        for section in (report.throughput(), *report.best_variants(), report.roofline(), report.distributions()):
            self.assertEqual(section.panels, [])
            self.assertIn("There are no times to show", section.lead)
        planted = drawing.Panel("planted", "planted", "planted", 200)
        axes = planted.axes(40, 40, 10, 30)
        line, = axes.plot([1, 2], [float("nan")] * 2, marker="o", color=palette.light("naive"))
        planted.mark(line, 2)
        with self.assertRaises(AssertionError):
            self.assert_drawn([planted.svg()])
        self.assertEqual(difference(picture_of(planted, self.folder), picture_of(planted, self.folder, True)), 0)
        with self.assertRaises(AssertionError):
            self.assert_drawn([])

    def test_a_variant_looks_the_same_everywhere_and_like_no_other(self):
        look = Report(reader.read(RECORDED[-1:])).look
        self.assertEqual(len(look.marker), 14)
        self.assertEqual(len({(look.colour[v], look.marker[v]) for v in look.marker}), 14)
        for section in Report(reader.read(RECORDED[-1:])).sections():
            for panel in section.panels:
                self.assertNotRegex(panel.svg(), "#(?!m|p|DejaVu)[0-9a-f]{6}", "every colour follows the theme")

    def test_labels_stand_apart_and_near(self):
        self.assertEqual(drawing.spread([10, 50, 90], 12, 0, 100), [10, 50, 90])
        self.assertEqual(drawing.spread([50, 50, 50], 12, 0, 100), [38, 50, 62])
        self.assertEqual(drawing.spread([1, 1], 12, 6, 100), [6, 18])
        self.assertEqual(drawing.spread([99, 99], 12, 6, 94), [82, 94])

    def test_numbers_are_written_as_qkprof_writes_them(self):
        self.assertEqual([reader.format_bytes(b) for b in (0, 1000, 1024, 60 * MIB, 1 << 31, 1023 * MIB)],
                         ["0 B", "1000 B", "1.00 KiB", "60.0 MiB", "2.00 GiB", "1.00 GiB"])
        self.assertEqual([reader.format_time(t) for t in (2.5e-6, 508.1e-6, 5.477e-3)], ["2.500 us", "508.1 us", "5.477 ms"])
        self.assertEqual(plots.nice_steps(5700), [0, 1000, 2000, 3000, 4000, 5000])
        self.assertEqual(plots.short_bytes(16), "64 KiB")
        self.assertEqual(table.Table(["a", ">b"], [["x|y", "1"]]).markdown(), "| a | b |\n|---|--:|\n| x\\|y | 1 |")
        self.assertEqual(verdicts.counted([], "cells"), "no evidence")


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# The page in a frame of a phone's width, which no window is let have, and where its plots came to lie.
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe style="border:0;width:{width}px;height:{height}px" src="page.html"
onload="const page = this.contentDocument; page.head.append(Object.assign(page.createElement('style'), {{textContent: '{style}'}}));
document.body.dataset.found = JSON.stringify({{width: page.documentElement.scrollWidth, dark: this.contentWindow.matchMedia(
'(prefers-color-scheme: dark)').matches, plots: [...page.querySelectorAll('figure')].map(f => [f.id,
...(r => [r.x, r.y, r.right, r.bottom])(f.querySelector('svg').getBoundingClientRect())])}})"></iframe>"""


class Screenshots(Case):
    HEIGHT = 12000

    @classmethod
    def setUpClass(cls):
        if not CHROMIUM:
            print("NOT_RUN: no Chromium was found to open the page in")
            raise unittest.SkipTest("no Chromium")

    def chromium(self, width, dark, *what):
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        result = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
             f"--user-data-dir={self.path('browser')}", f"--window-size={width},{self.HEIGHT}", *scheme, *what,
             f"file://{self.path('frame.html')}"], check=False, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result.stdout

    def shot(self, width, dark, style=""):
        self.file("frame.html", FRAME.format(width=width, height=self.HEIGHT, style=style))
        self.chromium(width, dark, f"--screenshot={self.path('shot.png')}")
        return matplotlib.image.imread(self.path("shot.png"))[:, :, :3]

    def empty_plots(self, width, dark, style=""):
        """Those that look the same without their data."""
        picture, bare = self.shot(width, dark, style), self.shot(width, dark, style + ".data {visibility: hidden}")
        found = json.loads(re.search(r"data-found='([^']*)'|data-found=\"([^\"]*)\"", self.chromium(width, dark, "--dump-dom"))
                           .group(2).replace("&quot;", '"'))
        self.assertEqual((picture.shape[1], found["dark"]), (width, dark))
        self.assertLessEqual(found["width"], width, "the page is wider than the screen")
        self.assertEqual(picture[2, 2].mean() < 0.5, dark)
        self.assertGreater(len(found["plots"]), 10)
        empty = []
        for name, left, top, right, bottom in found["plots"]:
            box = numpy.s_[int(top):int(bottom), int(left):int(right)]
            self.assertLessEqual(bottom, self.HEIGHT, f"{name} is not in the picture")
            if difference(picture[box], bare[box]) < 20:
                empty.append(name)
        return empty

    def test_on_a_phone_and_a_desk_light_and_dark(self):
        self.page(self.file("made_up.json", made_up()))
        for width in (390, 1280):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    self.assertEqual(self.empty_plots(width, dark), [])

    def test_an_empty_plot_is_found(self):
        self.page(self.file("made_up.json", made_up()))
        self.assertEqual(self.empty_plots(390, True, "[id=launches] .data {display: none}"), ["launches"])


if __name__ == "__main__":
    unittest.main()
