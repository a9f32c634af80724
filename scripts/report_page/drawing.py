"""What the plots are drawn with: panels measured in the pixels of a phone, labels beside what they name, SVG for a page.

A panel is 380 pixels wide, no wider than a phone shows without shrinking its text much; the page sets several side by
side where there is room. Its title is a caption in the page. What is data carries the class "data" in the SVG.
"""

import html
import io
import re

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from . import palette

WIDTH = 380
SMALL = 10
ROW = 16  # of a list of variants
NAMES = 130  # what their names take

matplotlib.rcParams.update({
    "svg.fonttype": "none", "font.size": SMALL, "font.family": ["sans-serif"], "axes.linewidth": 0.8,
    "axes.edgecolor": palette.light("faint"), "axes.labelcolor": palette.light("faint"), "axes.labelsize": SMALL,
    "xtick.color": palette.light("faint"), "ytick.color": palette.light("faint"), "text.color": palette.light("ink"),
    "xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "axes.spines.top": False, "axes.spines.right": False,
    "axes.facecolor": "none", "figure.facecolor": "none", "savefig.facecolor": "none", "axes.axisbelow": True,
    "figure.dpi": 72, "axes.grid": False, "xtick.major.size": 3, "ytick.major.size": 3, "axes.labelpad": 3,
})


class Panel:
    """A figure of one or more axes, what it shows in words, and how many data it holds."""

    def __init__(self, name, caption, alternative, height):
        self.name, self.caption, self.alternative, self.height = name, caption, alternative, height
        self.figure = Figure(figsize=(WIDTH / 72, height / 72))
        self.data = 0

    def axes(self, left, right, top, bottom):
        """Axes whose margins to the edges of the figure are these, in pixels."""
        return self.figure.add_axes([left / WIDTH, bottom / self.height, (WIDTH - left - right) / WIDTH,
                                     (self.height - top - bottom) / self.height])

    def mark(self, artist, count):
        """Declares the artist as `count` data."""
        artist.set_gid("data")
        self.data += count

    def place(self, axes, x, y):
        """Where a point of the axes lies, in pixels from the lower left."""
        return axes.transData.transform((x, y))

    def text(self, x, y, words, colour="ink", size=SMALL, across="left", **more):
        self.figure.text(x / WIDTH, y / self.height, words, color=palette.light(colour), fontsize=size, ha=across,
                         va="center_baseline", **more)

    def line(self, points, colour, width=0.7, **more):
        xs, ys = zip(*points)
        line = matplotlib.lines.Line2D([x / WIDTH for x in xs], [y / self.height for y in ys], color=colour,
                                       linewidth=width, transform=self.figure.transFigure, **more)
        self.figure.add_artist(line)
        return line

    def sign(self, x, y, look, variant, size=5.5):
        self.line([(x, y)], look.colour[variant], marker=look.marker[variant], markersize=size, linestyle="none",
                  markeredgewidth=0)

    def labels(self, axes, ends, look):
        """Names to the right of the axes, in the order of the ends {variant: (x, y) of the axes}, each tied to its own."""
        places = {variant: self.place(axes, *end) for variant, end in ends.items()}
        order = sorted(places, key=lambda variant: places[variant][1])
        edge = axes.get_position().x1 * WIDTH
        heights = spread([places[variant][1] for variant in order], SMALL + 2.5, SMALL, self.height - SMALL / 2)
        for variant, height in zip(order, heights):
            self.line([places[variant], (edge + 6, height), (edge + 10, height)], look.colour[variant], 0.6, alpha=0.45)
            self.sign(edge + 13, height, look, variant, 5)
            self.text(edge + 19, height, look.title[variant])

    def svg(self):
        """For the text of a page: no ids that are not used, and colours that follow the theme."""
        file = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": self.name}):
            self.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        svg = file.getvalue()
        svg = svg[svg.index("<svg"):]
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
        svg = re.sub(r'<g id="data">', '<g class="data">', svg)
        svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
        head = (f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{html.escape(self.alternative)}" '
                'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">')
        svg = head + svg[svg.index(">") + 1:]
        svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)  # the page's own face
        return palette.to_css(re.sub(r"\n\s*", "\n", svg)).strip()

    def png(self, path, scale=2):
        self.figure.savefig(path, format="png", dpi=72 * scale, facecolor=palette.light("ground"))


def spread(wanted, gap, low, high):
    """Places as near to those wanted (ascending) as can be, `gap` apart, from low to high."""
    blocks = []  # (sum of the wanted places less the offsets in the block, count)
    for place in wanted:
        blocks.append((place, 1))
        while len(blocks) > 1:
            (first, m), (second, n) = blocks[-2], blocks[-1]
            if first / m + gap * m <= second / n:
                break
            blocks[-2:] = [(first + second - gap * m * n, m + n)]
    places = [total / count + gap * i for total, count in blocks for i in range(count)]
    for i, place in enumerate(places):
        places[i] = max(place, low + gap * i)
    for i in range(len(places)):
        limit = high - gap * i
        places[-1 - i] = min(places[-1 - i], limit)
    return places


def ticks(axis, values, texts):
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels(texts)


def grid(axes, which="y"):
    axes.grid(True, axis=which, color=palette.light("rule"), linewidth=0.6)
