"""The colours of the page, in light and dark, and each variant's colour and marker, the same in every plot.

A family has a hue (after Okabe and Ito: told apart with any colour vision, and each dark or light enough for its ground),
a variant within it a marker. Figures are drawn in the light colours, and to_css() then makes each of them a CSS variable,
so that one picture serves both.
"""

# name: (light, dark)
COLOURS = {
    "ink": ("#1b1f24", "#e8eaed"),
    "faint": ("#59636f", "#a4adb8"),
    "rule": ("#d4d9df", "#3b424b"),
    "ground": ("#fefefe", "#181b1f"),
    "naive": ("#c24a00", "#ff9457"),
    "split": ("#967000", "#e6be3c"),
    "register": ("#0067a6", "#62b5f0"),
    "shared": ("#00805f", "#3cc9a0"),
    "cache-aware": ("#9b3f7b", "#e693c4"),
    "framework": ("#6a51a3", "#b7a5e8"),
}
FAMILIES = {"ceiling": "ink"}  # those whose colour has another name
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "p", "<", ">", "h", "*"]


def light(name):
    return COLOURS[name][0]


def to_css(svg):
    for name, (colour, _) in COLOURS.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg


def variables(theme):
    """The declarations of the variables for "light" or "dark"."""
    return " ".join(f"--{name}: {pair[theme == 'dark']};" for name, pair in COLOURS.items())


class Look:
    """The colour, the marker and the title of each variant of the profiles."""

    def __init__(self, measurements):
        self.colour, self.marker, self.title = {}, {}, {}
        members = {}
        for m in measurements:
            if m.variant in self.colour:
                continue
            place = members.setdefault(m.family, [])
            place.append(m.variant)
            name = FAMILIES.get(m.family, m.family)
            self.colour[m.variant] = light(name if name in COLOURS else "faint")
            self.marker[m.variant] = MARKERS[(len(place) - 1) % len(MARKERS)]
            self.title[m.variant] = m.variant + (" (ceiling)" if m.family == "ceiling" else "")
