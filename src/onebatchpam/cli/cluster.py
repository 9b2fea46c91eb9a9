"""`onebatchpam cluster`: labels, medoids, a summary, a model and a report, in a new folder."""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from onebatchpam._core import __version__
from onebatchpam._parameters import check_positive
from onebatchpam._progress import Stages
from onebatchpam._show import Columns, PrintedTable, show_seconds
from onebatchpam.algorithms import OneBatchPAM
from onebatchpam.answers import ClusterTable, RowAssessment, assess, mean_silhouette
from onebatchpam.bounds import LowerBound
from onebatchpam.cli.formats import arrow
from onebatchpam.cli.inputs import Input, read_input
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.cli.methods import check_method, keep_possible, make_estimator, parse_numbers
from onebatchpam.cli.models import MODEL, save_model, skops
from onebatchpam.cli.outputs import (
    SUMMARY,
    as_json,
    check_new_folder,
    name_apart,
    new_folder,
    write_labels,
    write_table,
)
from onebatchpam.evaluation import KSelection, select_k
from onebatchpam.report import check_images, check_show_as, make_environment, write_report

LARGEST_HASHED = 2**28  # bytes of a file whose checksum is put into the summary
MOST_LINES = 20  # clusters that are printed
NOT_REPEATED = ("command", "file", "output", "force", "config", "quiet", "debug", "json")


@dataclass(frozen=True)
class Clustered:
    """What a run has found: the model, how well each row fits it, and what else the user asked for."""

    model: OneBatchPAM
    rows: RowAssessment
    selection: KSelection | None
    certificate: LowerBound | None
    seconds: float  # taken by the fit


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Cluster a file."""
    ks = parse_numbers(arguments.k)
    check_method(arguments, ks[0])
    check_certify(arguments.certify)
    show_as = parse_show_as(arguments.show_as)
    if arguments.output is not None:
        check_new_folder(arguments.output, force=arguments.force, source=arguments.file)
        skops()
        if not arguments.no_report:
            make_environment()
    data = read_input(arguments, messages)
    if isinstance(show_as, tuple):
        check_images(data.head(1), show_as)
    found = find_clusters(arguments, data, ks, messages)
    summary = summarise(arguments, data, found, messages)
    if arguments.output is not None:
        with new_folder(arguments.output, force=arguments.force, source=arguments.file) as folder:
            write_results(folder, arguments, data, found, summary, show_as, messages)
        messages.say(f"written: {', '.join(sorted(each.name for each in arguments.output.iterdir()))}")
    if arguments.json:
        print(as_json(summary))
    elif arguments.output is not None:
        print(ClusterLines(data, found.model.describe_clusters()))
    else:
        write_labels(sys.stdout.buffer, "csv", data, label_columns(found.rows))


def find_clusters(arguments: argparse.Namespace, data: Input, ks: list[int], messages: Messages) -> Clustered:
    """Fit the model, certify it if that is wanted, and compare all rows with its medoids."""
    began = time.perf_counter()
    model, selection = fit(arguments, data, ks, messages)
    seconds = time.perf_counter() - began
    messages.say(f"{len(model.medoid_indices_)} medoids found in {show_seconds(seconds)}")
    certificate = None if arguments.certify is None else certify(model, data, arguments.certify, messages)
    rows = assess(model._reopen(data.X).distances_from(model.medoid_indices_), Stages())
    return Clustered(model, rows, selection, certificate, seconds)


def write_results(
    folder: Path,
    arguments: argparse.Namespace,
    data: Input,
    found: Clustered,
    summary: dict[str, Any],
    show_as: Any,
    messages: Messages,
) -> None:
    """Write labels, medoids, the model, the report and the summary to a folder."""
    write_labels(folder / f"labels.{arguments.labels}", arguments.labels, data, label_columns(found.rows))
    write_table(medoid_table(data, found.model), folder / "medoids.csv", "csv")
    save_model(found.model, folder / MODEL)
    if not arguments.no_report:
        write_report(
            found.model,
            data.X,
            folder / "report.html",
            title=arguments.title or title_of(data),
            row_names=data.names,
            show_as=show_as,
            selection=found.selection,
            certificate=found.certificate,
            command=summary["command"],
            warnings=messages.warnings,
            picture=folder / "map.svg",
            sample_weight=data.weights,
        )
    # The summary comes last: it says that all is there.
    (folder / SUMMARY).write_text(as_json(summary) + "\n", encoding="utf-8")


class ClusterLines(PrintedTable):
    """The clusters as they are printed: the largest ones, with the names of their medoids."""

    def __init__(self, data: Input, clusters: ClusterTable) -> None:
        self._data, self._clusters = data, clusters

    def _columns(self) -> Columns:
        clusters, shown = self._clusters, slice(0, MOST_LINES)
        medoids = self._data.names_of(clusters.medoid_indices[shown])
        return {
            "cluster": [str(label) for label in clusters.labels[shown]],
            "medoid": [str(name) for name in medoids],
            "rows" if self._data.weights is None else "weight": [f"{size:,.6g}" for size in clusters.sizes[shown]],
            "share": [f"{share:.1%}" for share in clusters.shares[shown]],
            "mean distance": [f"{distance:.4g}" for distance in clusters.mean_distances[shown]],
        }

    def _note(self) -> str:
        n_more = len(self._clusters.labels) - MOST_LINES
        return f"and {n_more:,} smaller clusters" if n_more > 0 else ""


def check_certify(seconds: float | None) -> None:
    """Raise if the time for a certificate is wrong, before the fit that it follows."""
    try:
        if seconds is not None:
            check_positive(seconds, "--certify")
    except ValueError as error:
        raise UsageError(str(error)) from None


def parse_show_as(text: str | None) -> Any:
    """Return how rows are to be shown: a name, or the shape of images, as 28x28."""
    if text is None:
        return "auto"
    sides = text.lower().split("x")
    try:
        return check_show_as(tuple(map(int, sides)) if all(side.isdecimal() for side in sides) else text)
    except ValueError:
        raise UsageError(f"--show-as {text}: expected table, series, or the size of images, as 28x28") from None


def fit(
    arguments: argparse.Namespace, data: Input, ks: list[int], messages: Messages
) -> tuple[OneBatchPAM, KSelection | None]:
    """Fit the model; of several k, take the one that is suggested."""
    estimator = make_estimator(arguments, data, ks[0], messages)
    if len(ks) == 1:
        return estimator.fit(data.X, sample_weight=data.weights), None
    ks = keep_possible(ks, data.n)
    selection = select_k(data.X, ks, estimator, sample_weight=data.weights)
    messages.say(selection.advice())
    if selection.model is None:
        raise ValueError(f"no number of clusters is suggested among {ks}: expected a wider range, or one number")
    return selection.model, selection


def certify(model: OneBatchPAM, data: Input, seconds: float, messages: Messages) -> LowerBound:
    """Return how far the model can be from the optimum, computed for some seconds."""
    certificate = model.certify(data.X, sample_weight=data.weights, time_limit=seconds)
    messages.say(str(certificate))
    return certificate


def title_of(data: Input) -> str:
    """Return the title of the report: the name of the file."""
    return "Clusters" if data.file == "-" else Path(data.file).name


def label_columns(rows: RowAssessment) -> dict[str, Any]:
    """Return the columns of the table of labels, after the name of the row."""
    columns: dict[str, Any] = {"cluster": rows.labels, "distance": rows.distances}
    if rows.silhouettes is not None:
        columns |= {"second": rows.second_labels, "margin": rows.silhouettes.astype(np.float32)}
    return columns


def medoid_table(data: Input, model: OneBatchPAM) -> Any:
    """Return the medoids with all their columns, after the numbers of their clusters; the largest cluster first."""
    clusters = model.describe_clusters()
    # A matrix of dissimilarities has a column for each row of the data: too many to describe a medoid by.
    has_columns = data.metric != "precomputed"
    rows = data.content.take(clusters.medoid_indices) if has_columns else arrow().table({})
    columns = {
        "cluster": clusters.labels,
        "size": clusters.sizes,
        "share": clusters.shares,
        "mean_distance": clusters.mean_distances,
        "max_distance": clusters.max_distances,
        "row": clusters.medoid_indices,
    }
    numbers = arrow().table(name_apart(columns, rows.column_names))
    for name in rows.column_names:
        numbers = numbers.append_column(name, rows.column(name))
    return numbers


def summarise(arguments: argparse.Namespace, data: Input, found: Clustered, messages: Messages) -> dict[str, Any]:
    """Return the summary of a run: the result in numbers, and everything that is needed to repeat it."""
    options, model = used_options(arguments), found.model
    silhouette = mean_silhouette(found.rows, data.weights)  # NaN, which becomes null, if there is a single medoid
    summary: dict[str, Any] = {
        "command": show_command(arguments, options),
        "options": options,
        "input": describe_file(data),
        "rows": data.n,
        "columns": [{"name": use.name, "type": use.type, "use": use.use, "reason": use.reason} for use in data.uses],
        "id": data.name_of_names if data.names is not None else None,
        "metric": data.metric,
        "parameters": model.get_params(),
        "medoids": model.medoid_indices_,
        "medoid_names": list(map(str, data.names_of(model.medoid_indices_))),
        "result": {**model.summary().as_dict(), "silhouette": silhouette},
        "seconds": found.seconds,
        "warnings": list(messages.warnings),
        "versions": {
            "onebatchpam": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "system": platform.platform(),
        },
    }
    selection, certificate = found.selection, found.certificate
    if selection is not None:
        summary["choice_of_k"] = {"k": selection.k, "objective": selection.inertia, "silhouette": selection.silhouette}
    if certificate is not None:
        summary["certificate"] = {
            "bound": certificate.bound,
            "gap": certificate.gap,
            "is_exact": certificate.is_exact,
            "confidence": certificate.confidence,
        }
    return summary


def used_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that repeat the run, as a configuration file holds them."""
    options = {**vars(arguments), "input": arguments.file}
    return {
        name.replace("_", "-"): value
        for name, value in options.items()
        if name not in NOT_REPEATED and value is not None and value is not False and value != []
    }


def show_command(arguments: argparse.Namespace, options: dict[str, Any]) -> str:
    """Return the command that repeats the run, as one would type it."""
    words = ["onebatchpam", "cluster", arguments.file]
    for name, value in options.items():
        if name == "kind":
            words += [f"--kind={each}" for each in value]
        elif name == "k":
            words += ["-k", str(value)]
        elif name != "input" and (name, value) not in (("seed", 0), ("labels", "csv")):
            words += (
                [f"--{name}"]
                if value is True
                else [f"--{name}", ",".join(value) if isinstance(value, list) else str(value)]
            )
    return shlex.join([*words, *([] if arguments.output is None else ["-o", str(arguments.output)])])


def describe_file(data: Input) -> dict[str, Any]:
    """Return the place, the size and the checksum of the file that was read."""
    path = Path(data.file)
    if data.file == "-" or not path.is_file():
        return {"file": data.file}
    size = os.path.getsize(path)
    described: dict[str, Any] = {"file": str(path.absolute()), "bytes": size}
    if size <= LARGEST_HASHED:
        described["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return described
