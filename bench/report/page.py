"""One page that shows all tables and figures, and needs no other file; it is built on the templates of the package."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure.machine import summarise_machine
from bench.report.figures import Picture
from bench.report.scores import Scores
from bench.report.tables import Table
from onebatchpam.report import render as render_template

TEMPLATE = Path(__file__).with_name("page.html.j2")


@dataclass(frozen=True)
class Section:
    """An experiment on the page."""

    scores: Scores
    pictures: Sequence[Picture]
    tables: Sequence[Table]

    @property
    def anchor(self) -> str:
        return self.scores.name

    @property
    def title(self) -> str:
        name, config = self.scores.name, self.scores.config
        return config.title if name == config.name else f"{config.title} ({name})"

    @property
    def metric(self) -> str:
        return self.scores.config.metric

    @property
    def machines(self) -> list[str]:
        """The machines on which its runs were measured, each once."""
        records = self.scores.records.values()
        return list(dict.fromkeys(summarise_machine(record["machine"], record["threads"]) for record in records))

    @property
    def images(self) -> list[tuple[str, str]]:
        """The figures: the title of each, and an address that holds it."""
        contents = ((picture.title, base64.b64encode(picture.path.read_bytes()).decode()) for picture in self.pictures)
        return [(title, f"data:image/png;base64,{content}") for title, content in contents]


def render(sections: Sequence[Section]) -> str:
    """Return the page as HTML."""
    return render_template(TEMPLATE, sections=sections)
