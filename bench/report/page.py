"""One page that shows all tables and figures and needs nothing else."""

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


@dataclass(frozen=True)
class Section:
    """An experiment on the page."""

    scores: Scores
    pictures: Sequence[Picture]
    tables: Sequence[Table]


def render(sections: Sequence[Section]) -> str:
    """Return the page."""
    links = "".join(f'<a href="#{section.scores.name}">{_title(section)}</a>' for section in sections)
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>onebatchpam: benchmarks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>onebatchpam: benchmarks</h1>\n<nav>{links}</nav>\n{_method()}{body}\n</body>\n</html>\n"
    )


def _method() -> str:
    return (
        "<p>RT is the time of a method relative to the reference, ΔRO its objective relative to the reference minus "
        "one, both in percent; the objective is the sum over all rows of the distance to the nearest medoid, computed "
        "in float64 from the medoids that a method returned. Where there are three figures they are ours (standard "
        "deviation over seeds) / the paper's / the difference. “–” means that there is no result: the "
        "reasons stand in the table of missing runs.</p>\n"
        "<p>“OneBatchPAM (default)” is what a user of this package gets: a progressive batch, refined. "
        "“As published” has the weights of the authors' code, q instead of 1/q. The centres of k-means are "
        "“snapped” to the nearest row not taken yet. The rows of the paper are our code, but BanditPAM++ is "
        "the package of its authors behind our interface; onebatch, kmedoids, banditpam and scikit-learn are called as "
        "they are installed.</p>\n"
    )


def _section(section: Section) -> str:
    pictures = "".join(_picture(picture) for picture in section.pictures)
    tables = "".join(_table(table) for table in section.tables)
    heading = f'<h2 id="{section.scores.name}">{_title(section)}</h2>'
    return f"{heading}\n{_machines(section.scores)}{tables}{pictures}"


def _title(section: Section) -> str:
    scores = section.scores
    title = scores.config.title if scores.name == scores.config.name else f"{scores.config.title} ({scores.name})"
    return html.escape(title)


def _table(table: Table) -> str:
    text = table.html()
    return text.replace("<table>", '<table class="notes">') if table.slug.endswith("-missing") else text


def _picture(picture: Picture) -> str:
    content = base64.b64encode(picture.path.read_bytes()).decode()
    title = html.escape(picture.title)
    image = f'<img alt="{title}" src="data:image/png;base64,{content}">'
    return f"<figure>{image}<figcaption>{title}</figcaption></figure>\n"


def _machines(scores: Scores) -> str:
    """Say what the runs were made with, once for each machine, set of versions and number of threads."""
    kinds = dict.fromkeys(summarise_machine(each["machine"], each["threads"]) for each in scores.records.values())
    lines = "".join(f"<li>{html.escape(kind)}</li>" for kind in kinds)
    return f"<p>Metric {html.escape(scores.config.metric)}; measured with:</p>\n<ul>{lines}</ul>\n"
