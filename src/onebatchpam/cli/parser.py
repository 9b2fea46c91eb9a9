"""What may be typed: the commands, their options, and the texts of --help, which begin with examples."""

from __future__ import annotations

import argparse
import os
import textwrap
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from onebatchpam._core import __version__

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

FORMATS = ("csv", "tsv", "parquet", "arrow", "npy", "npz", "jsonl", "txt", "fasta")
DEMOS = ("addresses", "customers", "digits", "words")
SHELLS = ("bash", "zsh", "fish")
EFFORTS = ("auto", "fast", "balanced", "best")

DESCRIPTION = """
examples:
  onebatchpam demo                                        see it work, in less than a minute
  onebatchpam cluster customers.csv -k 8 -o segments      labels, medoids, model and a report to look at
  onebatchpam select embeddings.npy -k 1000 > rows.txt    the 1,000 rows that represent all others best
  onebatchpam predict segments new.csv > labels.csv       the cluster of new rows
  onebatchpam choose-k customers.csv -k 2:20              which number of clusters?

Find the rows of a file that stand for all others, and the clusters around them, by k-medoids.
"""

USAGES = {
    "cluster": "FILE -k K [-o DIR] [options]",
    "select": "FILE -k K [-o FILE] [options]",
    "predict": "DIR FILE [-o FILE] [options]",
    "choose-k": "FILE [-k 2:20] [options]",
    "estimate": "FILE -k K [options]",
    "report": "DIR FILE -o FILE [options]",
    "demo": f"[{'|'.join(DEMOS)}] [options]",
    "completion": f"{'|'.join(SHELLS)}",
}
EXAMPLES = {
    "cluster": """
        onebatchpam cluster customers.csv -k 8 -o segments
        onebatchpam cluster customers.csv -k 2:20 --id customer_id --drop name,notes -o segments
        onebatchpam cluster embeddings.parquet -k 500 --metric cosine --columns embedding -o topics
        zcat words.txt.gz | onebatchpam cluster - --format txt -k 40 > labels.csv
        onebatchpam cluster --config run.toml -o segments
        """,
    "select": """
        onebatchpam select embeddings.npy -k 1000 --metric cosine > indices.txt
        onebatchpam select docs.parquet -k 1000 --columns embedding -o subset.parquet
        onebatchpam select customers.csv -k 20 --rows
        """,
    "predict": """
        onebatchpam predict segments new.csv > labels.csv
        onebatchpam predict segments new.parquet -o labels.parquet
        """,
    "choose-k": """
        onebatchpam choose-k customers.csv -k 2:20
        onebatchpam choose-k points.npy -k 5,10,20,50 --json
        onebatchpam choose-k customers.csv -k 2:20 --plot k.png
        """,
    "estimate": """
        onebatchpam estimate embeddings.npy -k 1000 --metric cosine
        """,
    "report": """
        onebatchpam report segments customers.csv -o report.html
        """,
    "demo": """
        onebatchpam demo
        onebatchpam demo customers -o demo
        """,
    "completion": """
        onebatchpam completion bash >> ~/.bashrc
        onebatchpam completion zsh >> ~/.zshrc
        onebatchpam completion fish > ~/.config/fish/completions/onebatchpam.fish
        """,
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="onebatchpam",
        description=DESCRIPTION.strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="onebatchpam COMMAND --help says more about a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command", title="commands")
    add_cluster(commands)
    add_select(commands)
    add_predict(commands)
    add_choose_k(commands)
    add_estimate(commands)
    add_report(commands)
    add_demo(commands)
    add_completion(commands)
    return parser


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end the program then; a shell says so in its environment."""
    if "_ARGCOMPLETE" in os.environ:
        with suppress(ImportError):
            import_module("argcomplete").autocomplete(parser)


def add_command(commands: Commands, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a command, whose help begins with examples."""
    examples = textwrap.indent(textwrap.dedent(EXAMPLES[name]).strip(), "  ")
    return commands.add_parser(
        name,
        help=summary,
        usage=f"onebatchpam {name} {USAGES[name]}",
        description=f"examples:\n{examples}\n\n{summary[0].upper()}{summary[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_messages(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is said on stderr, which every command has."""
    group = parser.add_argument_group("messages")
    group.add_argument("-q", "--quiet", action="store_true", help="show only warnings and errors")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_input(parser: argparse.ArgumentParser, *, chooses_columns: bool = True) -> None:
    """Add the options for the file of data."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "file", metavar="FILE", nargs="?", help=f"data: {', '.join(FORMATS)}, a folder of Parquet files, or - for stdin"
    )
    group.add_argument("--input", metavar="FILE", help=argparse.SUPPRESS)  # FILE in a configuration file
    group.add_argument("--format", choices=FORMATS, help="format of FILE, if its suffix does not say it")
    group.add_argument("--delimiter", metavar="CHAR", help="what separates the columns of a csv file (default: comma)")
    group.add_argument("--no-header", action="store_true", help="the first line of a csv file is data, not names")
    if chooses_columns:
        group.add_argument("--columns", type=names, metavar="A,B", help="compare only these columns")
        group.add_argument("--drop", type=names, metavar="A,B", help="do not compare these columns")
        group.add_argument("--id", metavar="COLUMN", help="column that names the rows")
        group.add_argument("--weight", metavar="COLUMN", help="column that says how many rows each row stands for")
        group.add_argument(
            "--kind",
            action="append",
            default=[],
            metavar="COLUMN=KIND",
            help="what a column is: numeric, categorical, ordinal, asymmetric, or its values in order, as in "
            "--kind 'size=S<M<L'; may be repeated",
        )


def add_method(parser: argparse.ArgumentParser, k_help: str, *, chooses_batch: bool = True) -> None:
    """Add the options for the method."""
    group = parser.add_argument_group("method")
    group.add_argument("-k", "--k", metavar="K", help=k_help)
    group.add_argument("--metric", help="dissimilarity (default: the one that suits the data; the run says which)")
    group.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    if chooses_batch:
        group.add_argument("--effort", choices=EFFORTS, help="how long to search for a better result (default auto)")
        group.add_argument("--batch-size", type=int, metavar="M", help="number of batch points (default: by n and k)")
    group.add_argument(
        "--memory-limit", metavar="SIZE", help="memory for dissimilarities, such as 4GB (default: half of what is free)"
    )
    group.add_argument("-j", "--n-jobs", type=int, metavar="N", help="threads (default: all processors)")


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the option that reads further options from a file."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="options from a TOML file, or from the summary.json of a former run"
    )


def add_cluster(commands: Commands) -> None:
    """Add the command `cluster`."""
    parser = add_command(commands, "cluster", "cluster the rows of a file")
    add_input(parser)
    add_method(parser, "number of clusters, or a range such as 2:20, from which the best is chosen")
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="new folder for labels, medoids, summary, model and report; without it, labels go to stdout",
    )
    group.add_argument("--force", action="store_true", help="replace DIR if it exists")
    group.add_argument("--labels", choices=("csv", "parquet"), default="csv", help="format of the labels in DIR")
    group.add_argument("--no-report", action="store_true", help="do not write report.html")
    group.add_argument(
        "--show-as", metavar="HOW", help="how the report shows rows: table, series, or the size of images, as 28x28"
    )
    group.add_argument("--title", help="title of the report (default: the name of FILE)")
    group.add_argument(
        "--certify",
        type=float,
        metavar="SECONDS",
        help="compute how far the result can be from the optimum, for at most this long",
    )
    group.add_argument("--json", action="store_true", help="print the summary as JSON on stdout")
    add_config(parser)
    add_messages(parser)


def add_select(commands: Commands) -> None:
    """Add the command `select`."""
    parser = add_command(commands, "select", "select the rows that represent all others best")
    add_input(parser)
    add_method(parser, "number of rows to select", chooses_batch=False)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="new csv, tsv, jsonl, parquet, arrow, npy or txt file of rows"
    )
    group.add_argument("--rows", action="store_true", help="print the rows as csv instead of their indices")
    group.add_argument("--force", action="store_true", help="replace the output file if it exists")
    group.add_argument("--json", action="store_true", help="print indices, coverage and counts as JSON on stdout")
    add_config(parser)
    add_messages(parser)


def add_predict(commands: Commands) -> None:
    """Add the command `predict`."""
    parser = add_command(commands, "predict", "find the clusters of new rows")
    parser.add_argument("model", metavar="DIR", type=Path, help="folder that `onebatchpam cluster -o DIR` has written")
    add_input(parser, chooses_columns=False)
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="new csv or parquet file (default: stdout)")
    group.add_argument("--force", action="store_true", help="replace the output file if it exists")
    add_messages(parser)


def add_choose_k(commands: Commands) -> None:
    """Add the command `choose-k`."""
    parser = add_command(commands, "choose-k", "compare several numbers of clusters")
    add_input(parser)
    add_method(parser, "numbers of clusters to try: 2:20, 10:100:10 or 5,10,20 (default 2:20)")
    group = parser.add_argument_group("output")
    group.add_argument("--plot", type=Path, metavar="FILE", help="new picture of the curves: png, svg or pdf")
    group.add_argument("--force", action="store_true", help="replace the picture if it exists")
    group.add_argument("--json", action="store_true", help="print the table as JSON")
    add_config(parser)
    add_messages(parser)


def add_estimate(commands: Commands) -> None:
    """Add the command `estimate`."""
    parser = add_command(commands, "estimate", "say what a fit would cost, before you wait for it")
    add_input(parser)
    add_method(parser, "number of clusters")
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the numbers as JSON")
    add_config(parser)
    add_messages(parser)


def add_report(commands: Commands) -> None:
    """Add the command `report`."""
    parser = add_command(commands, "report", "write the report of a clustering anew")
    parser.add_argument("model", metavar="DIR", type=Path, help="folder that `onebatchpam cluster -o DIR` has written")
    add_input(parser, chooses_columns=False)
    group = parser.add_argument_group("output")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", required=True, help="new HTML file")
    group.add_argument("--force", action="store_true", help="replace the output file if it exists")
    group.add_argument(
        "--show-as", metavar="HOW", help="how rows are shown: table, series, or the size of images, as 28x28"
    )
    group.add_argument("--title", help="title of the report (default: the name of FILE)")
    add_messages(parser)


def add_demo(commands: Commands) -> None:
    """Add the command `demo`."""
    parser = add_command(commands, "demo", "cluster generated data, and write a report to look at")
    parser.add_argument("name", nargs="?", choices=DEMOS, default="addresses", help="which data (default: addresses)")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="new folder (default: onebatchpam-NAME)")
    parser.add_argument("--rows", type=int, metavar="N", help="number of rows to generate")
    parser.add_argument("-k", "--k", metavar="K", help="number of clusters")
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    parser.add_argument("-j", "--n-jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_messages(parser)


def add_completion(commands: Commands) -> None:
    """Add the command `completion`."""
    parser = add_command(commands, "completion", "print the script that completes commands and options in a shell")
    parser.add_argument("shell", choices=SHELLS)
    add_messages(parser)


def names(text: str) -> list[str]:
    """Return the names in a list with commas."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: expected names of columns, separated by commas")
    return found
