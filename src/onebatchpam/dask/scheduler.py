"""The partitions of a Dask collection, and how a task runs on all of them, with any scheduler of Dask.

An argument that all partitions share becomes a Dask task of its own. So it is sent to each worker once, and can be
sent again to others if a worker is lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask
import dask.array
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from onebatchpam._parameters import check_candidates, check_weights, spread_weights
from onebatchpam._tiles import mark
from onebatchpam.dask.partition import Layout, layout_of, on_lazy_partition, on_partition
from onebatchpam.dask.runner import Runner, TaskError, in_one_line

MERGED_AT_ONCE = 16  # number of results that one task merges


@dataclass(frozen=True)
class Parts:
    """The partitions of a Dask collection of rows, and what is known of them before they are computed."""

    tasks: list[Delayed]
    layout: Layout  # the form that the collection declares for its rows
    sizes: NDArray[np.int64] | None  # number of rows of each partition


class Partitions:
    """The partitions of a Dask collection of rows: their sizes, the weights of their rows, and the candidates."""

    def __init__(self, X: Any, sample_weight: Any = None, candidates: Any = None) -> None:
        weights = sample_weight if dask.is_dask_collection(sample_weight) else check_weights(sample_weight)
        self.is_weighted = weights is not None
        declared, self.runner = parts_of(X), Runner()
        self.parts, self._layout = declared.tasks, tell(declared.layout)
        self.sizes = self._measured_sizes() if declared.sizes is None else declared.sizes
        self.measured = replace(declared, sizes=self.sizes)
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.weights = weights_of(weights, self.sizes, self.firsts)
        self.candidates = candidates_of(candidates, self.sizes, self.firsts)

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    def tasks(self, name: str, task: Callable[..., Any], *told: Any, each: list[Any] | None = None) -> list[Delayed]:
        """Return a Dask task for every partition; it gets the item of `each` for this partition, then `told`."""
        shared = [argument if isinstance(argument, Delayed) else tell(argument) for argument in told]
        firsts, sizes = self.firsts.tolist(), self.sizes.tolist()
        return [
            named(
                name,
                number,
                partial(on_partition, task),
                part,
                self.weights[number],
                self.candidates[number],
                number,
                firsts[number],
                sizes[number],
                self._layout,
                *([] if each is None else [each[number]]),
                *shared,
            )
            for number, part in enumerate(self.parts)
        ]

    def run(self, name: str, task: Callable[..., Any], *told: Any, each: list[Any] | None = None) -> list[Any]:
        """Run a task on every partition; return the results of partitions that are not empty, in their order."""
        tasks = self.tasks(name, task, *told, each=each)
        with named_partitions():
            return [found for found in self.runner.compute(tasks) if found is not None]

    def keep(self, name: str, task: Callable[..., Any], *told: Any) -> list[Delayed]:
        """Start a task on every partition; the results stay on the workers as long as something refers to them."""
        with named_partitions():
            return self.runner.start(self.tasks(name, task, *told))

    def run_on(self, numbers: NDArray[np.int64], name: str, task: Callable[..., Any], *told: Any) -> list[Any]:
        """Run a task on the partitions that hold the rows with these indices, and return the results."""
        tasks = self.tasks(name, task, *told)
        holders = np.unique(np.searchsorted(self.firsts + self.sizes, numbers, side="right"))
        with named_partitions([f"partition {holder}" for holder in holders]):
            return self.runner.compute([tasks[holder] for holder in holders])

    def share(self, argument: Any) -> Delayed:
        """Return an argument for tasks of several passes; a cluster keeps it as long as something refers to it."""
        return self.runner.start([tell(argument)])[0]

    def run_merged(
        self,
        name: str,
        task: Callable[..., Any],
        *told: Any,
        each: list[Any] | None = None,
        merge: Callable[..., Any],
        count: int,
    ) -> Any:
        """Run a task on every partition; return merge(results, count), merged by the workers a few at a time."""
        with named_partitions(["a partition"]):
            return self.runner.compute([merged(name, self.tasks(name, task, *told, each=each), merge, count)])[0]

    def _measured_sizes(self) -> NDArray[np.int64]:
        """Return the number of rows of each partition, for which all partitions are computed."""
        tasks = [named("size", number, n_rows, part) for number, part in enumerate(self.parts)]
        with named_partitions():
            return np.array(self.runner.compute(tasks), dtype=np.int64)


@contextmanager
def named_partitions(names: Sequence[str] | None = None) -> Iterator[None]:
    """Replace a TaskError by an error that names the partition; by default, there is a task for each partition."""
    try:
        yield
    except TaskError as failed:
        name, error = f"partition {failed.place}" if names is None else names[failed.place], failed.__cause__
        raise RuntimeError(f"{name} could not be computed: {in_one_line(error)}; nothing was fitted") from error


def parts_of(X: Any) -> Parts:
    """Return the partitions of a Dask array or frame; an array of one dimension must hold strings or other objects."""
    if isinstance(X, dask.array.Array):
        layout = Layout(None, X.shape[1:], (X.dtype,))
        sizes = None if np.isnan(X.chunks[0]).any() else np.array(X.chunks[0], dtype=np.int64)
        if X.ndim == 1 and X.dtype.kind in "OUT":
            return Parts(list(X.to_delayed()), layout, sizes)
        if X.ndim != 2:
            raise ValueError(f"X is a Dask array of {X.ndim} dimensions: expected rows of features, 2 dimensions")
        return Parts(list(X.rechunk({1: -1}).to_delayed().ravel()), layout, sizes)
    if hasattr(X, "_meta_nonempty"):
        return Parts(list(X.to_delayed()), layout_of(X._meta), None)
    raise ValueError(f"X is a {type(X).__name__}: expected a dask.array or a dask.dataframe")


def example_of(X: Any) -> Any:
    """Return a few made-up rows with the columns and types of a Dask array or frame, without computing anything."""
    if isinstance(X, dask.array.Array):
        return np.ones((1, *X.shape[1:]), X.dtype)
    return X._meta_nonempty


def lazy_array(
    name: str, task: Callable[..., Any], parts: Parts, width: tuple[int, ...], dtype: Any, *told: Any
) -> Any:
    """Return a Dask array that concatenates the results of a task on each partition, computed on demand."""
    function = partial(on_lazy_partition, task, np.empty((0, *width), dtype))
    shared = [tell(argument) for argument in (parts.layout, *told)]
    sizes: list[Any] = [None] * len(parts.tasks) if parts.sizes is None else parts.sizes.tolist()
    firsts = sizes if parts.sizes is None else (np.cumsum(sizes) - sizes).tolist()
    return dask.array.concatenate(
        [
            dask.array.from_delayed(
                named(name, number, function, part, None, None, number, first, size, *shared),
                (np.nan if size is None else size, *width),
                dtype,
            )
            for number, (part, first, size) in enumerate(zip(parts.tasks, firsts, sizes, strict=True))
        ],
        allow_unknown_chunksizes=True,
    )


def n_rows(part: Any) -> int:
    return int(part.shape[0])


def parts_like_those_of_rows(collection: Any, name: str, n_parts: int) -> list[Delayed]:
    """Return the partitions of a collection that has a value for each row; raise unless there are as many as of X."""
    parts = list(np.ravel(collection.to_delayed()))
    if len(parts) != n_parts:
        raise ValueError(f"{name} has {len(parts)} partitions: expected {n_parts}, like X")
    return parts


def weights_of(sample_weight: Any, sizes: NDArray[np.int64], firsts: NDArray[np.int64]) -> list[Any]:
    """Return the weights of each partition: a part of a Dask collection, a slice of checked weights, or None."""
    if sample_weight is None:
        return [None] * len(sizes)
    if dask.is_dask_collection(sample_weight):
        return parts_like_those_of_rows(sample_weight, "sample_weight", len(sizes))
    weights = spread_weights(sample_weight, int(sizes.sum()))
    return [weights[first : first + size] for first, size in zip(firsts, sizes, strict=True)]


def candidates_of(candidates: Any, sizes: NDArray[np.int64], firsts: NDArray[np.int64]) -> list[Any]:
    """Return whether each row of a partition is a candidate: a part of a Dask collection or an array; None for all."""
    if dask.is_dask_collection(candidates):
        return parts_like_those_of_rows(candidates, "candidates", len(sizes))
    n = int(sizes.sum())
    indices = check_candidates("all" if candidates is None else candidates, n)
    if indices is None:
        return [None] * len(sizes)
    marks = mark(indices, n)
    return [marks[first : first + size] for first, size in zip(firsts, sizes, strict=True)]


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
