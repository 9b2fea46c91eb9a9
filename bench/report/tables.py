"""The tables of the paper from our records, its own figures beside ours, as Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.data.sets import DATASETS
from bench.report import paper
from bench.report.intervals import compare, rank_methods
from bench.report.scores import ABSOLUTE, CASE, COSTS, RELATIVE, Scores, slugify

MISSING = "–"
MEASURES = {"rt": "RT", "delta_ro": "ΔRO"}


@dataclass(frozen=True)
class Table:
    """Texts under a heading, and the numbers behind them if there are any. The index is the first column."""

    slug: str
    title: str
    note: str
    texts: pd.DataFrame
    numbers: pd.DataFrame | None = None

    @property
    def corner(self) -> str:
        return str(self.texts.index.name)

    @property
    def columns(self) -> list[str]:
        return list(self.texts.columns)

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The label of every row, and its other texts."""
        return [(str(label), list(entries)) for label, *entries in self.texts.itertuples(name=None)]

    @property
    def is_text(self) -> bool:
        return self.numbers is None

    def as_markdown(self) -> str:
        heading = [f"### {self.title}", "", *([self.note, ""] if self.note else [])]
        return "\n".join(heading) + "\n" + draw_markdown(self.texts)

    def as_csv(self) -> str:
        shown = self.texts if self.numbers is None else self.numbers
        return str(shown.to_csv(lineterminator="\n"))


def draw_markdown(texts: pd.DataFrame) -> str:
    """Return a table in Markdown; pandas would need one more package for it."""
    head = [_join_cells([texts.index.name, *texts.columns]), "|" + "---|" * (len(texts.columns) + 1)]
    return "\n".join([*head, *map(_join_cells, texts.itertuples(name=None))]) + "\n"


def _join_cells(texts: Iterable[object]) -> str:
    return "| " + " | ".join(str(text).replace("|", "\\|") for text in texts) + " |"


# Figures as text


def format_number(value: float) -> str:
    """Return a percentage as the paper prints them, with more digits if it would round to nothing."""
    if abs(value) < 1e-9:  # the rounding error of a difference of equal means
        return "0.0"
    return f"{value:.1f}" if abs(value) >= 0.1 else f"{value:.2g}"


def format_signed(difference: float) -> str:
    """Return a difference with its sign; zero has none."""
    return "0.0" if round(difference, 1) == 0 else f"{difference:+.1f}"


def format_spread(mean: float, std: float) -> str:
    """Return a mean, with its standard deviation in brackets if that is known."""
    text = MISSING if pd.isna(mean) else format_number(mean)
    return text if pd.isna(std) else f"{text} ({format_number(std)})"


def format_entry(entry: pd.Series) -> str:
    """Return "ours (std) / paper (std) / difference", as far as they are known."""
    text = format_spread(entry["mean"], entry["std"])
    if 0 < entry["cells"] < entry["cells expected"]:
        text += f" [{entry['cells']:.0f} of {entry['cells expected']:.0f}]"
    if pd.notna(entry["paper mean"]):
        difference = MISSING if pd.isna(entry["difference"]) else format_signed(entry["difference"])
        text += f" / {format_spread(entry['paper mean'], entry['paper std'])} / {difference}"
    return text


def format_range(least: float, largest: float) -> str:
    """Return two figures as a range; a missing one makes it missing."""
    return MISSING if pd.isna(least) or pd.isna(largest) else f"{format_number(least)} to {format_number(largest)}"


# Averages


def average(scores: Scores, datasets: Sequence[str], ks: Sequence[int], measure: str) -> pd.DataFrame:
    """Return a measure over data sets and k for each method, beside the paper's if that is over the same.

    As in the paper it is the mean of the means, and the mean of the standard deviations. There is no difference where
    ours lacks cells that the paper's average has.
    """
    cells = scores.pick(datasets, ks)
    methods = cells.groupby("method")
    found = pd.DataFrame(
        {
            "mean": methods[measure].mean(),
            "std": methods[f"{measure} std"].mean(),
            "cells": methods[measure].count(),
            "cells expected": len(cells.groupby(CASE)),
        }
    )
    scale = find_paper_scale(scores)
    scope = [] if scale is None else [name for name in datasets if name in paper.list_datasets(scale)]
    published = paper.find_figures(scale or "small", scope if tuple(ks) == paper.KS else [], measure)
    found = found.join(published.add_prefix("paper ")).reindex(scores.methods)
    complete = found["cells"] >= found["cells expected"]
    found["difference"] = (found["mean"] - found["paper mean"]).where(complete)
    return found.rename_axis("method")


def find_paper_scale(scores: Scores) -> str | None:
    """Return the scale of the paper's tables that these scores can be compared with; None if they cannot."""
    comparable = scores.has_papers_data and tuple(scores.ks) == paper.KS and not scores.has_other_reference
    return scores.config.paper if comparable else None


def has_results(scores: Scores, dataset: str) -> bool:
    """Say whether any method has a score on a data set."""
    return bool(scores.pick([dataset], scores.ks)["delta_ro"].notna().any())


def choose_datasets(scores: Scores) -> list[str]:
    """Return the data sets to average over: those with results, if possible whole ones, if possible the paper's."""
    with_results = [name for name in scores.datasets if has_results(scores, name)]
    with_results = [name for name in with_results if name in DATASETS] or with_results
    if scores.config.paper is None:
        return with_results
    return [name for name in with_results if name in paper.list_datasets(scores.config.paper)] or with_results


# Tables


def make_tables(scores: Scores) -> list[Table]:
    """Return all tables of an experiment that are for reading."""
    ranks = tabulate_ranks(scores)
    return [
        summarise(scores),
        tabulate_intervals(scores),
        *([ranks] if ranks is not None else []),
        *(tabulate_datasets(scores, measure) for measure in MEASURES),
        tabulate_ks(scores),
        *(tabulate_ks(scores, dataset) for dataset in scores.datasets if has_results(scores, dataset)),
        tabulate_missing(scores),
    ]


def _tabulate(slug: str, title: str, note: str, columns: dict[str, pd.DataFrame], methods: Iterable[str]) -> Table:
    """Return a table of averages, with a row for each method that has a cell somewhere."""
    numbers = pd.concat(columns, axis=1).loc[list(methods)]
    numbers = numbers[numbers.xs("cells", axis=1, level=1).notna().any(axis=1)]
    texts = pd.DataFrame(
        {name: [format_entry(entry) for _, entry in numbers[name].iterrows()] for name in columns}, index=numbers.index
    )
    return Table(slug, title, note, texts, numbers.set_axis([" ".join(pair) for pair in numbers.columns], axis=1))


def summarise(scores: Scores) -> Table:
    """Return the paper's Table 2: averages over data sets and k."""
    scope = choose_datasets(scores)
    columns = {label: average(scores, scope, scores.ks, measure) for measure, label in MEASURES.items()}
    note = f"Averages over {', '.join(scope) or 'nothing'} and k = {_join(scores.ks)}. {_explain(scores)}"
    scale = find_paper_scale(scores)
    if scale is not None and set(scope) < set(paper.list_datasets(scale)):
        note += " The paper's figures are averaged over the same data sets."
    return _tabulate(f"{scores.name}-summary", f"{scores.config.title}: summary", note, columns, scores.methods)


def tabulate_intervals(scores: Scores) -> Table:
    """Return averages with their confidence intervals, and the range of the cases."""
    scope = choose_datasets(scores)
    found = {
        label: compare(scores, measure, scope, scores.ks)
        for label, measure in (("ΔRO, paired", "paired_delta_ro"), ("RT", "rt"))
    }
    texts = pd.concat(
        {
            f"{label}{name}": each.apply(show, axis=1)
            for label, each in found.items()
            for name, show in (
                ("", lambda row: format_number(row["mean"])),
                (", 95 % interval", lambda row: format_range(row["low"], row["high"])),
                (", range of the cases", lambda row: format_range(row["least"], row["largest"])),
            )
        },
        axis=1,
    )
    numbers = pd.concat(found, axis=1)
    numbers = numbers.set_axis([" ".join(pair) for pair in numbers.columns], axis=1)
    note = (
        f"In percent, relative to {scores.reference} with the same seed; a case is one of {', '.join(scope)} with a k "
        "that has a result. The interval is that of the average over the cases, over the seeds that have all of them."
    )
    title = f"{scores.config.title}: intervals"
    return Table(f"{scores.name}-intervals", title, note, texts.rename_axis("method"), numbers.rename_axis("method"))


def tabulate_ranks(scores: Scores) -> Table | None:
    """Return the mean ranks of the methods that have a result in every case; None if they are too few."""
    ranking = rank_methods(scores, choose_datasets(scores), scores.ks)
    if ranking is None:
        return None
    numbers = ranking.mean_ranks.rename_axis("method").to_frame("mean rank")
    note = (
        f"By the objective, over {ranking.n_cases} cases; Friedman's test has p = {ranking.p_value:.1g}. Mean ranks "
        f"that differ by less than {ranking.critical_difference:.2f} (Nemenyi, 5 %) do not tell methods apart."
    )
    texts = numbers.map("{:.1f}".format)
    return Table(f"{scores.name}-ranks", f"{scores.config.title}: ranks", note, texts, numbers)


def tabulate_datasets(scores: Scores, measure: str) -> Table:
    """Return a table of the paper's appendix: averages over k for each data set."""
    columns = {dataset: average(scores, [dataset], scores.ks, measure) for dataset in scores.datasets}
    title = f"{scores.config.title}: {MEASURES[measure]} per data set"
    note = f"Averages over k = {_join(scores.ks)}. {_explain(scores)}"
    return _tabulate(f"{scores.name}-{slugify(measure)}-per-dataset", title, note, columns, scores.methods)


def tabulate_ks(scores: Scores, dataset: str | None = None) -> Table:
    """Return figures for each k, averaged over data sets or for one of them; the paper does not print these."""
    scope = choose_datasets(scores) if dataset is None else [dataset]
    ks = sorted(scores.pick(scope, scores.ks).index.unique("k"))
    columns = {
        f"{label}, k = {k}": average(scores, scope, [k], measure) for measure, label in MEASURES.items() for k in ks
    }
    where = f"averages over {', '.join(scope)}" if dataset is None else dataset
    slug = f"{scores.name}-per-k" if dataset is None else f"{scores.name}-per-k-{slugify(dataset)}"
    title = f"{scores.config.title}: per k, {where}"
    return _tabulate(slug, title, _explain(scores, beside_paper=False), columns, scores.methods)


def tabulate_details(scores: Scores) -> Table:
    """Return every cell with its absolute figures; this table is for machines."""
    spreads = [f"{name}{part}" for name in (*ABSOLUTE, *RELATIVE) for part in ("", " std")]
    numbers = scores.cells[[*spreads, *COSTS, "faults"]].reset_index(["k", "method"])
    title = f"{scores.config.title}: all figures"
    return Table(f"{scores.name}-details", title, "", numbers.astype(str), numbers)


def tabulate_missing(scores: Scores) -> Table:
    """Return which runs have no result and why, those with the same reason together."""
    rows = []
    for (dataset, fault), runs in scores.runs.dropna(subset=["fault"]).groupby(["dataset", "fault"], sort=False):
        methods = [method for method in scores.methods if method in set(runs["method"])]
        who = "all" if methods == scores.methods else ", ".join(methods)
        rows.append((dataset, _join(sorted(set(runs["k"]))), who, str(len(runs)), fault))
    texts = pd.DataFrame(rows, columns=["data set", "k", "methods", "runs", "reason"]).set_index("data set")
    note = "" if rows else "Nothing is missing."
    return Table(f"{scores.name}-missing", f"{scores.config.title}: missing runs", note, texts)


def _explain(scores: Scores, *, beside_paper: bool = True) -> str:
    text = f"In percent, relative to {scores.reference}; in brackets the standard deviation over seeds."
    text += " [i of j]: an average over what there is."
    if scores.time == "selection":
        text += " Times are without the labels of all rows."
    if beside_paper and find_paper_scale(scores) is not None:
        text += " Ours (std) / the paper's (std) / the difference."
    return text


def _join(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
