"""Data sets: their shapes, their variants, their files."""

from __future__ import annotations

import numpy as np
import pytest

from bench.data import synthetic
from bench.data.sets import DATASETS, default_folder, is_available, load


def test_missing_data_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz is missing: name its folder"):
        load("mnist", tmp_path)


def test_the_folder_may_be_named_by_the_environment(tmp_path, monkeypatch):
    np.savez(tmp_path / "abalone.npz", X=np.zeros((4176, 8)))
    monkeypatch.setenv("ONEBATCHPAM_DATA", str(tmp_path))
    assert load("abalone", default_folder()).shape == (4176, 8)
    with pytest.raises(FileNotFoundError, match="bench download abalone --variant clean`"):
        load("abalone", default_folder(), variant="clean")


def test_shapes_are_checked_on_load(tmp_path):
    np.savez(tmp_path / "letter.npz", X=np.zeros((20000, 16)))
    with pytest.raises(ValueError, match=r"expected \(19999, 16\) .*: that is the shape of the variant 'clean'"):
        load("letter", tmp_path)
    np.savez(tmp_path / "letter.npz", X=np.zeros((10, 16)))
    with pytest.raises(ValueError, match=r"letter has shape .*another version or is damaged"):
        load("letter", tmp_path)
    np.savez(tmp_path / "letter.npz", Y=np.zeros((10, 16)))
    with pytest.raises(ValueError, match="holds Y: expected an array X"):
        load("letter", tmp_path)


def test_labels_are_dropped_where_no_row_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path / "cache"))
    X = np.arange(6819 * 96, dtype=np.float32).reshape(6819, 96)
    np.savez(tmp_path / "bankruptcy.npz", X=X)
    np.savez(tmp_path / "abalone.npz", X=np.zeros((4176, 8)))
    np.testing.assert_array_equal(load("bankruptcy", tmp_path, variant="clean"), X[:, 1:])
    assert is_available("bankruptcy", tmp_path, "clean")
    assert not is_available("abalone", tmp_path, "clean")  # its first row is not in the file
    with pytest.raises(FileNotFoundError, match=r"abalone-clean\.npz is missing"):
        load("abalone", tmp_path, variant="clean")


def test_unknown_names():
    with pytest.raises(ValueError, match="there is no data set 'iris': expected one of abalone"):
        load("iris", default_folder())
    with pytest.raises(ValueError, match="there is no variant 'dirty'"):
        load("letter", default_folder(), variant="dirty")


def test_shapes_of_the_clean_variants():
    shapes = {name: dataset.shape_in("clean") for name, dataset in DATASETS.items()}
    changed = {name: shape for name, shape in shapes.items() if shape != DATASETS[name].shape}
    assert changed == {
        "abalone": (4177, 7),
        "bankruptcy": (6819, 95),
        "letter": (20000, 16),
        "dota2": (92650, 116),
        "covertype": (581012, 54),
    }


@pytest.mark.parametrize("name", synthetic.SETS)
def test_generated_data_are_always_the_same(name, tmp_path):
    X = load(name, tmp_path)
    assert X.shape == DATASETS[name].shape
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(load(name, tmp_path), X)


def test_the_mixture_is_always_the_same():
    def rows(n):
        pieces = list(synthetic.make_mixture_pieces(n, 4))
        assert [start for start, _ in pieces] == list(range(0, n, synthetic.PIECE_ROWS))
        return np.concatenate([piece for _, piece in pieces])

    many = rows(150_000)
    assert many.dtype == np.float32
    assert many.shape == (150_000, 4)
    np.testing.assert_array_equal(rows(1000), many[:1000])
    assert len(np.unique(many, axis=0)) == len(many)
