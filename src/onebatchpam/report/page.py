"""The page: the parts of a report, filled into the templates."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import ArrayLike

from onebatchpam._core import __version__
from onebatchpam._new_files import replacing
from onebatchpam._optional import require
from onebatchpam._parameters import check_weights, describe
from onebatchpam._show import show_count, show_seconds, show_share
from onebatchpam.algorithms import MedoidEstimator
from onebatchpam.bounds import LowerBound
from onebatchpam.data import is_path
from onebatchpam.evaluation import KSelection
from onebatchpam.metrics import name_metric
from onebatchpam.report.alerts import find_alerts
from onebatchpam.report.columns import Effect, Feature, find_features, show_number
from onebatchpam.report.figures import (
    colour_of,
    draw_curves,
    draw_histogram,
    draw_points,
    draw_silhouettes,
    draw_sizes,
    draw_tree,
)
from onebatchpam.report.layout import draw_map, grow_tree
from onebatchpam.report.rows import RowPainter, ShownRow, check_show_as
from onebatchpam.report.study import MOST_CLUSTERS, Study, check_row_names

TEMPLATES = Path(__file__).parent / "templates"
MOST_EFFECTS = 3  # differences that are named in the table of medoids
MOST_HISTOGRAMS = 8  # histograms of a cluster
MOST_LINES = 300  # medoids in the table


@dataclass(frozen=True)
class ShownCluster:
    """A cluster of the page."""

    label: int
    colour: str
    size: int
    share: str
    mean: str
    p90: str
    silhouette: str
    effects: Sequence[Effect]
    medoid: ShownRow
    nearest: Sequence[ShownRow] = ()
    farthest: Sequence[ShownRow] = ()
    histograms: Sequence[dict[str, Any]] = ()
    numbers: dict[str, float] = field(default_factory=dict)  # the numbers by which the table is sorted


def write_report(
    model: MedoidEstimator,
    X: ArrayLike,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    row_names: Sequence[Any] | None = None,
    show_as: Any = "auto",
    selection: KSelection | None = None,
    certificate: LowerBound | None = None,
    command: str | None = None,
    warnings: Sequence[str] = (),
    picture: Path | None = None,
    sample_weight: ArrayLike | None = None,
) -> None:
    """Write the report on a fitted model to a file, which gets its name when it is complete.

    `picture` is a second file, for the map of the rows alone.
    """
    environment = make_environment()
    show_as = check_show_as(show_as)
    if title is not None and not isinstance(title, str):
        raise ValueError(f"{describe(title, 'title')}: expected text, or None")
    for value, name, kind in ((selection, "selection", KSelection), (certificate, "certificate", LowerBound)):
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"{describe(value, name)}: expected a {kind.__name__}, or None")
    check_row_names(row_names, None)
    weights = check_weights(sample_weight)
    page = check_page(path)
    with replacing(page) as partial:  # entered before the work, so that a file which cannot be written is noticed
        began = time.perf_counter()
        study = Study(model, X, row_names, weights)
        content = describe_study(study, show_as, selection, certificate, warnings)
        content |= {"title": title or "Clusters and their medoids", "command": command, "code": show_code(model)}
        content["report_seconds"] = f"{time.perf_counter() - began:.1f}"
        write_text(environment.get_template("report.html.j2").render(content), partial)
    if picture is not None:
        with replacing(picture) as partial:
            write_text(environment.get_template("map.svg.j2").render(content).strip(), partial)


def write_text(text: str, path: Path) -> None:
    """Write text to a file; bytes of a name that are not characters, as names of files may have, become "?"."""
    path.write_text(text, encoding="utf-8", errors="replace")


def check_page(path: Any) -> Path:
    """Return the file to write; raise if there is no folder for it."""
    if not is_path(path) or not str(path) or "\0" in str(path):
        raise ValueError(f"{describe(path, 'path')}: expected the path of a file to write, such as 'report.html'")
    page = Path(path)
    if not page.absolute().parent.is_dir() or page.is_dir():
        raise ValueError(f"path={str(path)!r}: expected the path of a file in a folder that exists")
    return page


def make_environment(*folders: Path) -> Any:
    """Return the templates, with those of further folders; values are escaped, and unknown names are errors."""
    jinja2 = require("jinja2", extra="cli", needed_by="a report")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, *folders]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: Path, **content: Any) -> str:
    """Return a page of another program that is built on the templates of this room."""
    return str(make_environment(template.parent).get_template(template.name).render(content))


def describe_study(
    study: Study,
    show_as: Any,
    selection: KSelection | None,
    certificate: LowerBound | None,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return everything that the template shows."""
    features = find_features(study)
    painter = RowPainter(study, features, show_as)
    compared = painter.way == "table"
    tree = grow_tree(study)
    return {
        "facts": list_facts(study, certificate),
        "alerts": find_alerts(study, features, selection, warnings),
        "clusters": describe_clusters(study, features if compared else [], painter),
        "n_clusters": study.k,
        "n_detailed": min(study.k, MOST_CLUSTERS),
        "most_lines": MOST_LINES,
        "way": painter.way,
        "columns": painter.columns,
        "n_columns": len(features),
        "have_names": study.have_names,
        "map": draw_points(study, draw_map(study, features)),
        "silhouettes": draw_silhouettes(study),
        "sizes": draw_sizes(study),
        "tree": None if tree is None else draw_tree(study, tree),
        "curves": [] if selection is None else draw_curves(selection),
        "advice": None if selection is None else selection.advice(),
        "certificate": None if certificate is None else str(certificate),
        "sampled": len(study.sample.indices),
        "n": study.n,
        "versions": list_versions(),
    }


def list_facts(study: Study, certificate: LowerBound | None) -> list[tuple[str, str, str]]:
    """Return the numbers of the overview: a name, the number, and a remark."""
    model, n = study.model, study.n
    n_features = getattr(model, "n_features_in_", None)
    pairs = n * n
    facts = [
        ("rows", f"{n:,}", "" if n_features is None else f"of {n_features:,} columns"),
        ("clusters", f"{study.k:,}", f"metric {name_metric(model.metric)}"),
        ("mean distance", show_number(study.mean(study.rows.distances)), "of a row to its medoid"),
    ]
    if study.rows.silhouettes is not None:
        facts.append(("silhouette", f"{study.mean(study.rows.silhouettes):.2f}", "1 is best, 0 is between clusters"))
    if certificate is not None:
        sure = "proven" if certificate.is_exact else f"with {certificate.confidence:.0%} confidence"
        facts.append(("above the optimum", show_gap(certificate), f"at most, {sure}"))
    share = model.n_distances_ / pairs
    shown = show_share(share) if share < 1 else f"{share:.1f} ×"
    facts.append(("distances", shown, f"computed, of {show_count(pairs)} pairs"))
    facts.append(("time", show_seconds(sum(model.fit_seconds_.values())), "to find the medoids"))
    return facts


def show_gap(certificate: LowerBound) -> str:
    """Return the largest possible gap to the optimum."""
    if not np.isfinite(certificate.gap):
        return "unknown"
    return f"{100 * certificate.gap:.2g} %" if certificate.gap > 1e-4 else "< 0.01 %"


def describe_clusters(study: Study, features: Sequence[Feature], painter: RowPainter) -> list[ShownCluster]:
    """Return the clusters, the largest first; only the first of them with rows and histograms."""
    medoids = painter.show(study.medoids)
    return [
        describe_cluster(study, features, painter, rank, int(cluster), medoids[cluster])
        for rank, cluster in enumerate(study.by_size[:MOST_LINES])
    ]


def describe_cluster(
    study: Study, features: Sequence[Feature], painter: RowPainter, rank: int, cluster: int, medoid: ShownRow
) -> ShownCluster:
    """Return a cluster of the page."""
    distances, members = study.distances_in(cluster), study.members[cluster]
    found = {feature.name: feature.effect(cluster) for feature in features}
    effects = sorted((effect for effect in found.values() if effect is not None), key=lambda each: -abs(each.size))
    mean = study.mean(study.rows.distances, members)
    silhouette = float("nan") if study.rows.silhouettes is None else study.mean(study.rows.silhouettes, members)
    details: dict[str, Any] = {}
    if rank < MOST_CLUSTERS:
        named = [effect.column for effect in effects]
        order = sorted(features, key=lambda each: named.index(each.name) if each.name in named else len(named))
        details = {
            "nearest": painter.show(study.nearest(cluster)),
            "farthest": painter.show(study.farthest(cluster)),
            "histograms": [draw_histogram(each.histogram(cluster)) for each in order[:MOST_HISTOGRAMS]],
        }
    return ShownCluster(
        cluster,
        colour_of(rank),
        len(members),
        f"{len(members) / study.n:.1%}",
        show_number(mean),
        show_number(float(np.quantile(distances, 0.9))) if len(distances) else "–",
        f"{silhouette:.2f}" if np.isfinite(silhouette) else "–",
        effects[:MOST_EFFECTS],
        medoid,
        numbers={"size": len(members), "mean": mean, "silhouette": silhouette},
        **details,
    )


def show_code(model: MedoidEstimator) -> str:
    """Return the code that makes the same model again."""
    defaults = type(model)().get_params()
    chosen = {name: value for name, value in model.get_params().items() if value != defaults[name]}
    others = [f"{name}={value!r}" for name, value in chosen.items() if name not in ("n_clusters", "verbose")]
    name, arguments = type(model).__name__, ", ".join([str(model.n_clusters), *others])
    return f"from onebatchpam import {name}\n\nmodel = {name}({arguments}).fit(X)\nmodel.report(X, 'report.html')"


def list_versions() -> list[tuple[str, str]]:
    """Return the versions of the packages that matter."""
    return [
        ("onebatchpam", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
