"""Every parameter of every public function and method has a rule, which is applied before any data are read.

`PARAMETERS` tells for each parameter which values are wrong. It is compared with the signatures, so that a new
parameter fails the tests until its wrong values are listed.
"""

from __future__ import annotations

import ctypes
import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

import onebatchpam
import onebatchpam.dask
from onebatchpam import FasterPAM, KSelection, OneBatchPAM, RepresentativeSelector, medoid_silhouette, select_k
from onebatchpam.algorithms import MedoidEstimator

pytestmark = pytest.mark.usefixtures("short_measurements")


def manhattan(a, b):
    return float(np.abs(a - b).sum())


DOUBLES = ctypes.POINTER(ctypes.c_double)
COMPILED = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES, ctypes.c_ssize_t)(lambda a, b, n: abs(a[0] - b[0]))

# Values that are wrong for most parameters, with the names by which `Values.accepts` refers to them.
ODD = {
    "text": "text",
    "no text": "",
    "bytes": b"text",
    "None": None,
    "True": True,
    "complex": 1j,
    "object": object(),
    "function": manhattan,
    "list": [],
    "nested list": [[1], [2, 3]],
    "dict": {},
    "table": np.zeros((30, 4)),
    "date": np.datetime64("2020-02-02"),
    "duration": np.timedelta64(3, "s"),
    "nan": np.nan,
    "inf": np.inf,
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "2**31": 2**31,
    "2**63": 2**63,
    "2**70": 2**70,
    "10**400": 10**400,
}
LARGE = {"2**31", "2**63", "2**70"}  # fit in float64
HUGE = {*LARGE, "10**400"}


@dataclass(frozen=True)
class Values:
    """What is right and what is wrong for a parameter: the odd values that it accepts; more wrong and right values."""

    accepts: set[str] = field(default_factory=set)
    wrong: list[Any] = field(default_factory=list)
    right: list[Any] = field(default_factory=list)
    untried: set[str] = field(default_factory=set)  # odd values that are neither refused nor tried

    def all_wrong(self) -> list[Any]:
        return [value for name, value in ODD.items() if name not in self.accepts | self.untried] + self.wrong


def read_only(array):
    array.flags.writeable = False
    return array


COUNT = [np.int8(2), np.int64(2), np.uint16(2)]
NUMBER = [np.float16(0.5), np.float64(0.5), np.int32(1), Fraction(1, 2)]
INDICES = [[0, 0], [0, -1], [0.0, 1.0], [True, False], ["0", "1"], [[0], [1]], [0, 1, 2], [0, 2**63], [0, 2**70]]
WEIGHTS = Values(
    accepts={"None", "2.5", *LARGE},
    wrong=[[1, np.nan], [1, np.inf], [1, -1], [0, 0], 0.0, ["1", "1"], [1j, 1], [None, 1], [[1, 1]], [2e38, 2e38]],
    right=[np.float32(2), np.int8(2), np.ones(30, np.float16), [Fraction(1, 2)] * 30, [True] * 30, [0, 1, 1] * 10],
)
LABELS_OUT = Values(
    accepts={"None"},
    wrong=[
        *(np.empty(30), np.empty(30, bool), np.empty((30, 1), int), read_only(np.empty(30, int)), [0] * 30),
        *("labels.npz", "/no/such/folder/labels.npy"),
    ],
    right=[np.empty(30, np.int8), np.empty(30, np.uint64)],
)
NO_LABELS_OUT = Values(accepts={"None"}, wrong=[np.empty(30, int), "labels.npy"])
FUNCTION = Values(accepts={"function"})

# By the name of the parameter; by the name of the function and the parameter where a name has several meanings.
PARAMETERS = {
    "n_clusters": Values(accepts=HUGE, right=COUNT),
    "n_representatives": Values(accepts=HUGE, right=COUNT),
    "metric": Values(accepts={"function"}, wrong=["euklid", ["euclidean"]], right=[np.str_("manhattan")]),
    "metric_params": Values(accepts={"None", "dict"}, wrong=[{"unknown": 1}, {1: 1}]),
    "n_jobs": Values(accepts={"None", "-1"}, right=COUNT, untried={"True", "duration", "table", *HUGE}),
    "random_state": Values(
        accepts={"None", "0", "2**31"},
        wrong=[2**32, np.random.default_rng(0)],
        right=[*COUNT, np.random.RandomState(0)],
    ),
    "verbose": Values(accepts={"0"}, untried={"True", *HUGE}, right=[np.int64(0)]),  # more than 0 shows progress bars
    "batch_size": Values(accepts=HUGE, wrong=[1], right=["auto", *COUNT]),
    "FasterMSC.batch_size": Values(accepts={"None", *HUGE}, wrong=[1], right=["auto", *COUNT]),
    "DynMSC.batch_size": Values(accepts={"None", *HUGE}, wrong=[1], right=["auto", *COUNT]),
    "min_clusters": Values(wrong=[1, 3], right=COUNT),
    "effort": Values(wrong=["high"], right=[np.str_("balanced")]),
    "variant": Values(wrong=["ninw"], right=[np.str_("nniw")]),
    "refine": Values(accepts={"0", *HUGE}, right=["auto", *COUNT]),
    "init": Values(
        untried={"function"},  # it is called with the data
        wrong=["best", [0], *(value for value in INDICES if value != [[0], [1]]), np.zeros((3, 4))],
        right=["k-means++", "lab", (0, 1), np.array([0, 1], np.uint8)],
    ),
    "n_init": Values(untried=HUGE, right=COUNT),  # so many starts take forever
    "max_iter": Values(accepts={"0", *HUGE}, right=COUNT),
    "tol": Values(accepts={"0", "2.5", *LARGE}, right=NUMBER),
    "memory_limit": Values(
        accepts={"None", "0", *HUGE}, wrong=["-1GB", "4XB", "1e3", "inf"], right=["500 MB", "9" * 400, np.uint64(10**6)]
    ),
    "warm_start": Values(accepts={"True"}, wrong=[1], right=[np.True_]),
    "min_cluster_size": Values(accepts={"None", "2.5", *LARGE}, wrong=[0.0, -2.5], right=NUMBER),
    "max_neighbors": Values(accepts=HUGE, right=["auto", *COUNT]),
    "n_samplings": Values(accepts=HUGE, right=COUNT),
    "sample_size": Values(accepts=HUGE, wrong=[1], right=["auto", *COUNT]),
    "power": Values(accepts={"0", "2.5", *LARGE}, right=NUMBER),
    "n_swaps": Values(accepts={"0"}, right=COUNT),
    "chain_length": Values(right=COUNT),
    "sample_weight": WEIGHTS,
    "fixed_medoids": Values(accepts={"None", "list"}, wrong=INDICES, right=[(1,), np.array([0, 1], np.int8)]),
    "candidates": Values(
        accepts={"None"},
        wrong=["some", [0, 0], [0, -1], [0.0, 1.0], ["0", "1"], [[0], [1]], [0, 2**70], [False] * 30, [[True] * 30]],
        right=["all", [True] * 30, np.arange(30, dtype=np.int8), (3, 4, 5)],
    ),
    "fixed": Values(accepts={"None", "list"}, wrong=INDICES, right=[(1,), np.array([0, 1], np.int8)]),
    "with_labels": Values(accepts={"True"}, wrong=[1], right=[np.False_]),
    "labels_out": LABELS_OUT,
    "dask.OneBatchPAM.fit.labels_out": NO_LABELS_OUT,
    "dask.OneBatchPAM.predict.out": NO_LABELS_OUT,
    "predict.out": LABELS_OUT,
    "distance_block.out": Values(
        accepts={"None", "table"},  # the shape is known only when the data are read
        wrong=[
            *(np.empty(30), np.empty((30, 30), int), np.empty((30, 30), np.float16), np.empty((30, 30), order="F")),
            *(read_only(np.empty((30, 30))), np.empty((30, 60))[:, ::2], [[0.0] * 30] * 30),
        ],
        right=[np.empty((30, 30)), np.empty((30, 30), np.float32)],
    ),
    "labels": Values(
        wrong=[[0.5, 1.0], [np.nan, 1.0], [np.inf, 1.0], [1e30, 1.0], [-1, -2], [[0, 1]], [1j, 0j], [None, 0]],
        right=[["a", "b"] * 15, np.arange(30) % 2.0, (np.arange(30) % 2).astype(np.uint8)],
    ),
    "k_range": Values(
        wrong=[[2, 2.5], [0], [True], [None], [[2, 3]], ["2"], np.array(2)],
        right=[range(2, 4), np.arange(2, 4, dtype=np.int8), {2, 3}, iter([3, 2])],
    ),
    "estimator": Values(accepts={"None"}, wrong=[OneBatchPAM, FasterPAM()], right=[OneBatchPAM("not used")]),
    "model": Values(wrong=[KMeans(2), OneBatchPAM]),
    "n": Values(accepts=HUGE, right=COUNT),
    "k": Values(accepts=HUGE, right=COUNT),
    "required_batch_size.n_swaps": Values(accepts=HUGE, right=COUNT),
    "diameter": Values(accepts={"0", "2.5", *LARGE}, wrong=[1e308], right=NUMBER),
    "gap": Values(accepts={"2.5", *LARGE}, wrong=[0.0, 1e-308], right=NUMBER),
    "delta": Values(wrong=[0.0, 1.5], right=[5e-324, *NUMBER]),
    "weights": replace(WEIGHTS, right=[np.float32(2), [0, 1, 1, 2]]),
    "swap_search.init": Values(accepts={"None"}, wrong=["random", [0], *INDICES], right=[(0, 1)]),
    "function": FUNCTION,
    "costly": Values(accepts={"True"}, wrong=[1], right=[np.True_]),
    "refined": Values(accepts={"True"}, wrong=[1], right=[np.True_]),
    "symmetric": Values(accepts={"True"}, wrong=[1], right=[np.True_]),
    "native_metric.function": Values(wrong=[lambda a, b, n: 0.0]),
    "axes": Values(accepts={"None"}),
    "medoids": Values(wrong=[[0, 0], [0, -1], [0.0, 1.0], ["0"], [[0], [1]], [True], OneBatchPAM], right=[(0, 1), [2]]),
    "confidence": Values(accepts={"None"}, wrong=[0.4, 1.0], right=[np.float32(0.5), Fraction(9, 10)]),
    "time_limit": Values(accepts={"None", "inf", "2.5", *HUGE}, right=NUMBER),
    # The objective must be that of the fit, and fixed medoids must be medoids.
    "certify.sample_weight": replace(
        WEIGHTS,
        accepts={"None"},
        untried={"2.5", *LARGE},
        right=[np.float32(1), np.ones(30, np.float16), [True] * 30],
    ),
    "certify.fixed_medoids": Values(accepts={"None", "list"}, wrong=INDICES),
    "lower_bound.metric": Values(accepts={"function", "None"}, wrong=["euklid", ["euclidean"]], right=["manhattan"]),
    "select_k.metric": Values(accepts={"function", "None"}, wrong=["euklid", ["euclidean"]], right=["manhattan"]),
    "lower_bound.sample_weight": replace(WEIGHTS, right=[np.float32(2), [1, 1, 0] * 10]),
    "n_samples": Values(accepts=LARGE - {"2**63", "2**70"}, right=COUNT),
    "n_features": Values(right=COUNT),
    "dtype": Values(wrong=["float16", np.int64], right=["float32", np.uint8, np.dtype("float64")]),
    "estimate_cost.metric": Values(wrong=["euklid", ["euclidean"], "levenshtein"], right=["manhattan"]),
    "path": Values(accepts={"text"}, right=[Path("items.parquet")]),
    "report.path": Values(untried={"text"}, wrong=["no/such/folder/report.html"]),
    "title": Values(accepts={"None", "text", "no text"}, right=[np.str_("Customers")]),
    "row_names": Values(accepts={"None", "list", "nested list", "table"}, right=[tuple("ab" * 15), np.arange(30)]),
    "show_as": Values(wrong=["pie", (0, 4), (2, 2, 2), (2,), (2.0, 2.0)], right=["table", "series", (2, 2), [1, 4]]),
    "selection": Values(accepts={"None"}),
    "certificate": Values(accepts={"None"}),
    "columns": Values(accepts={"None", "text"}, wrong=[["a", "a"], [1], [""]], right=[["a", "b"], ("a",)]),
}
DATA = {"X", "Y", "block", "sample"}  # which the tests of the room `data` cover
IGNORED = {"self", "y"}
# Made by the package, not by users.
RESULTS = {
    *("ClusterMedoids", "ClusterTable", "CostEstimate", "DistinctRows", "FitSummary", "KSelection", "LowerBound"),
    *("ClusterStatistics", "Representatives", "RowAssessment", "SwapResult"),
}


class Unreadable:
    """Data that fail the test as soon as they are looked at."""

    def __getattr__(self, name):
        pytest.fail(f"the data were asked for {name}")


def read(block):
    pytest.fail("the data were read")


UNREADABLE_LAZY = da.ones((30, 4), chunks=(15, 4)).map_blocks(read, dtype=float, meta=np.ones((0, 0)))
READABLE = np.random.RandomState(0).rand(30, 4)
READABLE_LAZY = da.from_array(READABLE, chunks=(15, 4))


@dataclass(frozen=True)
class Call:
    """A public function or method: `run` calls it with data and with some parameters, and right values for others."""

    title: str
    signature: inspect.Signature
    run: Callable[..., Any]

    def parameters(self) -> list[str]:
        return [name for name in self.signature.parameters if name not in DATA | IGNORED]

    def values(self, name: str) -> Values:
        """Return the values of the most special entry: that of the estimator and method, of the method, of the name."""
        scope = self.title.split(".")
        titles = [".".join([*scope[start:], name]) for start in range(len(scope) + 1)]
        known = [PARAMETERS[title] for title in titles if title in PARAMETERS]
        assert known, f"{self.title} has a new parameter {name!r}: tell in PARAMETERS which of its values are wrong"
        return known[0]


def construct(estimator, X, **parameters):
    k = next(iter(inspect.signature(estimator).parameters))
    return estimator(**{k: 2, **parameters}).fit(X)


def call_method(estimator, method, X, **arguments):
    model = estimator(2, random_state=0)
    if not method.startswith("fit"):
        model.fit(READABLE if estimator is not onebatchpam.dask.OneBatchPAM else READABLE_LAZY)
    with tempfile.TemporaryDirectory() as folder:
        path = {"path": Path(folder) / "report.html"} if method == "report" else {}
        return getattr(model, method)(X, **path | arguments)


def plot(X, **arguments):
    pytest.importorskip("matplotlib").use("agg")
    return select_k(READABLE, [2, 3]).plot(**arguments)


# Right values for the parameters of a function that have no default.
FUNCTIONS = {
    "batch_size": lambda X, **given: onebatchpam.batch_size(**{"n": 100, "k": 2, **given}),
    "block_metric": lambda X, **given: onebatchpam.block_metric(**{"function": manhattan, **given}),
    "cluster_statistics": lambda X, **given: onebatchpam.cluster_statistics(X, **{"labels": [0, 1] * 15, **given}),
    "collapse_duplicates": lambda X, **given: onebatchpam.collapse_duplicates(X, **given),
    "distance_block": lambda X, **given: onebatchpam.distance_block(X, X, **given),
    "medoid_silhouette": lambda X, **given: medoid_silhouette(X, **{"model": OneBatchPAM(2).fit(READABLE), **given}),
    "medoids_of": lambda X, **given: onebatchpam.medoids_of(X, **{"labels": [0, 1] * 15, **given}),
    "native_metric": lambda X, **given: onebatchpam.native_metric(**{"function": COMPILED, **given}),
    "pair_metric": lambda X, **given: onebatchpam.pair_metric(**{"function": manhattan, **given}),
    "required_batch_size": lambda X, **given: onebatchpam.required_batch_size(
        **{"n": 100, "diameter": 1.0, "gap": 0.1, "n_swaps": 5, **given}
    ),
    "estimate_cost": lambda X, **given: onebatchpam.estimate_cost(
        **{"n_samples": 100, "n_features": 3, "n_clusters": 2, **given}
    ),
    "lower_bound": lambda X, **given: onebatchpam.lower_bound(X, **{"medoids": [0, 1], **given}),
    "scan_parquet": lambda X, **given: onebatchpam.scan_parquet(**{"path": "items.parquet", **given}),
    "select_k": lambda X, **given: select_k(X, **{"k_range": [2, 3], **given}),
    "select_representatives": lambda X, **given: onebatchpam.select_representatives(X, **{"k": 2, **given}),
    "swap_search": lambda X, **given: onebatchpam.swap_search(X, **{"n_clusters": 2, **given}),
}
ESTIMATORS = [
    value
    for value in (getattr(onebatchpam, name) for name in onebatchpam.__all__)
    if inspect.isclass(value) and issubclass(value, (MedoidEstimator, RepresentativeSelector))
]


def public_methods(estimator):
    """Return the public methods that this package defines, not those of scikit-learn."""
    methods = inspect.getmembers(estimator, inspect.isfunction)
    return [name for name, method in methods if name[0] != "_" and method.__module__.startswith("onebatchpam")]


def all_calls():
    """Yield all calls; a method that several estimators inherit is called for the first, but `fit` for each."""
    called = set()
    for estimator, prefix in [*((each, "") for each in ESTIMATORS), (onebatchpam.dask.OneBatchPAM, "dask.")]:
        title = prefix + estimator.__name__
        yield Call(title, inspect.signature(estimator), partial(construct, estimator))
        for name in public_methods(estimator):
            if prefix == "dask." and name in ("estimate_cost", "report"):
                continue  # they refuse every Dask collection
            method = getattr(estimator, name)
            if name == "fit" or method not in called:
                called.add(method)
                yield Call(f"{title}.{name}", inspect.signature(method), partial(call_method, estimator, name))
    for name, function in FUNCTIONS.items():
        yield Call(name, inspect.signature(getattr(onebatchpam, name)), function)
    yield Call("KSelection.plot", inspect.signature(KSelection.plot), plot)


CALLS = list(all_calls())
CASES = [pytest.param(call, name, id=f"{call.title}-{name}") for call in CALLS for name in call.parameters()]


def complaint(call, X, name, value):
    """Return the error of a call with this value, or None; errors of other types fail the test."""
    try:
        call.run(X, **{name: value})
    except (ValueError, FileNotFoundError, FileExistsError) as error:
        return error
    return None


def is_a_clear_sentence(error, name, value):
    """Tell whether an error is one sentence that names the parameter, its value if that is short, and what is right."""
    message = str(error)
    is_short = isinstance(value, (str, int, float, complex, type(None))) and len(repr(value)) < 50
    named = name in message and "expected" in message and "\n" not in message
    return named and (not is_short or repr(value) in message)


def test_every_public_function_is_called():
    public = {name for name in onebatchpam.__all__ if callable(getattr(onebatchpam, name))}
    assert public == FUNCTIONS.keys() | RESULTS | {estimator.__name__ for estimator in ESTIMATORS}
    # The methods of results that have no parameters need no rules.
    for result in RESULTS:
        methods = inspect.getmembers(getattr(onebatchpam, result), inspect.isfunction)
        own = {name for name, method in methods if name[0] != "_" and len(inspect.signature(method).parameters) > 1}
        assert own <= {"plot"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_has_a_rule(estimator):
    assert set(inspect.signature(estimator).parameters) == set(estimator._rules)


@pytest.mark.parametrize(("call", "name"), CASES)
def test_a_wrong_value_is_found_before_the_data_are_read(call, name):
    X = UNREADABLE_LAZY if call.title.startswith("dask.") else Unreadable()
    for value in call.values(name).all_wrong():
        error = complaint(call, X, name, value)
        assert error is not None, f"{name}={value!r} was accepted"
        if not isinstance(error, OSError):
            assert is_a_clear_sentence(error, name, value), f"{name}={value!r}: {error}"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("call", "name"), CASES)
def test_a_right_value_is_accepted_or_does_not_fit_the_data(call, name):
    X = READABLE_LAZY if call.title.startswith("dask.") else READABLE
    for value in call.values(name).right:
        assert complaint(call, X, name, value) is None, f"{name}={value!r}"
    for value in map(ODD.__getitem__, call.values(name).accepts):
        error = complaint(call, X, name, value)
        assert error is None or is_a_clear_sentence(error, name, value), f"{name}={value!r}: {error}"


@pytest.mark.parametrize("method", ["fit_predict", "fit_transform"])
def test_methods_of_scikit_learn_pass_the_arguments_on(method):
    with pytest.raises(ValueError, match=r"sample_weight\[1\]=nan"):
        getattr(OneBatchPAM(2), method)(Unreadable(), sample_weight=[1, np.nan])
    with pytest.raises(ValueError, match="fixed_medoids holds 0 more than once"):
        getattr(OneBatchPAM(2), method)(Unreadable(), fixed_medoids=[0, 0])


@pytest.mark.parametrize(
    ("name", "value"), {"variant": "ninw", "refine": -1, "batch_size": 1, "init": [0, 1], "metric": "euklid"}.items()
)
def test_parameters_of_the_estimator_for_several_k(name, value):
    with pytest.raises(ValueError, match=name):
        select_k(Unreadable(), [2, 3], OneBatchPAM(**{name: value}))


def test_a_model_without_two_medoids_has_no_silhouette():
    with pytest.raises(NotFittedError):
        medoid_silhouette(Unreadable(), OneBatchPAM(2))
    with pytest.raises(ValueError, match="n_clusters=1: the medoid silhouette compares two medoids"):
        medoid_silhouette(Unreadable(), OneBatchPAM(1).fit(READABLE))


def test_long_values_are_described_by_their_type_and_shape():
    with pytest.raises(ValueError, match=r"^n_clusters is of type ndarray and shape \(30, 4\): expected an integer"):
        OneBatchPAM(READABLE).fit(Unreadable())
    with pytest.raises(ValueError, match=r"^variant='x{99}\.\.\.: expected one of"):
        OneBatchPAM(2, variant="x" * 1000).fit(Unreadable())
