"""Every parameter of every estimator has a rule, which is applied before any data are read."""

from __future__ import annotations

import inspect

import dask.array as da
import numpy as np
import pytest

import onebatchpam
import onebatchpam.dask
from onebatchpam import OneBatchPAM, select_k
from onebatchpam.algorithms import MedoidEstimator

ESTIMATORS = [
    value for value in vars(onebatchpam).values() if inspect.isclass(value) and issubclass(value, MedoidEstimator)
]
# Values that are wrong for any parameter of this name, in every estimator that has it.
WRONG = {
    "n_clusters": [0, -1, 2.5, "many", None, True],
    "metric": ["euklid", 7, None],
    "metric_params": ["p", 3, {"unknown": 1}],
    "n_jobs": [0, 1.5, "all"],
    "random_state": ["seed", -1],
    "verbose": [-1, "much"],
    "batch_size": [0, "large", 2.5, None],
    "variant": ["ninw", None, 3],
    "refine": [-1, "often", 1.5],
    "init": ["best", [0.5, 1.5], [0, 0]],
    "n_init": [0, "two", 1.5],
    "max_iter": [-1, "long", 2.5],
    "tol": [-1, "small", np.nan, np.inf],
    "memory_limit": [-1, "lots", 2.5],
    "warm_start": [1, "yes", None],
    "n_samplings": [0, 1.5],
    "sample_size": [0, "large"],
    "power": [-1, "two", np.nan],
    "n_swaps": [-1, 1.5],
    "chain_length": [0, 1.5],
}


class Unreadable:
    """Data that fail the test as soon as they are looked at."""

    def __getattr__(self, name):
        pytest.fail(f"the data were asked for {name}")


CASES = [
    (estimator, name, value)
    for estimator in ESTIMATORS
    for name in inspect.signature(estimator).parameters
    for value in WRONG[name]
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_has_a_rule(estimator):
    assert set(inspect.signature(estimator).parameters) == set(estimator._rules)


@pytest.mark.parametrize(("estimator", "name", "value"), CASES)
def test_a_wrong_value_is_found_before_the_data_are_read(estimator, name, value):
    if name in ("init", "metric") and estimator.__name__ == "BanditPAM":
        pytest.importorskip("banditpam")
    model = estimator(**{"n_clusters": 2, name: value})
    with pytest.raises((ValueError, TypeError), match=name if name != "random_state" else "seed|Seed"):
        model.fit(Unreadable())
    assert not hasattr(model, "medoid_indices_")


@pytest.mark.parametrize("name", ["variant", "refine", "batch_size", "init", "metric"])
def test_on_a_cluster_and_for_several_k(name):
    def read(block):
        pytest.fail("the data were read")

    data = da.ones((100, 3), chunks=(50, 3)).map_blocks(read, dtype=float, meta=np.ones((0, 0)))
    with pytest.raises(ValueError, match=name):
        onebatchpam.dask.OneBatchPAM(**{name: WRONG[name][0]}).fit(data)
    with pytest.raises(ValueError, match=name):
        select_k(Unreadable(), [2, 3], OneBatchPAM(**{name: WRONG[name][0]}))
