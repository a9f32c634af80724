"""A table for the page and for markdown: a title that begins with > stands over numbers, set to the right."""

from dataclasses import dataclass, field


@dataclass
class Table:
    titles: list
    rows: list = field(default_factory=list)
    caption: str = ""

    @property
    def columns(self):
        return [(title.lstrip(">"), title.startswith(">")) for title in self.titles]

    def markdown(self):
        def line(cells):
            return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
        rule = "|" + "|".join("--:" if right else "---" for _, right in self.columns) + "|"
        return "\n".join([line(title for title, _ in self.columns), rule, *map(line, self.rows)])
