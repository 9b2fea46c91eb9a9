"""The tables of the paper from our records, its own figures beside ours, as Markdown, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.data.sets import DATASETS
from bench.report import paper
from bench.report.scores import Cell, Scores, Spread, slug

MISSING = "–"
MEASURES = {"rt": "RT", "delta_ro": "ΔRO"}


@dataclass(frozen=True)
class Entry:
    """Our figure for something, and the paper's."""

    ours: Spread | None
    published: Spread | None = None
    n_expected: int = 1

    def text(self) -> str:
        """Return "ours (std) / paper / difference", as much of it as there is."""
        if self.ours is None:
            return MISSING if self.published is None else f"{MISSING} / {number(self.published.mean)} / {MISSING}"
        text = number(self.ours.mean)
        if self.ours.std is not None:
            text += f" ({number(self.ours.std)})"
        if self.ours.n_cells < self.n_expected:
            text += f" [{self.ours.n_cells} of {self.n_expected}]"
        if self.published is not None:
            difference = self.difference
            text += f" / {number(self.published.mean)} / {MISSING if difference is None else signed(difference)}"
        return text

    @property
    def difference(self) -> float | None:
        """Return by how much ours is larger, unless it lacks some of what the paper's is an average of."""
        if self.ours is None or self.published is None or self.ours.n_cells < self.n_expected:
            return None
        return self.ours.mean - self.published.mean

    def values(self) -> list[float | int | str]:
        """Return the numbers, in the order of `COLUMNS`."""
        ours, published = self.ours, self.published
        numbers = (
            ours.mean if ours else None,
            ours.std if ours else None,
            published.mean if published else None,
            published.std if published else None,
            self.difference,
            ours.n_cells if ours else 0,
            self.n_expected,
        )
        return ["" if each is None else each for each in numbers]

    COLUMNS = ("mean", "std", "paper mean", "paper std", "difference", "cells", "cells expected")


@dataclass(frozen=True)
class Table:
    """Rows of entries or of plain text under a heading."""

    slug: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Entry | str]]]
    corner: str = "method"

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", *([self.note, ""] if self.note else [])]
        lines.append(_line([self.corner, *self.columns]))
        lines.append("|" + "---|" * (len(self.columns) + 1))
        lines += [_line([label, *(_text(entry) for entry in entries)]) for label, entries in self.rows]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        plain = not any(isinstance(entry, Entry) for _, entries in self.rows for entry in entries)
        parts = [""] if plain else [f" {name}" for name in Entry.COLUMNS]
        writer.writerow([self.corner, *(column + part for column in self.columns for part in parts)])
        for label, entries in self.rows:
            values = ([entry] if isinstance(entry, str) else entry.values() for entry in entries)
            writer.writerow([label, *(value for each in values for value in each)])
        return out.getvalue()

    def html(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in [self.corner, *self.columns])
        body = "".join(
            f"<tr><th>{html.escape(label)}</th>"
            + "".join(f"<td>{html.escape(_text(entry))}</td>" for entry in entries)
            + "</tr>\n"
            for label, entries in self.rows
        )
        note = f"<p>{html.escape(self.note)}</p>\n" if self.note else ""
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
        return f'<h3>{html.escape(self.title)}</h3>\n{note}<div class="wide">{table}</div>\n'


def number(value: float) -> str:
    """Return a percentage as the paper prints them, with more digits where one would be nothing."""
    if abs(value) < 1e-9:  # what is left of a difference of equal means
        return "0.0"
    return f"{value:.1f}" if abs(value) >= 0.1 else f"{value:.2g}"


def signed(difference: float) -> str:
    """Return a difference with its sign, which zero has not."""
    return "0.0" if round(difference, 1) == 0 else f"{difference:+.1f}"


def _text(entry: Entry | str) -> str:
    return entry if isinstance(entry, str) else entry.text()


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(part.replace("|", "\\|") for part in parts) + " |"


def tables(scores: Scores) -> list[Table]:
    """Return all tables of an experiment."""
    return [
        summary(scores),
        *(per_dataset(scores, measure) for measure in MEASURES),
        per_k(scores),
        *(per_k(scores, dataset) for dataset in scores.datasets if has_results(scores, dataset)),
        details(scores),
        missing(scores),
    ]


def average(scores: Scores, method: str, datasets: Sequence[str], ks: Sequence[int], measure: str) -> Entry:
    """Return a figure over data sets and k; the paper's only where it is over the same."""
    ours = Spread.average(getattr(cell, measure) for cell in scores.pick(method, datasets, ks))
    n_expected = len(
        {(each.dataset, each.k) for each in scores.cells.values() if each.dataset in datasets and each.k in ks}
    )
    scale = paper_scale(scores)
    if scale is None or tuple(ks) != paper.KS:
        return Entry(ours, None, n_expected)
    scope = [name for name in datasets if name in paper.datasets(scale)]
    return Entry(ours, paper.figure(scale, scope, measure, method), n_expected)


def paper_scale(scores: Scores) -> str | None:
    """Return the scale of the paper's tables that ours can be compared with, if they can."""
    comparable = scores.is_of_the_papers_data and tuple(scores.ks) == paper.KS and not scores.is_relative_to_another
    return scores.config.paper if comparable else None


def has_results(scores: Scores, dataset: str) -> bool:
    """Say whether any method has a score on a data set."""
    return any(cell.dataset == dataset and cell.delta_ro is not None for cell in scores.cells.values())


def shared_datasets(scores: Scores) -> list[str]:
    """Return the data sets to average over: those with results, and of the paper's if there are any."""
    with_results = [name for name in scores.datasets if has_results(scores, name)]
    with_results = [name for name in with_results if name in DATASETS] or with_results  # whole ones if there are any
    if scores.config.paper is None:
        return with_results
    return [name for name in with_results if name in paper.datasets(scores.config.paper)] or with_results


def summary(scores: Scores) -> Table:
    """Table 2: averages over data sets and k."""
    scope = shared_datasets(scores)
    rows = [
        (method, [average(scores, method, scope, scores.ks, measure) for measure in MEASURES])
        for method in scores.methods
        if scores.pick(method, scope, scores.ks)
    ]
    note = f"Averages over {', '.join(scope) or 'nothing'} and k = {_list(scores.ks)}. {_legend(scores)}"
    scale = paper_scale(scores)
    if scale is not None and set(scope) < set(paper.datasets(scale)):
        note += " The paper's figures are averaged over the same data sets."
    return Table(f"{scores.name}-summary", f"{scores.config.title}: summary", note, list(MEASURES.values()), rows)


def per_dataset(scores: Scores, measure: str) -> Table:
    """The appendix: averages over k."""
    rows = [
        (method, [average(scores, method, [dataset], scores.ks, measure) for dataset in scores.datasets])
        for method in scores.methods
    ]
    title = f"{scores.config.title}: {MEASURES[measure]} per data set"
    note = f"Averages over k = {_list(scores.ks)}. {_legend(scores)}"
    return Table(f"{scores.name}-{measure.replace('_', '-')}-per-dataset", title, note, scores.datasets, rows)


def per_k(scores: Scores, dataset: str | None = None) -> Table:
    """The same for each k, over all data sets or for one of them; the paper does not print these."""
    scope = shared_datasets(scores) if dataset is None else [dataset]
    ks = sorted({cell.k for cell in scores.cells.values() if cell.dataset in scope})
    rows = [
        (method, [average(scores, method, scope, [k], measure) for measure in MEASURES for k in ks])
        for method in scores.methods
        if scores.pick(method, scope, ks)
    ]
    columns = [f"{label}, k = {k}" for label in MEASURES.values() for k in ks]
    where = f"averages over {', '.join(scope)}" if dataset is None else dataset
    table_slug = f"{scores.name}-per-k" if dataset is None else f"{scores.name}-per-k-{slug(dataset)}"
    return Table(
        table_slug, f"{scores.config.title}: per k, {where}", _legend(scores, beside_paper=False), columns, rows
    )


DETAILS = ("seconds", "objective", "rt", "delta_ro", "paired_delta_ro")


def details(scores: Scores) -> Table:
    """Every cell in absolute figures too."""
    columns = [
        "k",
        "method",
        *(f"{name}{part}" for name in DETAILS for part in ("", " std")),
        "peak MB",
        "distances",
        "missing seeds",
    ]
    rows = []
    for cell in scores.cells.values():
        spreads: list[Spread | None] = [getattr(cell, name) for name in DETAILS]
        values = [value for spread in spreads for value in (spread and spread.mean, spread and spread.std)]
        values += [cell.peak_bytes and cell.peak_bytes / 1e6, cell.n_distances]
        texts = ["" if value is None else f"{value:.6g}" for value in values]
        rows.append((cell.dataset, [str(cell.k), cell.method, *texts, str(len(cell.faults))]))
    return Table(f"{scores.name}-details", f"{scores.config.title}: all figures", "", columns, rows, "data set")


def missing(scores: Scores) -> Table:
    """What has no result, and why: runs with the same reason are told together."""
    alike: dict[tuple[str, str], list[Cell]] = {}
    for cell in scores.cells.values():
        for fault in cell.faults:
            alike.setdefault((cell.dataset, fault), []).append(cell)
    rows = []
    for (dataset, fault), cells in alike.items():
        methods = list(dict.fromkeys(cell.method for cell in cells))
        ks = sorted({cell.k for cell in cells})
        who = "all" if methods == scores.methods else ", ".join(methods)
        rows.append((dataset, [_list(ks), who, str(len(cells)), fault]))
    note = "" if rows else "Nothing is missing."
    columns = ["k", "methods", "runs", "reason"]
    return Table(f"{scores.name}-missing", f"{scores.config.title}: missing runs", note, columns, rows, "data set")


def _legend(scores: Scores, *, beside_paper: bool = True) -> str:
    text = f"In percent, relative to {scores.reference}; in brackets the standard deviation over seeds."
    text += " [i of j]: an average over what there is."
    if scores.time == "selection":
        text += " Times are without the labels of all rows."
    if beside_paper and paper_scale(scores) is not None:
        text += " Ours (std) / the paper's / the difference."
    return text


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
