"""OneBatchPAM works with the tools of scikit-learn: its checks, pipelines, grid searches, copies and frames."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contract import every_check, every_check_but_equivalence
from onebatchpam import OneBatchPAM
from onebatchpam._parameters import resolve_n_jobs
from onebatchpam.blocks import BlockScan
from onebatchpam.metrics import resolve_threads


@every_check(
    [
        OneBatchPAM(),
        OneBatchPAM(variant="unif"),
        OneBatchPAM(variant="nniw", refine=0),
        OneBatchPAM(variant="debias"),
        OneBatchPAM(variant="lwcs"),
        OneBatchPAM(metric="manhattan"),
        OneBatchPAM(metric="cosine"),
        OneBatchPAM(metric="chebyshev"),
        OneBatchPAM(n_jobs=2),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@every_check_but_equivalence(
    [
        OneBatchPAM(batch_size=20),
        OneBatchPAM(init="k-means++"),
        OneBatchPAM(batch_size=40, n_init=2),  # its second start is drawn, and so are the kicks of the pool search
        OneBatchPAM(effort="best"),
    ]
)
def test_estimator_checks_of_random_starts(estimator, check):
    check(estimator)


def test_pipeline(blobs):
    pipeline = make_pipeline(StandardScaler(), OneBatchPAM(5, random_state=0)).fit(blobs)
    scaled = StandardScaler().fit_transform(blobs)
    np.testing.assert_array_equal(pipeline.predict(blobs), OneBatchPAM(5, random_state=0).fit(scaled).labels_)


def test_clone_has_the_parameters_and_not_the_fit(blobs):
    model = OneBatchPAM(3, metric="minkowski", metric_params={"p": 3}, init=[0, 1, 2]).fit(blobs)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(blobs)


def test_grid_search(blobs):
    search = GridSearchCV(OneBatchPAM(random_state=0), {"n_clusters": [2, 5], "variant": ["unif", "nniw"]}, cv=3)
    assert search.fit(blobs).best_params_["n_clusters"] == 5
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("copy", [clone, lambda m: pickle.loads(pickle.dumps(m))], ids=["clone", "pickle"])
def test_a_copy_fits_alike(copy, blobs):
    model = OneBatchPAM(5, batch_size=50, random_state=0)
    np.testing.assert_array_equal(copy(model).fit(blobs).medoid_indices_, model.fit(blobs).medoid_indices_)


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "nan_euclidean"])
def test_a_fitted_model_survives_pickle_and_joblib(metric, blobs, tmp_path):
    model = OneBatchPAM(5, metric=metric, random_state=0).fit(blobs)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model", mmap_mode="r")):
        np.testing.assert_array_equal(copy.predict(blobs), model.labels_)
        np.testing.assert_array_equal(copy.transform(blobs), model.transform(blobs))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_fits(backend, blobs):
    fits = [joblib.delayed(OneBatchPAM(5, random_state=seed, n_jobs=2).fit)(blobs) for seed in range(4)]
    for seed, model in enumerate(joblib.Parallel(n_jobs=2, backend=backend)(fits)):
        expected = OneBatchPAM(5, random_state=seed).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)


class TestThreads:
    """How many threads a fit uses: those of a joblib context, otherwise all processors."""

    @pytest.fixture(autouse=True)
    def _eight_processors(self, monkeypatch):
        monkeypatch.setattr("onebatchpam._parameters.cpu_count", lambda: 8)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def test_all_processors_by_default(self):
        assert resolve_n_jobs(None) == resolve_n_jobs(-1) == 8
        assert resolve_n_jobs(-2) == 7
        assert resolve_n_jobs(-100) == 1

    def test_a_joblib_context_sets_the_number(self):
        for n_jobs, expected in [(3, 3), (-1, 8)]:
            with joblib.parallel_config("threading", n_jobs=n_jobs):
                assert resolve_n_jobs(None) == expected

    def test_one_in_a_worker_of_joblib(self):
        assert joblib.Parallel(2, backend="threading")([joblib.delayed(resolve_n_jobs)(None)]) == [1]
        assert joblib.Parallel(2, backend="loky")([joblib.delayed(resolve_n_jobs)(None)] * 2) == [cpu_share(2)] * 2

    def test_the_variable_of_the_environment(self, monkeypatch):
        for text, expected in [("3", 3), ("1000", 8), ("many", 8), ("", 8)]:
            monkeypatch.setenv("OMP_NUM_THREADS", text)
            assert resolve_n_jobs(None) == expected
        assert resolve_n_jobs(5) == 5

    @pytest.mark.parametrize("n_jobs", [1000, 2**31, 2**70])
    def test_a_number_beyond_use_is_lowered(self, n_jobs):
        assert resolve_n_jobs(n_jobs) == 4 * 8

    def test_a_python_function_is_called_from_one_thread_unless_more_are_asked_for(self):
        threads = [resolve_threads(n_jobs, metric) for metric in ("l1", abs) for n_jobs in (None, 2)]
        assert threads == [8, 2, 1, 2]
        with joblib.parallel_config("threading", n_jobs=3):
            assert resolve_threads(None, abs) == 3

    def test_a_fit_uses_them(self, blobs, monkeypatch):
        used, scan = [], BlockScan
        monkeypatch.setattr(
            "onebatchpam.batch.sampling.BlockScan", lambda n, n_jobs: used.append(n_jobs) or scan(n, n_jobs)
        )
        with joblib.parallel_config("threading", n_jobs=3):
            OneBatchPAM(5).fit(blobs)
        OneBatchPAM(5).fit(blobs)
        assert used == [3, 8]

    @pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
    def test_no_warning_in_a_worker_of_multiprocessing(self):
        script = (
            "import multiprocessing, numpy, onebatchpam\n"
            "pool = multiprocessing.get_context('fork').Pool(1)\n"
            "print(pool.apply(onebatchpam.OneBatchPAM(3, n_jobs=2).fit_predict, (numpy.eye(50),)).shape)\n"
        )
        run = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", script], capture_output=True, text=True)
        assert run.stdout == "(50,)\n", run.stderr


def cpu_share(n_workers):
    """Return the number of processors for each of some workers."""
    return max(1, joblib.cpu_count() // n_workers)


class TestFrames:
    @pytest.fixture
    def frame(self, blobs):
        return pd.DataFrame(blobs, columns=list("abcd"), index=np.arange(300) + 1000)

    def test_same_as_an_array(self, frame, blobs):
        model = OneBatchPAM(5, random_state=0).fit(frame)
        plain = OneBatchPAM(5, random_state=0).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
        np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
        np.testing.assert_array_equal(model.predict(frame), plain.labels_)

    def test_feature_names(self, frame, blobs):
        model = OneBatchPAM(5, random_state=0).fit(frame)
        assert model.feature_names_in_.tolist() == list("abcd")
        assert model.get_feature_names_out().tolist() == [f"onebatchpam{slot}" for slot in range(5)]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[list("dcba")])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(blobs)
        assert not hasattr(model.fit(blobs), "feature_names_in_")

    def test_set_output(self, frame):
        model = OneBatchPAM(5, random_state=0).set_output(transform="pandas").fit(frame)
        distances = model.transform(frame)
        assert isinstance(distances, pd.DataFrame)
        assert distances.columns.tolist() == model.get_feature_names_out().tolist()
        np.testing.assert_array_equal(distances.index, frame.index)
        np.testing.assert_array_equal(distances.to_numpy().argmin(axis=1), model.labels_)

    def test_columns_of_different_types(self):
        frame = pd.DataFrame({"small": np.arange(30, dtype=np.int8), "flag": np.arange(30) % 2 == 0, "real": 0.5})
        model = OneBatchPAM(3, metric="manhattan", random_state=0).fit(frame)
        assert model.inertia_ == OneBatchPAM(3, metric="manhattan", random_state=0).fit(frame.to_numpy(float)).inertia_


def fitted_state(model):
    return dict(vars(model))


def mixed_names():
    return pd.DataFrame(np.random.RandomState(0).rand(50, 3), columns=["a", "b", 3])


@pytest.mark.parametrize(
    ("X", "error"),
    [
        (np.full((50, 3), np.nan), ValueError),
        (np.ones((2, 3)), ValueError),
        ((np.random.RandomState(0).rand(50, 3) > 0.5) * np.float32(3e38), ValueError),
        (np.ones((50, 3)), UserWarning),
        (np.ones(50), ValueError),
        (mixed_names(), TypeError),
    ],
    ids=["NaN", "k > n", "overflow", "a warning as an error", "one dimension", "names of two types"],
)
class TestFailure:
    """After an error the model is what it was before."""

    @pytest.mark.filterwarnings("error")
    def test_a_first_fit_leaves_nothing(self, X, error):
        model = OneBatchPAM(4, random_state=0)
        before = fitted_state(model)
        with pytest.raises(error):
            model.fit(X)
        assert fitted_state(model) == before

    @pytest.mark.filterwarnings("error")
    def test_a_refit_leaves_the_earlier_fit(self, X, error, blobs):
        model = OneBatchPAM(4, random_state=0).fit(pd.DataFrame(blobs, columns=list("abcd")))
        before = fitted_state(model)
        with pytest.raises(error):
            model.fit(X)
        after = fitted_state(model)
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
