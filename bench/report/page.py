"""One page that shows all tables and figures, and needs no other file."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure.machine import summarise_machine
from bench.report.figures import Picture
from bench.report.scores import Scores
from bench.report.tables import Table

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 3px 9px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
tbody th, thead th:first-child { text-align: left; }
tbody th { font-weight: 500; }
thead th { border-bottom: 2px solid #888; }
table.notes td { text-align: left; white-space: normal; }
.wide { overflow-x: auto; }
img { max-width: 100%; }
figure { margin: 1.5em 0; }
figcaption { color: #555; }
nav a { margin-right: 1em; }
"""
INTRODUCTION = """
<p>RT is the time of a method relative to the reference, ΔRO its objective relative to the reference minus one, both in
percent; the objective is the sum over all rows of the distance to the nearest medoid, computed in float64 from the
medoids that a method returned. Three figures are ours (standard deviation over seeds) / the paper's / the difference.
“–” means that there is no result: the table of missing runs has the reason.</p>
<p>“OneBatchPAM (default)” is what a user of this package gets: a progressive batch, refined. “As published” has the
weights of the authors' code, q instead of 1/q. The centres of k-means are “snapped” to the nearest row not taken yet.
The rows of the paper are our code, but BanditPAM++ is the package of its authors behind our interface; onebatch,
kmedoids, banditpam and scikit-learn are called as they are installed.</p>
"""


@dataclass(frozen=True)
class Section:
    """An experiment on the page."""

    scores: Scores
    pictures: Sequence[Picture]
    tables: Sequence[Table]

    @property
    def title(self) -> str:
        name, config = self.scores.name, self.scores.config
        return html.escape(config.title if name == config.name else f"{config.title} ({name})")


def render(sections: Sequence[Section]) -> str:
    """Return the page as HTML."""
    links = "".join(f'<a href="#{section.scores.name}">{section.title}</a>' for section in sections)
    body = "\n".join(_render_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>onebatchpam: benchmarks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>onebatchpam: benchmarks</h1>\n<nav>{links}</nav>{INTRODUCTION}{body}\n</body>\n</html>\n"
    )


def _render_section(section: Section) -> str:
    records = section.scores.records.values()
    machines = dict.fromkeys(summarise_machine(record["machine"], record["threads"]) for record in records)
    return (
        f'<h2 id="{section.scores.name}">{section.title}</h2>\n'
        f"<p>Metric {html.escape(section.scores.config.metric)}; measured with:</p>\n"
        f"<ul>{''.join(f'<li>{html.escape(machine)}</li>' for machine in machines)}</ul>\n"
        + "".join(table.as_html() for table in section.tables)
        + "".join(_render_picture(picture) for picture in section.pictures)
    )


def _render_picture(picture: Picture) -> str:
    content = base64.b64encode(picture.path.read_bytes()).decode()
    title = html.escape(picture.title)
    image = f'<img alt="{title}" src="data:image/png;base64,{content}">'
    return f"<figure>{image}<figcaption>{title}</figcaption></figure>\n"
