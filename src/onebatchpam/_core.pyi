# Written by `python tests/promises/test_codebase.py`.
# ruff: noqa: C408
"""Native kernels of onebatchpam."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray
from typing_extensions import CapsuleType

SWEEP_CHUNK: int = 256

class Viewer:
    """Looks at the rows of a block, best as soon as they are computed."""

    def see(
        self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)]
    ) -> None:
        """Look at all rows, which are there already."""

class SwapSearch:
    """Eager swap search over a block that is shown tile by tile."""

    def __init__(
        self,
        n_candidates: int,
        medoids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        medoid_rows: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tol: float,
        n_fixed: int = 0,
    ) -> None: ...
    def sweep(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        n_threads: int,
        gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> None: ...
    def find_improving(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        begin: int,
        n_threads: int,
    ) -> tuple[int, list[int]]: ...
    def try_candidates(
        self,
        candidates: Sequence[int],
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    ) -> bool: ...
    @property
    def converged(self) -> bool: ...
    @property
    def loss(self) -> float: ...
    @property
    def medoids(self) -> list[int]: ...
    @property
    def n_swaps(self) -> int: ...
    @property
    def medoid_distances(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", writable=False)]: ...
    @property
    def nearest(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", writable=False)]: ...
    @property
    def nearest_distances(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", writable=False)]: ...
    @property
    def second_distances(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", writable=False)]: ...

class RowScanner(Viewer):
    """
    Writes the first smallest column of each row, and its entry; checks all entries.
    """

    def __init__(
        self,
        nearest: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        distances: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        n_threads: int,
    ) -> None: ...
    @property
    def largest(self) -> float:
        """The largest entry."""

    @property
    def valid(self) -> bool:
        """Whether all entries are finite and not negative."""

class RowSummer(Viewer):
    """
    Writes the weighted sum of each row, of entries no greater than the caps.
    """

    def __init__(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        n_threads: int,
        caps: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> None: ...

class SwapEvaluator(Viewer):
    """
    Writes what the best swap of each candidate would gain, and with which slot.
    """

    def __init__(
        self,
        search: SwapSearch,
        gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        n_threads: int,
    ) -> None: ...

class PackedColumns:
    """Points to which the dissimilarities of many rows are wanted."""

    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        steps: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        steps: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        steps: float = 0.0,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        viewer: Viewer,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        viewer: Viewer,
    ) -> None: ...
    @overload
    def fill(
        self,
        rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        viewer: Viewer,
    ) -> None: ...

class GowerColumns:
    """Points to which the Gower dissimilarities of many rows are wanted."""

    def __init__(
        self,
        points: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...

class SparseColumns:
    """Points as PackedColumns, but sparse, as the rows then are."""

    def __init__(
        self,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_features: int,
        metric: str,
    ) -> None: ...
    @overload
    def fill(
        self,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...
    @overload
    def fill(
        self,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
        n_threads: int,
    ) -> None: ...

class CustomMetric:
    """A dissimilarity that the user compiled."""

    def __init__(self, capsule: CapsuleType, takes_data: bool) -> None: ...
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        rows_first: bool,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None: ...

@overload
def are_bytes(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    steps: float,
) -> bool: ...
@overload
def are_bytes(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    steps: float,
) -> bool:
    """Say whether all values are byte / steps."""

def count_below(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Write how many entries of each row are below the thresholds of their columns.
    """

@overload
def reduce_rows(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu")],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Write the columns and values of the entries below the thresholds, row after row.
    """

@overload
def reduce_rows(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu")],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def expand_rows(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None:
    """
    Write the rows that were reduced to `out`, infinity where nothing was kept.
    """

@overload
def expand_rows(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
def simd_level() -> str: ...
def simd_levels() -> list[str]: ...
def force_simd_level(name: str) -> None: ...

__version__: str
