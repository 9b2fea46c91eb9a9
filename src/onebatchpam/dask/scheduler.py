"""The partitions of a Dask collection, and how a task runs on all of them, with any scheduler of Dask.

An argument that all partitions share becomes a Dask task of its own. So it is sent to each worker once, and can be
sent again to others if a worker is lost.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any

import dask
import dask.array
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from onebatchpam.dask.partition import on_partition

MERGED_AT_ONCE = 16  # number of results that one task merges


class Partitions:
    """The partitions of a Dask collection of rows, with their sizes and the weights of their rows."""

    def __init__(self, X: Any, sample_weight: Any = None) -> None:
        self.parts = parts_of(X)
        sizes = known_sizes(X)
        self.sizes = measured_sizes(self.parts) if sizes is None else sizes
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.weights = weights_of(sample_weight, self.sizes, self.firsts)
        self._kept: list[Delayed] = []

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    def tasks(self, name: str, task: Callable[..., Any], *told: Any, each: list[Any] | None = None) -> list[Delayed]:
        """Return a Dask task for every partition; it gets the item of `each` for this partition, then `told`."""
        shared = [tell(argument) for argument in told]
        return [
            named(
                name,
                number,
                partial(on_partition, task),
                part,
                weights,
                number,
                int(self.firsts[number]),
                int(self.sizes[number]),
                *([] if each is None else [each[number]]),
                *shared,
            )
            for number, (part, weights) in enumerate(zip(self.parts, self.weights, strict=True))
        ]

    def run(self, name: str, task: Callable[..., Any], *told: Any, each: list[Any] | None = None) -> list[Any]:
        """Run a task on every partition; return the results of partitions that are not empty, in their order."""
        return [found for found in compute(self.tasks(name, task, *told, each=each)) if found is not None]

    def keep(self, name: str, task: Callable[..., Any], *told: Any, each: list[Any]) -> list[Delayed]:
        """Start a task on every partition; the results stay on the workers as long as something refers to them."""
        with plain_errors():
            self._kept = list(dask.persist(*self.tasks(name, task, *told, each=each)))
        return self._kept

    def stop(self) -> None:
        """Cancel the tasks of the last `keep`, which an error or a debugger might still refer to and so keep alive."""
        distributed = sys.modules.get("distributed")
        if distributed is not None:
            futures = [each for each in distributed.futures_of(self._kept) if not each.cancelled()]
            if futures:
                futures[0].client.cancel(futures)

    def run_on(self, numbers: NDArray[np.int64], name: str, task: Callable[..., Any], *told: Any) -> list[Any]:
        """Run a task on the partitions that hold the rows with these indices, and return the results."""
        tasks = self.tasks(name, task, *told)
        holders = np.unique(np.searchsorted(self.firsts + self.sizes, numbers, side="right"))
        return compute([tasks[holder] for holder in holders])


def parts_of(X: Any) -> list[Delayed]:
    """Return the partitions of a Dask array or frame; an array of one dimension must hold strings or other objects."""
    if isinstance(X, dask.array.Array):
        if X.ndim == 1 and X.dtype.kind in "OUT":
            return list(X.to_delayed())
        if X.ndim != 2:
            raise ValueError(f"X is a Dask array of {X.ndim} dimensions: expected rows of features, 2 dimensions")
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    if hasattr(X, "_meta_nonempty"):
        return list(X.to_delayed())
    raise ValueError(f"X is a {type(X).__name__}: expected a dask.array or a dask.dataframe")


def known_sizes(X: Any) -> NDArray[np.int64] | None:
    """Return the number of rows of each partition, or None if the collection does not know it."""
    chunks = getattr(X, "chunks", None)
    if chunks is None or np.isnan(chunks[0]).any():
        return None
    return np.array(chunks[0], dtype=np.int64)


def example_of(X: Any) -> Any:
    """Return a few made-up rows with the columns and types of a Dask array or frame, without computing anything."""
    if isinstance(X, dask.array.Array):
        return np.ones((1, *X.shape[1:]), X.dtype)
    return X._meta_nonempty


def lazy_array(
    name: str,
    function: Callable[..., Any],
    parts: list[Delayed],
    sizes: NDArray[np.int64] | None,
    width: tuple[int, ...],
    dtype: Any,
    *told: Any,
) -> Any:
    """Return a Dask array that concatenates the results of a function on each partition, computed on demand."""
    shared = [tell(argument) for argument in told]
    return dask.array.concatenate(
        [
            dask.array.from_delayed(
                named(name, number, function, part, *shared),
                (np.nan if sizes is None else int(sizes[number]), *width),
                dtype,
            )
            for number, part in enumerate(parts)
        ],
        allow_unknown_chunksizes=True,
    )


def measured_sizes(parts: list[Delayed]) -> NDArray[np.int64]:
    """Return the number of rows of each partition, for which all partitions are computed."""
    return np.array(compute([named("size", number, n_rows, part) for number, part in enumerate(parts)]), dtype=np.int64)


def n_rows(part: Any) -> int:
    return int(part.shape[0])


def weights_of(sample_weight: Any, sizes: NDArray[np.int64], firsts: NDArray[np.int64]) -> list[Any]:
    """Return the weights of each partition: a part of a Dask collection, a slice of an array, or None."""
    if sample_weight is None:
        return [None] * len(sizes)
    if dask.is_dask_collection(sample_weight):
        parts = list(np.ravel(sample_weight.to_delayed()))
        if len(parts) != len(sizes):
            raise ValueError(f"sample_weight has {len(parts)} partitions: expected {len(sizes)}, like X")
        return parts
    n = int(sizes.sum())
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}: expected {(n,)}, one weight for each row")
    return [weights[first : first + size] for first, size in zip(firsts, sizes, strict=True)]


def tell(argument: Any) -> Delayed:
    """Return a task whose result is this argument of many tasks; Dask runs it again if a worker is lost."""
    return named("state", 0, partial(same, argument))


def same(argument: Any) -> Any:
    return argument


def named(name: str, number: int, function: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return a Dask task that calls a function and is shown under this name in the dashboard."""
    task = delayed(function, name=f"onebatchpam-{name}", traverse=False)
    return task(*arguments, dask_key_name=f"onebatchpam-{name}-{uuid.uuid4().hex}-{number}")


def merged(name: str, tasks: list[Delayed], merge: Callable[..., Any], *arguments: Any) -> Delayed:
    """Return a task that merges the results of all tasks, a few at a time, so that no worker holds all of them."""
    while len(tasks) > 1:
        groups = [tasks[start : start + MERGED_AT_ONCE] for start in range(0, len(tasks), MERGED_AT_ONCE)]
        tasks = [named(f"merge-{name}", number, merge, group, *arguments) for number, group in enumerate(groups)]
    return tasks[0]


def compute(tasks: list[Delayed]) -> list[Any]:
    """Run Dask tasks and return their results."""
    with plain_errors():
        return list(dask.compute(*tasks))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Replace errors of the cluster by an error that explains why the fit stopped; errors of tasks pass through."""
    try:
        yield
    except cluster_failures() as error:
        raise RuntimeError(
            f"the fit was stopped because the Dask cluster failed: {type(error).__name__}: {error}. Nothing was "
            "fitted; check the scheduler and the memory of the workers, and fit again"
        ) from error


def cluster_failures() -> tuple[type[BaseException], ...]:
    """Return the exceptions that Dask raises if workers, the scheduler or futures are lost."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return (CancelledError,)
    return (CancelledError, distributed.KilledWorker, distributed.comm.CommClosedError)
