"""A case: rows, and an estimator or a public function with all its arguments, drawn from a seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onebatchpam
from bench.fuzz.data import (
    Data,
    Rng,
    choose,
    draw_matrix,
    draw_numbers,
    draw_objects,
    draw_sparse,
    draw_strings,
    draw_table,
)
from bench.fuzz.metrics import FUNCTIONS, DrawnMetric, draw_metric, draw_metric_of_numbers, naive_matrix
from onebatchpam.algorithms import MedoidEstimator
from onebatchpam.batch import VARIANTS
from onebatchpam.search.start import INITS

ESTIMATORS = {
    name: value
    for name, value in ((name, getattr(onebatchpam, name)) for name in onebatchpam.__all__)
    if inspect.isclass(value) and issubclass(value, MedoidEstimator)
}

# Clusters, at most, of which a case asks for a minimum size; with more of them, each swap takes long.
MOST_SIZED_CLUSTERS = 50


@dataclass
class Case:
    """A data set, and the arguments of an estimator or of a public function."""

    seed: int
    target: str  # name of the estimator or of the function
    data: Data
    drawn: DrawnMetric
    k: int
    parameters: dict[str, Any] = field(default_factory=dict)  # of the estimator, besides n_clusters and the metric
    sample_weight: NDArray[np.float64] | None = None
    fixed_medoids: list[int] | None = None
    candidates: list[int] | str | None = None  # None lets a metric of tables choose complete rows
    flaw: str | None = None  # the reason why the arguments must be refused; None if they are sound
    n_fits: int = 0  # how often the case was fitted, to check that all results agree

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of all rows."""
        return np.ones(self.data.n) if self.sample_weight is None else self.sample_weight

    @property
    def fit_arguments(self) -> dict[str, Any]:
        """The arguments of `fit`, besides X, that are not None."""
        names = ("sample_weight", "fixed_medoids", "candidates")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def may_be_medoids(self) -> NDArray[np.bool_]:
        """Whether each row may become a medoid, unless a metric of tables chooses the candidates."""
        is_named = np.full(self.data.n, not isinstance(self.candidates, list))
        if isinstance(self.candidates, list):
            is_named[[*self.candidates, *(self.fixed_medoids or [])]] = True
        return is_named & (self.weights > 0)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """The naive d(candidate i, point j) of all pairs of rows."""
        return naive_matrix(self.data, self.drawn, self.weights)

    @property
    def rng(self) -> Rng:
        """A generator for the arguments of a function, always in the same state."""
        return np.random.default_rng([self.seed, 1])

    def make(self, **changes: Any) -> MedoidEstimator:
        """Return the estimator; `changes` are parameters that are not those of the case."""
        metric = {"metric": self.drawn.metric, "metric_params": self.drawn.params or None}
        return ESTIMATORS[self.target](**{"n_clusters": self.k, **metric, **self.parameters, **changes})

    def fit(self, X: Any = None, **changes: Any) -> MedoidEstimator:
        """Return the fitted estimator; X stands for the rows of the case, in another form."""
        self.n_fits += 1
        return self.make(**changes).fit(self.data.X if X is None else X, **self.fit_arguments)

    def describe(self) -> str:
        """Return code that repeats the case."""
        X = self.data.X
        shape, dtype = getattr(X, "shape", (self.data.n,)), getattr(X, "dtype", type(X).__name__)
        lines = [
            "import pathlib, tempfile",
            "from bench.fuzz.case import draw_case",
            f"case = draw_case({self.seed}, pathlib.Path(tempfile.mkdtemp()))",
            f"# X: {self.data.kind}, {self.data.form}, {shape}, {dtype}",
        ]
        if isinstance(self.data.plain, np.ndarray) and self.data.plain.size <= 30:
            lines.append(f"# X = np.array({self.data.plain.tolist()}, {str(self.data.plain.dtype)!r})")
        if self.flaw is not None:
            lines.append(f"# must be refused: {self.flaw}")
        if self.target in ESTIMATORS:
            given = "".join(
                f", {name}=np.array({list(map(float, value))})" if name == "sample_weight" else f", {name}={value!r}"
                for name, value in self.fit_arguments.items()
            )
            lines.append(f"# {self.make()!r}.fit(case.data.X{given})".replace("\n", ""))
            lines.append("model = case.fit()")
        else:
            lines.append(f"# {self.target}(case.data.X, metric={self.drawn.metric!r}, **{self.drawn.params!r})")
        return "\n".join(lines)


def draw_case(seed: int, folder: Path) -> Case:
    """Draw the case of a seed; data that are on disk are written to the folder."""
    rng = np.random.default_rng(seed)
    target = draw_target(rng)
    data, drawn = draw_rows(rng, target, folder)
    if target == "collapse_duplicates" and not can_collapse(data):
        target = "medoids_of"
    weights = draw_weights(rng, data.n) if takes_weights(target) and rng.random() < 0.3 else None
    present = np.arange(data.n) if weights is None else np.flatnonzero(weights)
    k = int(min(len(present), choose(rng, 1, 2, 2, 3, 5, 8, data.n)))
    fixed = None
    if target in ESTIMATORS and rng.random() < 0.1:
        fixed = rng.permutation(present)[: rng.integers(1, k + 1)].tolist()
    case = Case(seed, target, data, drawn, k, {}, weights, fixed)
    if target in ESTIMATORS:
        case = replace(case, candidates=draw_candidates(rng, case, present))
        case = replace(case, parameters=draw_parameters(rng, case, np.flatnonzero(case.may_be_medoids)))
    return plant_flaw(rng, case) if rng.random() < 0.05 else case


FUNCTIONS_CALLED = (
    *("medoids_of", "select_k", "distance_block", "swap_search", "collapse_duplicates", "medoid_silhouette"),
    *("select_representatives", "cluster_statistics", "batch_size", "required_batch_size"),
)


def takes_weights(target: str) -> bool:
    """Tell whether an estimator or a function takes sample weights."""
    return target in {*ESTIMATORS, "swap_search", "collapse_duplicates", "select_representatives"}


def draw_target(rng: Rng) -> str:
    """Draw an estimator or a function; the slow BanditPAM is rare."""
    if rng.random() < 0.01:
        return "BanditPAM"
    others = [name for name in ESTIMATORS if name not in ("BanditPAM", "OneBatchPAM")]
    kind = choose(rng, "OneBatchPAM", "OneBatchPAM", "other", "other", "function")
    return str({"OneBatchPAM": kind, "other": choose(rng, *others), "function": choose(rng, *FUNCTIONS_CALLED)}[kind])


def can_collapse(data: Data) -> bool:
    """Tell whether `collapse_duplicates` takes the data: they are in memory, and not a list of lists or arrays."""
    return data.in_memory is None and data.kind != "objects" and not data.form.endswith(", list")


def draw_rows(rng: Rng, target: str, folder: Path) -> tuple[Data, DrawnMetric]:
    """Draw rows and a metric for them."""
    n_features = int(choose(rng, 1, 2, 3, 3, 5, 5, 9, 17, 40))
    if rng.random() < 0.7:
        drawn = draw_metric_of_numbers(rng, n_features)
        n_features = 2 if drawn.name == "haversine" else n_features
        return draw_numbers(rng, folder, n_features=n_features, for_function=drawn.metric in FUNCTIONS), drawn
    quick = (draw_sparse, draw_sparse, draw_matrix, draw_matrix)
    data = choose(rng, *quick, draw_table, draw_strings, draw_objects)(rng, folder)
    return data, draw_metric(rng, data)


def draw_weights(rng: Rng, n: int) -> NDArray[np.float64]:
    """Draw sample weights, at least one of them positive."""
    weights = {
        "counts": rng.integers(1, 5, n).astype(np.float64),
        "zeros": rng.integers(0, 3, n).astype(np.float64),
        "ratios": 10.0 ** rng.uniform(-12, 12, n),
        "equal": np.full(n, 0.25),
    }[choose(rng, "counts", "zeros", "ratios", "equal")]
    weights[rng.integers(n)] = 2.0
    return weights


def draw_candidates(rng: Rng, case: Case, present: NDArray[np.int64]) -> list[int] | str | None:
    """Draw the rows that may become medoids: mostly all, sometimes a few of those with a positive weight."""
    if rng.random() < 0.15:
        return np.sort(rng.permutation(present)[: rng.integers(case.k, len(present) + 1)]).tolist()
    return "all" if case.data.kind == "table" and rng.random() < 0.5 else None


def draw_parameters(rng: Rng, case: Case, allowed: NDArray[np.int64]) -> dict[str, Any]:
    """Draw the parameters that the estimator has, besides those of the metric; some keep their defaults.

    The start is drawn among the allowed rows.
    """
    n, k = int(np.count_nonzero(case.weights)), case.k
    start = rng.permutation(np.setdiff1d(allowed, case.fixed_medoids or []))[: k - len(case.fixed_medoids or [])]
    medoids = [*(case.fixed_medoids or []), *start.tolist()]
    draws: dict[str, Callable[[], Any]] = {
        "effort": lambda: choose(rng, "auto", "auto", "auto", "fast", "balanced", *(("best",) * (rng.random() < 0.5))),
        "batch_size": lambda: choose(rng, "auto", int(rng.integers(k, n + 3)), int(rng.integers(k, n + 3))),
        "variant": lambda: choose(rng, *VARIANTS),
        "refine": lambda: choose(rng, "auto", 0, 1, 3),
        "init": lambda: choose(rng, "auto", "build", *INITS, medoids, medoids, medoids),
        "n_init": lambda: choose(rng, 1, 1, 2, 3),
        "max_iter": lambda: choose(rng, 100, 100, 100, 1, 2),
        "tol": lambda: choose(rng, 1e-6, 0, 0.01),
        "memory_limit": lambda: choose(rng, None, None, 0, 500, "1MB"),
        "n_jobs": lambda: draw_n_jobs(rng, case),
        "warm_start": lambda: choose(rng, False, False, True),
        "min_cluster_size": lambda: draw_least_size(rng, case),
        "n_samplings": lambda: choose(rng, 1, 3, 5),
        "sample_size": lambda: choose(rng, "auto", int(rng.integers(k, n + 3))),
        "power": lambda: choose(rng, 1.0, 2, 0.5),
        "n_swaps": lambda: choose(rng, 0, 1, 5),
        "chain_length": lambda: choose(rng, 1, 5, 20),
        "max_neighbors": lambda: choose(rng, 1, 5, 20),
        "min_clusters": lambda: int(rng.integers(2, max(2, k) + 1)),
    }
    names = inspect.signature(ESTIMATORS[case.target]).parameters
    drawn = {name: draw() for name, draw in draws.items() if name in names}
    if drawn.get("init", "") == "build" or not isinstance(drawn.get("init", ""), str):
        drawn.pop("n_init", None)
        drawn |= {"n_init": 1} if case.target == "CLARANS" else {}  # whose default is 2
    return {**drawn, "random_state": int(rng.integers(1000))}


def draw_n_jobs(rng: Rng, case: Case) -> int | None:
    """Draw a number of threads: mostly one, because threads, above all joblib's, take longer to start than a fit."""
    return choose(rng, None, 2, 5) if rng.random() < (0.25 if case.drawn.is_native else 0.02) else 1


def draw_least_size(rng: Rng, case: Case) -> float | None:
    """Draw the least weight of a cluster, at most the mean weight of a cluster; mostly None."""
    share = choose(rng, 1e-9, 0.2, 0.7) if rng.random() < 0.2 else None
    return None if share is None or case.k > MOST_SIZED_CLUSTERS else float(share * case.weights.sum() / case.k)


@dataclass(frozen=True)
class Flaw:
    """A mistake in the arguments: whether a case can have it, and how the case becomes one that has it."""

    applies: Callable[[Case], bool]
    plant: Callable[[Case], Case]


def _with_value(case: Case, value: float) -> Case:
    """Return the case with one number of X replaced, in memory."""
    X = np.array(case.data.plain, dtype=np.float64)
    X[-1, -1] = value
    return replace(case, data=replace(case.data, X=X, form="with a bad value"))


def _with_weight(case: Case, value: float) -> Case:
    weights = case.weights.copy()
    weights[0] = value
    return replace(case, sample_weight=weights)


def _reads_numbers(case: Case) -> bool:
    readers = {*ESTIMATORS, "medoids_of", "select_k", "select_representatives", "distance_block"}
    return case.data.kind == "numbers" and case.target in readers


def _refuses_nan(case: Case) -> bool:
    return _reads_numbers(case) and case.drawn.name not in (None, "nan_euclidean")


def _fits_weights(case: Case) -> bool:
    return case.target in ESTIMATORS and takes_weights(case.target)


FLAWS = {
    "NaN in X": Flaw(_refuses_nan, lambda case: _with_value(case, np.nan)),
    "infinity in X": Flaw(_refuses_nan, lambda case: _with_value(case, np.inf)),
    "X has one dimension": Flaw(
        _reads_numbers,
        lambda case: replace(case, data=replace(case.data, X=np.arange(5.0), form="flat")),
    ),
    "X has no rows": Flaw(
        _reads_numbers,
        lambda case: replace(case, data=replace(case.data, X=np.empty((0, 3)), form="empty")),
    ),
    "clusters too large": Flaw(
        lambda case: case.target in ("OneBatchPAM", "FasterPAM"),
        lambda case: replace(
            case, parameters={**case.parameters, "min_cluster_size": 1.01 * float(case.weights.sum()) / case.k}
        ),
    ),
    "more medoids than rows": Flaw(
        lambda case: case.target in ESTIMATORS, lambda case: replace(case, k=case.data.n + 1)
    ),
    "unknown metric": Flaw(
        lambda case: case.target in ESTIMATORS, lambda case: replace(case, drawn=DrawnMetric("euklid"))
    ),
    "negative weight": Flaw(_fits_weights, lambda case: _with_weight(case, -1.0)),
    "NaN as weight": Flaw(_fits_weights, lambda case: _with_weight(case, np.nan)),
    "too many weights": Flaw(_fits_weights, lambda case: replace(case, sample_weight=np.ones(case.data.n + 1))),
    "no positive weight": Flaw(_fits_weights, lambda case: replace(case, sample_weight=np.zeros(case.data.n))),
    "fixed medoid beyond X": Flaw(_fits_weights, lambda case: replace(case, fixed_medoids=[case.data.n])),
}


def plant_flaw(rng: Rng, case: Case) -> Case:
    """Return the case with a flaw, so that it must be refused."""
    name = choose(rng, *(name for name, flaw in FLAWS.items() if flaw.applies(case)), None)
    return case if name is None else replace(FLAWS[name].plant(case), flaw=name)
