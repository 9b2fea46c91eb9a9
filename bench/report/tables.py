"""The tables of the paper from our records, its own figures beside ours, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.data.sets import DATASETS
from bench.report import paper
from bench.report.scores import Cell, Scores, Spread, slugify

MISSING = "–"
MEASURES = {"rt": "RT", "delta_ro": "ΔRO"}
DETAILS = ("seconds", "objective", "rt", "delta_ro", "paired_delta_ro")


def unfold(spread: Spread | None) -> tuple[float | None, float | None]:
    """Return mean and standard deviation."""
    return (None, None) if spread is None else (spread.mean, spread.std)


@dataclass(frozen=True)
class Entry:
    """Our figure, and the paper's beside it."""

    ours: Spread | None
    published: Spread | None = None
    n_expected: int = 1  # the number of cells that ours should be an average of

    COLUMNS = ("mean", "std", "paper mean", "paper std", "difference", "cells", "cells expected")

    @property
    def difference(self) -> float | None:
        """Return by how much ours is larger, unless ours lacks cells that the paper's average has."""
        if self.ours is None or self.published is None or self.ours.n_cells < self.n_expected:
            return None
        return self.ours.mean - self.published.mean

    def __str__(self) -> str:
        """Return "ours (std) / paper / difference", as far as they are known."""
        text = MISSING if self.ours is None else format_number(self.ours.mean)
        if self.ours is not None and self.ours.std is not None:
            text += f" ({format_number(self.ours.std)})"
        if self.ours is not None and self.ours.n_cells < self.n_expected:
            text += f" [{self.ours.n_cells} of {self.n_expected}]"
        if self.published is not None:
            difference = MISSING if self.difference is None else format_signed(self.difference)
            text += f" / {format_number(self.published.mean)} / {difference}"
        return text

    def list_values(self) -> list[float | int | None]:
        """Return the numbers in the order of `COLUMNS`."""
        n_cells = 0 if self.ours is None else self.ours.n_cells
        return [*unfold(self.ours), *unfold(self.published), self.difference, n_cells, self.n_expected]


@dataclass(frozen=True)
class Table:
    """Rows of figures, or of plain text, under a heading."""

    slug: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Entry | str]]]
    corner: str = "method"

    @property
    def is_text(self) -> bool:
        return not any(isinstance(entry, Entry) for _, entries in self.rows for entry in entries)

    def as_markdown(self) -> str:
        lines = [f"### {self.title}", "", *([self.note, ""] if self.note else [])]
        lines.append(_join_cells([self.corner, *self.columns]))
        lines.append("|" + "---|" * (len(self.columns) + 1))
        lines += [_join_cells([label, *map(str, entries)]) for label, entries in self.rows]
        return "\n".join(lines) + "\n"

    def as_csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")  # it writes None as an empty field
        parts = [""] if self.is_text else [f" {name}" for name in Entry.COLUMNS]
        writer.writerow([self.corner, *(column + part for column in self.columns for part in parts)])
        for label, entries in self.rows:
            values = ([entry] if isinstance(entry, str) else entry.list_values() for entry in entries)
            writer.writerow([label, *(value for each in values for value in each)])
        return out.getvalue()


def _join_cells(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def format_number(value: float) -> str:
    """Return a percentage as the paper prints them, with more digits if it would round to nothing."""
    if abs(value) < 1e-9:  # the rounding error of a difference of equal means
        return "0.0"
    return f"{value:.1f}" if abs(value) >= 0.1 else f"{value:.2g}"


def format_signed(difference: float) -> str:
    """Return a difference with its sign; zero has none."""
    return "0.0" if round(difference, 1) == 0 else f"{difference:+.1f}"


def make_tables(scores: Scores) -> list[Table]:
    """Return all tables of an experiment that are for reading."""
    return [
        summarise(scores),
        *(tabulate_datasets(scores, measure) for measure in MEASURES),
        tabulate_ks(scores),
        *(tabulate_ks(scores, dataset) for dataset in scores.datasets if has_results(scores, dataset)),
        tabulate_missing(scores),
    ]


def average(scores: Scores, method: str, datasets: Sequence[str], ks: Sequence[int], measure: str) -> Entry:
    """Return a figure over data sets and k, beside the paper's if that is over the same."""
    ours = Spread.average(getattr(cell, measure) for cell in scores.pick(method, datasets, ks))
    cells = {(cell.dataset, cell.k) for cell in scores.cells.values() if cell.dataset in datasets and cell.k in ks}
    scale = find_paper_scale(scores)
    if scale is None or tuple(ks) != paper.KS:
        return Entry(ours, None, len(cells))
    scope = [name for name in datasets if name in paper.list_datasets(scale)]
    return Entry(ours, paper.find_figure(scale, scope, measure, method), len(cells))


def find_paper_scale(scores: Scores) -> str | None:
    """Return the scale of the paper's tables that these scores can be compared with; None if they cannot."""
    comparable = scores.has_papers_data and tuple(scores.ks) == paper.KS and not scores.has_other_reference
    return scores.config.paper if comparable else None


def has_results(scores: Scores, dataset: str) -> bool:
    """Say whether any method has a score on a data set."""
    return any(cell.dataset == dataset and cell.delta_ro is not None for cell in scores.cells.values())


def choose_datasets(scores: Scores) -> list[str]:
    """Return the data sets to average over: those with results, if possible whole ones, if possible the paper's."""
    with_results = [name for name in scores.datasets if has_results(scores, name)]
    with_results = [name for name in with_results if name in DATASETS] or with_results
    if scores.config.paper is None:
        return with_results
    return [name for name in with_results if name in paper.list_datasets(scores.config.paper)] or with_results


def summarise(scores: Scores) -> Table:
    """Return the paper's Table 2: averages over data sets and k."""
    scope = choose_datasets(scores)
    rows = [
        (method, [average(scores, method, scope, scores.ks, measure) for measure in MEASURES])
        for method in scores.methods
        if scores.pick(method, scope, scores.ks)
    ]
    note = f"Averages over {', '.join(scope) or 'nothing'} and k = {_join(scores.ks)}. {_explain(scores)}"
    scale = find_paper_scale(scores)
    if scale is not None and set(scope) < set(paper.list_datasets(scale)):
        note += " The paper's figures are averaged over the same data sets."
    return Table(f"{scores.name}-summary", f"{scores.config.title}: summary", note, list(MEASURES.values()), rows)


def tabulate_datasets(scores: Scores, measure: str) -> Table:
    """Return a table of the paper's appendix: averages over k for each data set."""
    rows = [
        (method, [average(scores, method, [dataset], scores.ks, measure) for dataset in scores.datasets])
        for method in scores.methods
    ]
    title = f"{scores.config.title}: {MEASURES[measure]} per data set"
    note = f"Averages over k = {_join(scores.ks)}. {_explain(scores)}"
    return Table(f"{scores.name}-{slugify(measure)}-per-dataset", title, note, scores.datasets, rows)


def tabulate_ks(scores: Scores, dataset: str | None = None) -> Table:
    """Return figures for each k, averaged over data sets or for one of them; the paper does not print these."""
    scope = choose_datasets(scores) if dataset is None else [dataset]
    ks = sorted({cell.k for cell in scores.cells.values() if cell.dataset in scope})
    rows = [
        (method, [average(scores, method, scope, [k], measure) for measure in MEASURES for k in ks])
        for method in scores.methods
        if scores.pick(method, scope, ks)
    ]
    columns = [f"{label}, k = {k}" for label in MEASURES.values() for k in ks]
    where = f"averages over {', '.join(scope)}" if dataset is None else dataset
    slug = f"{scores.name}-per-k" if dataset is None else f"{scores.name}-per-k-{slugify(dataset)}"
    note = _explain(scores, beside_paper=False)
    return Table(slug, f"{scores.config.title}: per k, {where}", note, columns, rows)


def tabulate_details(scores: Scores) -> Table:
    """Return every cell with its absolute figures; this table is for machines."""
    spreads = [f"{name}{part}" for name in DETAILS for part in ("", " std")]
    columns = ["k", "method", *spreads, "peak MB", "distances", "missing seeds"]
    rows = []
    for cell in scores.cells.values():
        values = [value for name in DETAILS for value in unfold(getattr(cell, name))]
        values += [cell.peak_bytes and cell.peak_bytes / 1e6, cell.n_distances]
        texts = ["" if value is None else f"{value:.6g}" for value in values]
        rows.append((cell.dataset, [str(cell.k), cell.method, *texts, str(len(cell.faults))]))
    return Table(f"{scores.name}-details", f"{scores.config.title}: all figures", "", columns, rows, "data set")


def tabulate_missing(scores: Scores) -> Table:
    """Return which runs have no result and why, those with the same reason together."""
    alike: dict[tuple[str, str], list[Cell]] = {}
    for cell in scores.cells.values():
        for fault in cell.faults:
            alike.setdefault((cell.dataset, fault), []).append(cell)
    rows = []
    for (dataset, fault), cells in alike.items():
        methods = list(dict.fromkeys(cell.method for cell in cells))
        who = "all" if methods == scores.methods else ", ".join(methods)
        rows.append((dataset, [_join(sorted({cell.k for cell in cells})), who, str(len(cells)), fault]))
    note = "" if rows else "Nothing is missing."
    columns = ["k", "methods", "runs", "reason"]
    return Table(f"{scores.name}-missing", f"{scores.config.title}: missing runs", note, columns, rows, "data set")


def _explain(scores: Scores, *, beside_paper: bool = True) -> str:
    text = f"In percent, relative to {scores.reference}; in brackets the standard deviation over seeds."
    text += " [i of j]: an average over what there is."
    if scores.time == "selection":
        text += " Times are without the labels of all rows."
    if beside_paper and find_paper_scale(scores) is not None:
        text += " Ours (std) / the paper's / the difference."
    return text


def _join(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
