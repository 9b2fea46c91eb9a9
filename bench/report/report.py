"""`python -m bench tables` and `python -m bench figures`: what the records say, in files and on one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.measure.config import ConfigError, read_config
from bench.measure.records import Store, add_results_option, stores
from bench.report.scores import TIMES, Scores, name_in_terms
from bench.report.tables import Table, tables


def chosen_scores(arguments: argparse.Namespace) -> list[Scores]:
    """Return the scores of the experiments that were named, or of all that have records."""
    available = {store.name: store for store in stores(arguments.results)}
    unknown = [name for name in arguments.experiments if name not in available]
    if unknown or not available:
        there = ", ".join(available) or "no records at all"
        raise FileNotFoundError(f"no records of {', '.join(unknown) or 'anything'} in {arguments.results}: {there}")
    chosen = arguments.experiments or available
    return [scores_of(available[name], arguments.reference, arguments.time) for name in chosen]


def scores_of(store: Store, reference: str | None = None, time: str = "call") -> Scores:
    """Return the scores of an experiment."""
    if not store.config.exists():
        raise ConfigError(f"{store.config} is missing: `python -m bench run` lays it beside the records")
    return Scores(store, read_config(store.config), reference, time)


def write_tables(arguments: argparse.Namespace) -> None:
    """Print the tables, but for the long list of all figures, and write all of them as Markdown and CSV."""
    folder: Path = arguments.results / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    for scores in chosen_scores(arguments):
        all_tables = tables(scores)
        shown = [table for table in all_tables if not is_long(table)]
        (folder / f"{scores.name}.md").write_text("\n".join(table.markdown() for table in shown))
        for table in all_tables:
            (folder / f"{table.slug}.csv").write_text(table.csv())
        for table in shown:
            print(table.markdown())
    print(f"also in {folder}, with all figures as CSV")


def is_long(table: Table) -> bool:
    """Say whether a table is for machines rather than for reading."""
    return table.slug.endswith("-details")


def write_figures(arguments: argparse.Namespace) -> None:
    """Draw the figures of all experiments, and put them on one page with the tables."""
    from bench.report import figures, page

    folder: Path = arguments.results / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for scores in chosen_scores(arguments):
        drawn = figures.draw(scores, folder)
        sections.append(page.Section(scores, drawn, [table for table in tables(scores) if not is_long(table)]))
        for picture in drawn:
            print(picture.path)
    path = arguments.results / f"{name_in_terms('report', arguments.reference, arguments.time)}.html"
    path.write_text(page.render(sections))
    print(path)


def add_command(commands: Any) -> None:
    """Add `tables` and `figures` to the command line."""
    for name, run, text in (
        ("tables", write_tables, "the paper's tables from the records, as Markdown and CSV"),
        ("figures", write_figures, "the paper's figures from the records, and a page with all of it"),
    ):
        parser = commands.add_parser(name, help=text)
        parser.add_argument("experiments", nargs="*", metavar="experiment", help="all that have records unless given")
        parser.add_argument("--reference", metavar="METHOD", help="relative to this method, not the experiment's")
        parser.add_argument(
            "--time",
            choices=list(TIMES),
            default="call",
            help="of the whole call, or without labelling all rows, which the paper's times do not have (%(default)s)",
        )
        add_results_option(parser)
        parser.set_defaults(run=run)
