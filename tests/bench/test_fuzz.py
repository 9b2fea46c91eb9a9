"""The fuzzer: short runs of it, and that it finds what it is there to find."""

from __future__ import annotations

import inspect
import itertools
import os
import signal

import numpy as np
import pytest

import onebatchpam
from bench.__main__ import main
from bench.fuzz import bindings, command, readers
from bench.fuzz.case import ESTIMATORS, FUNCTIONS_CALLED, draw_case
from bench.fuzz.functions import CHECKS
from bench.fuzz.metrics import FUNCTIONS
from bench.fuzz.trial import run_trial
from onebatchpam import _core, medoids_of

for package in ("h5py", "pandas", "polars", "pyarrow", "rapidfuzz", "zarr"):
    pytest.importorskip(package)


def run(task, seeds):
    """Return the failures of the cases of these seeds, and the sums of their counts."""
    failures, counts = {}, {}
    for seed in seeds:
        record = task(lambda part: None, seed)
        failures |= {(seed, check): failure for check, failure in record["failures"].items()}
        counts = {name: counts.get(name, 0) + count for name, count in record["counts"].items()}
    return failures, counts


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_fits(first):
    failures, counts = run(run_trial, range(first, first + 20))
    assert failures == {}
    assert counts["fits"] > 20


def test_bindings():
    failures, counts = run(bindings.run_binding, range(1500))
    assert failures == {}
    assert 300 < counts["refused"] < 1200


def test_readers():
    failures, counts = run(readers.run_reader, range(400))
    assert failures == {}
    assert 100 < counts["refused"] < 350


def test_a_seed_repeats_its_case(tmp_path):
    for seed in range(30):
        assert draw_case(seed, tmp_path).describe() == draw_case(seed, tmp_path).describe()
        assert readers.draw_file(seed) == readers.draw_file(seed)


def test_every_parameter_is_drawn(tmp_path):
    drawn = {name: {"n_clusters", "metric", "metric_params", "verbose"} for name in ESTIMATORS}
    for seed in range(1000):
        case = draw_case(seed, tmp_path)
        if case.target in drawn:
            drawn[case.target] |= case.parameters.keys()
    assert drawn == {name: set(inspect.signature(estimator).parameters) for name, estimator in ESTIMATORS.items()}


def test_everything_public_is_called():
    called = {*ESTIMATORS, *FUNCTIONS_CALLED, *(type(metric).__name__ for metric in FUNCTIONS)}
    results = {
        *(
            "ClusterMedoids",
            "ClusterStatistics",
            "ClusterTable",
            "CostEstimate",
            "DistinctRows",
            "FitSummary",
            "KSelection",
            "LowerBound",
        ),
        *("Representatives", "RowAssessment", "SwapResult", "__version__"),
    }
    not_yet = {"RepresentativeSelector", "estimate_cost", "lower_bound", "scan_parquet"}
    assert set(onebatchpam.__all__) - results - not_yet <= called
    assert set(FUNCTIONS_CALLED) == set(CHECKS)


class TestItFinds:
    """Defects that are planted here, each by the check that is there for it."""

    def failing_checks(self, target, folder, n_cases=15):
        seeds = (seed for seed in itertools.count() if draw_case(seed, folder).target == target)
        return {check for _, check in run(run_trial, itertools.islice(seeds, n_cases))[0]}

    def test_a_wrong_objective(self, monkeypatch, tmp_path):
        inertia = property(lambda self: float(np.sum(self.distances * self.weights)) * 1.01)
        monkeypatch.setattr("onebatchpam.search.assignment.Assignment.inertia", inertia)
        assert "check_inertia" in self.failing_checks("RandomMedoids", tmp_path)

    def test_a_search_that_ends_too_early(self, monkeypatch, tmp_path):
        monkeypatch.setattr(_core.SwapSearch, "converged", True)
        assert "check_local_optimum" in self.failing_checks("FasterPAM", tmp_path, 60)

    def test_rows_that_are_changed(self, monkeypatch, tmp_path):
        def change(X, *arguments, **options):
            if isinstance(X, np.ndarray) and X.flags.writeable:
                X[...] = X[::-1].copy()
            return medoids_of(X, *arguments, **options)

        monkeypatch.setattr("bench.fuzz.functions.medoids_of", change)
        assert "inputs" in self.failing_checks("medoids_of", tmp_path)

    def test_an_undocumented_error(self, monkeypatch):
        monkeypatch.setattr("onebatchpam.algorithms.base.check_n_clusters", lambda *_, **__: {}["k"])
        failures, _ = run(run_trial, range(10))
        assert any("KeyError is not a documented error" in failure for failure in failures.values())

    def test_a_write_beyond_an_array(self):
        guard = bindings.Guarded()
        array = guard.empty((3, 2), np.float32)
        array[...] = 1
        assert guard.are_intact()
        guard.buffers[0][-bindings.MARGIN] = 0
        assert not guard.are_intact()

    def test_a_pickle_that_is_loaded(self, monkeypatch):
        load = np.load
        monkeypatch.setattr(np, "load", lambda file, **options: load(file, **options | {"allow_pickle": True}))
        assert readers.read(".npz", readers.npz_of_pickles(), {}) == ("a pickle was loaded", True)


def crash(announce, seed):
    if seed == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return {"failures": {"check": "wrong"} if seed == 5 else {}, "counts": {"fits": 2}, "code": ""}


class TestCommand:
    def test_a_crash_ends_the_case_and_not_the_run(self, monkeypatch, capsys):
        monkeypatch.setitem(command.TASKS, "fits", crash)
        assert main(["fuzz", "--cases", "8"]) == 2
        printed = capsys.readouterr()
        assert "seed 3: crash\n    the process ended by SIGSEGV" in printed.out
        assert "case = draw_case(3, " in printed.out
        assert "python -m bench fuzz fits --seed 5 --cases 1" in printed.out
        assert "fits: cases 8, fits 14, failed 2" in printed.out
        assert "2 of 8 cases failed" in printed.err

    @pytest.mark.parametrize("kind", command.TASKS)
    def test_every_kind(self, kind, capsys):
        assert main(["fuzz", kind, "--seed", "7", "--cases", "2"]) == 0
        assert f"{kind}: cases 2" in capsys.readouterr().out

    def test_a_case_that_cannot_be_drawn(self, monkeypatch, capsys):
        monkeypatch.setitem(command.TASKS, "fits", crash)
        monkeypatch.setitem(command.DESCRIPTIONS, "fits", crash)
        assert main(["fuzz", "--seed", "3", "--cases", "1"]) == 2
        assert "the case cannot even be drawn: the process ended by SIGSEGV" in capsys.readouterr().out

    def test_guidance_is_for_readers(self, capsys):
        assert main(["fuzz", "bindings", "--guided"]) == 2
        assert "--guided is for readers, not for bindings" in capsys.readouterr().err

    def test_the_end_by_time(self, capsys):
        assert main(["fuzz", "bindings", "--seconds", "0"]) == 0
        assert "cases 1" in capsys.readouterr().out
