"""Helpers that write rows to disk, in every format that the package reads."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")


def as_npy(X, folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def as_memmap(X, folder):
    return np.load(as_npy(X, folder), mmap_mode="r")


def as_zarr(X, folder):
    array = zarr.open(str(folder / "X.zarr"), mode="w", shape=X.shape, dtype=X.dtype, chunks=(70, 3))
    array[:] = X
    return array


def as_hdf5(X, folder, **options):
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("X", data=X, **options)
    return h5py.File(folder / "X.h5")["X"]


def as_table(X):
    return pyarrow.table({f"x{i}": column for i, column in enumerate(X.T)})


def as_parquet(X, folder, rows=90):
    parquet.write_table(as_table(X), folder / "X.parquet", row_group_size=rows)
    return folder / "X.parquet"


def as_parquet_folder(X, folder):
    table, cuts = as_table(X), [0, 130, 130, 135, len(X)]
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        path = folder / "table" / f"day={i}" / "part.parquet"
        path.parent.mkdir(parents=True)
        parquet.write_table(table.slice(start, stop - start), path, row_group_size=60)
    (folder / "table" / "_metadata.parquet").write_text("not a table")
    return folder / "table"


SOURCES = {
    "npy": as_npy,
    "npy, name": lambda X, folder: str(as_npy(X, folder)),
    "npy, Fortran order": lambda X, folder: as_npy(np.asfortranarray(X), folder),
    "memmap": as_memmap,
    "memmap, every other": lambda X, folder: as_memmap(np.repeat(X, 2, axis=0), folder)[::2],
    "zarr": as_zarr,
    "hdf5": as_hdf5,
    "hdf5, chunks": lambda X, folder: as_hdf5(X, folder, chunks=(50, 2), compression="gzip"),
    "parquet": as_parquet,
    "parquet, folder": as_parquet_folder,
}


class Recorded:
    """An array that stands for one on disk, and records which rows were read and on which threads."""

    def __init__(self, X):
        self.X, self.reads, self.threads = X, [], set()
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.reads.append((rows.start, rows.stop))
        self.threads.add(threading.current_thread().name)
        return self.X[rows]
