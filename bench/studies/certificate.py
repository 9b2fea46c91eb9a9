"""`python -m bench certificate`: the picture of docs/optimality.md, in which objective and bound meet in time.

One data set of the generator, all methods on it, and the lower bound after more and more time. Times are relative to
that of our FasterPAM, and medians of several runs.

`python -m bench certificate --sets` certifies a fit to each of the paper's small sets instead, and prints its gap, the
gap of FasterPAM to the same bound, and the times of the certificate and of the fit, relative to FasterPAM's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.synthetic import make_mixture
from bench.studies.optimality import REFERENCE, Case, list_paper_sets, style_point
from onebatchpam import FasterPAM, OneBatchPAM, lower_bound
from onebatchpam.algorithms import MedoidEstimator

PICTURE = Path(__file__).parents[2] / "docs" / "certificate.png"
N_ROWS, N_FEATURES, K = 6000, 8, 50
N_RUNS = 3
LIMITS = 2.0 ** np.arange(-2, 5)  # times after which the bound is read, relative to FasterPAM's

Fit = Callable[[], MedoidEstimator]


def time_fit(fit: Fit) -> tuple[float, float]:
    """Return the median time of a few fits, and the objective."""
    seconds = []
    for _ in range(N_RUNS):
        began = time.perf_counter()
        model = fit()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds), float(model.inertia_)


def measure(X: NDArray[Any], k: int) -> tuple[dict[str, tuple[float, float]], list[tuple[float, float]]]:
    """Return the time and the objective of each method, and the bounds that are known after some times."""
    fits: dict[str, Fit] = {REFERENCE: lambda: FasterPAM(k, random_state=0, n_jobs=1).fit(X)}
    for effort in ("fast", "auto", "balanced", "best"):
        fits[f"OneBatchPAM, {effort}"] = lambda effort=effort: OneBatchPAM(  # type: ignore[misc]
            k, effort=effort, random_state=0, n_jobs=1
        ).fit(X)
    found = {name: time_fit(fit) for name, fit in fits.items()}
    unit = found[REFERENCE][0]
    best = fits["OneBatchPAM, best"]()
    results = [lower_bound(X, best, n_jobs=1, time_limit=limit * unit) for limit in LIMITS]
    bounds = sorted((result.seconds / unit, result.bound) for result in results)
    return {name: (seconds / unit, objective) for name, (seconds, objective) in found.items()}, bounds


def draw(found: dict[str, tuple[float, float]], bounds: list[tuple[float, float]], path: Path) -> None:
    """Draw objectives and bounds against time; what lies between them is the certified gap."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(7.5, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, (seconds, objective) in found.items():
        axes.plot(seconds, objective, label=name.replace(", auto", " (default)"), **style_point(name))
    times, values = zip(*bounds, strict=True)
    times = (*times, max(max(times), *(seconds for seconds, _ in found.values())))  # the last bound stays
    highest = np.maximum.accumulate([*values, values[-1]])
    lowest = min(objective for _, objective in found.values())
    axes.step(times, highest, where="post", color="black", label="lower bound")
    axes.fill_between(times, highest, lowest, step="post", color="0.88")
    axes.axhline(lowest, color="0.5", lw=1)
    axes.set(xscale="log", xlabel=f"time / {REFERENCE}'s", ylabel="objective", ylim=(0.992 * lowest, 1.002 * lowest))
    _name_the_gap(axes, times, highest, lowest)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.set_title(f"Certified gap: {100 * (lowest / highest[-1] - 1):.2f} %")
    axes.legend(fontsize=9, loc="lower right")
    figure.savefig(path, dpi=120)


def _name_the_gap(axes: Any, times: Sequence[float], bounds: NDArray[Any], lowest: float) -> None:
    """Say in the grey area, where it is high enough to be seen, what it is."""
    shown = np.maximum(bounds, axes.get_ylim()[0])
    place = int(np.argmax((lowest - shown) * np.log2(np.append(times[1:], times[-1]) / np.array(times))))
    axes.text(times[place] * 1.05, (shown[place] + lowest) / 2, "certified gap\nso far", va="center", color="#444444")


def certify_case(case: Case) -> str:
    """Return a line about the certificate of a fit with effort="best", and about FasterPAM, as Markdown."""
    X = case.load()
    parameters: dict[str, Any] = {"metric": case.metric, "random_state": 0, "n_jobs": 1}
    began = time.process_time()
    reference = FasterPAM(case.k, **parameters).fit(X)
    fitted = time.process_time()
    model = OneBatchPAM(case.k, effort="best", **parameters).fit(X)
    improved = time.process_time()
    result = model.certify(X)
    times = [(time.process_time() - improved) / (fitted - began), (improved - fitted) / (fitted - began)]
    gaps = [result.gap, reference.inertia_ / result.bound - 1]
    shown = [f"{gap:.2%}" for gap in gaps] + [f"{ratio:.1f}" for ratio in times]
    return f"| {case.name} | {case.k} | {' | '.join(shown)} |"


def show_certificate(arguments: argparse.Namespace) -> None:
    """Measure, print and draw."""
    if arguments.sets:
        print(
            "| data | k | gap, best | gap, FasterPAM | time of the certificate | time of the fit |\n" + "|---" * 6 + "|"
        )
        for case in list_paper_sets(arguments.data):
            if arguments.only in f"{case.name} k={case.k}":
                print(certify_case(case), flush=True)
        return
    X = make_mixture(np.random.RandomState(0), arguments.rows, N_FEATURES).astype(np.float32)
    found, bounds = measure(X, K)
    for name, (seconds, objective) in found.items():
        print(f"{name}: objective {objective:.6g}, {seconds:.2g} times FasterPAM's time")
    for seconds, bound in bounds:
        print(f"lower bound {bound:.6g} after {seconds:.2g} times FasterPAM's time")
    draw(found, bounds, arguments.picture)
    print(arguments.picture)


def add_command(commands: Any) -> None:
    """Add `certificate` to the command line."""
    parser = commands.add_parser("certificate", help="objective, bound and gap against time: a picture")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of the data set (%(default)s)")
    parser.add_argument("--sets", action="store_true", help="certify fits to the paper's small sets instead")
    parser.add_argument("--only", default="", metavar="TEXT", help="only sets whose name contains this")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw it (%(default)s)")
    parser.set_defaults(run=show_certificate)
