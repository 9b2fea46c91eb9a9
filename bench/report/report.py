"""`python -m bench tables`, `figures` and `report`: what the records say, on the screen, in files and on one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.measure.config import find_config, read_config
from bench.measure.records import Store, add_results_option, list_stores
from bench.report.figures import draw_figures
from bench.report.page import Section, render
from bench.report.scores import TIMES, Scores, name_in_terms
from bench.report.tables import Table, make_tables, tabulate_details


def read_scores(store: Store, reference: str | None = None, time: str = "call") -> Scores:
    """Return the scores of an experiment; records that name none are of the experiment with the name of the store."""
    records = store.read()
    experiments = [store.name, *(record["experiment"] for record in records.values() if "experiment" in record)]
    return Scores(store.name, records, read_config(find_config(experiments[-1])), reference, time)


def choose_scores(arguments: argparse.Namespace) -> list[Scores]:
    """Return the scores of the experiments that were named, or of all that have records."""
    stores = {store.name: store for store in list_stores(arguments.results)}
    unknown = [name for name in arguments.experiments if name not in stores]
    if unknown or not stores:
        known = ", ".join(stores) or "no records at all"
        raise FileNotFoundError(f"no records of {', '.join(unknown) or 'anything'} in {arguments.results}: {known}")
    return [read_scores(stores[name], arguments.reference, arguments.time) for name in arguments.experiments or stores]


def write_tables(scores: Scores, folder: Path) -> list[Table]:
    """Write the tables of an experiment as Markdown and CSV, all its figures as CSV only; return those for reading."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = make_tables(scores)
    (folder / f"{scores.name}.md").write_text("\n".join(table.as_markdown() for table in tables))
    for table in (*tables, tabulate_details(scores)):
        (folder / f"{table.slug}.csv").write_text(table.as_csv())
    return tables


def show_tables(arguments: argparse.Namespace) -> None:
    """Write the tables of all experiments and print those for reading."""
    folder = arguments.results / "tables"
    for scores in choose_scores(arguments):
        for table in write_tables(scores, folder):
            print(table.as_markdown())
    print(f"also in {folder}, with all figures as CSV")


def draw_page(arguments: argparse.Namespace) -> None:
    """Draw the figures of all experiments, and put them on one page with the tables."""
    folder = arguments.results / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for scores in choose_scores(arguments):
        sections.append(Section(scores, draw_figures(scores, folder), make_tables(scores)))
        for picture in sections[-1].pictures:
            print(picture.path)
    path = arguments.results / f"{name_in_terms('report', arguments.reference, arguments.time)}.html"
    path.write_text(render(sections))
    print(path)


def write_report(arguments: argparse.Namespace) -> None:
    """Write all tables, figures and the page that shows them."""
    folder = arguments.results / "tables"
    for scores in choose_scores(arguments):
        write_tables(scores, folder)
    print(folder)
    draw_page(arguments)


def add_command(commands: Any) -> None:
    """Add `tables`, `figures` and `report` to the command line."""
    for name, run, text in (
        ("tables", show_tables, "the paper's tables from the records, as Markdown and CSV"),
        ("figures", draw_page, "the paper's figures from the records, and a page with all of it"),
        ("report", write_report, "all tables and figures from the records, and the page, in files"),
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
