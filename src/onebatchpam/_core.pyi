# Written by `python tests/promises/test_codebase.py`.
# ruff: noqa: C408
"""
The native core of onebatchpam: dissimilarities, the swap search, the arms of BanditPAM, and reduced rows of a block.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray
from typing_extensions import CapsuleType

SWEEP_CHUNK: int = 256

class Viewer:
    """
    Base class of objects that look at all rows of a block, as soon as they are computed or later.
    """

    def see(
        self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)]
    ) -> None:
        """Look at all rows of a block in memory."""

class SwapSearch:
    """Eager swap search over a block whose rows are given tile by tile."""

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
    ) -> None:
        """
        Try the candidates first, first + 1, ..., with these rows, and make every improving swap.
        """

    def find_improving(
        self,
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        begin: int,
        n_threads: int,
    ) -> tuple[int, list[int]]:
        """
        Return the end and the improving candidates of the next chunk that has any; reduced rows will do.
        """

    def try_candidates(
        self,
        candidates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    ) -> bool:
        """
        Try candidates in order, make every improving swap, and return whether there was one.
        """

    @property
    def converged(self) -> bool:
        """Whether all candidates have been tried since the last swap."""

    @property
    def loss(self) -> float:
        """The weighted sum of `nearest_distances`."""

    @property
    def medoids(self) -> list[int]:
        """The candidate in each of the k slots."""

    @property
    def n_swaps(self) -> int:
        """The number of swaps so far."""

    @property
    def medoid_distances(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", writable=False)]:
        """m x k: the distances of each batch point to all medoids."""

    @property
    def nearest(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", writable=False)]:
        """The slot of the nearest medoid of each batch point."""

    @property
    def nearest_distances(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", writable=False)]:
        """The distance of each batch point to its nearest medoid."""

    @property
    def second_distances(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", writable=False)]:
        """
        The distance of each batch point to its second nearest medoid; infinite if k is 1.
        """

class RowScanner(Viewer):
    """
    Writes the nearest column of each row, the first in a tie, and its entry; checks all entries.
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
    Writes the weighted sum of each row; no entry counts more than the cap of its column. Checks all entries.
    """

    def __init__(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        n_threads: int,
        caps: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> None: ...
    @property
    def valid(self) -> bool:
        """Whether all entries are finite and not negative."""

class RowTransposer(Viewer):
    """Writes the rows to the columns of another block; checks all entries."""

    def __init__(
        self, transposed: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")], n_threads: int
    ) -> None: ...
    @property
    def valid(self) -> bool:
        """Whether all entries are finite and not negative."""

class SwapEvaluator(Viewer):
    """
    Writes the gain of the best swap of each candidate, and the slot of that swap.
    """

    def __init__(
        self,
        search: SwapSearch,
        gains: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        slots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        n_threads: int,
    ) -> None: ...
    @property
    def valid(self) -> bool:
        """Whether all entries are finite and not negative."""

class PackedColumns:
    """
    Points that are packed to be compared with many rows: the columns of a block.

    If byte_divisor is not 0, all values of points and rows are bytes divided by it.
    """

    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        byte_divisor: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        byte_divisor: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        points: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        metric: str,
        byte_divisor: float = 0.0,
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
    """
    Encoded rows of a table that are packed as points of the Gower dissimilarity.
    """

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
    """Sparse points that are packed to be compared with many sparse rows."""

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
    """A dissimilarity by a compiled function of the user."""

    def __init__(self, capsule: CapsuleType, takes_data: bool) -> None: ...
    def fill(
        self,
        rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        rows_first: bool,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None: ...

class SilhouetteSearch:
    """
    Eager swap search for the average medoid silhouette, 1 - d1 / d2 of each point.
    """

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
    ) -> None:
        """
        Try the candidates first, first + 1, ..., with these rows, and make every improving swap.
        """

    @property
    def converged(self) -> bool:
        """Whether all candidates have been tried since the last swap."""

    @property
    def loss(self) -> float:
        """The weighted sum of d1 / d2."""

    @property
    def medoids(self) -> list[int]:
        """The candidate in each of the k slots."""

    @property
    def n_swaps(self) -> int:
        """The number of swaps so far."""

    @property
    def removal_changes(self) -> list[float]:
        """
        The change of the loss if each of the k medoids is removed and nothing takes its place.
        """

@overload
def fill_column(
    metric: str,
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    point: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def fill_column(
    metric: str,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    point: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def fill_column(
    metric: str,
    rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    point: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def fill_column(
    metric: str,
    rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    point: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def fill_column(
    metric: str,
    rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    point: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None:
    """Write the dissimilarities of all rows to one point."""

def add_build_moments(
    block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    nearest_distances: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    least_gain: float,
    moments: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Add the moments of the gains of adding each of these rows to the medoids, over all columns.
    """

def add_swap_moments(
    block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    nearest_distances: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    second_distances: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    nearest: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    moments: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Add the moments of the gains of swapping each of these rows with each medoid, over all columns.
    """

def bound_gains(
    moments: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    removals: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
    ],
    n_fixed: int,
    n_points: float,
    width: float,
    highest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    surest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Write the highest upper and the highest lower bound of a gain of each candidate.
    """

@overload
def are_bytes(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    byte_divisor: float,
) -> bool:
    """Return whether every value is a byte divided by byte_divisor."""

@overload
def are_bytes(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    byte_divisor: float,
) -> bool: ...
def widen_halves(
    halves: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    wide: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Write numbers in float16, given by their bits, in float32."""

def count_below(
    rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    thresholds: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Write the number of entries of each row that are below the threshold of their column.
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
    Write the columns and values of all entries below the threshold of their column, by rows.
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
    Write reduced rows to `out`, with infinity for the entries that were not kept.
    """

@overload
def expand_rows(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def reduced_costs(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    multipliers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Write the reduced cost of each reduced row under these multipliers of the columns.
    """

@overload
def reduced_costs(
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    multipliers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None: ...
@overload
def count_serving(
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    multipliers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """
    Count for each column the chosen rows whose entry is below the multiplier of the column.
    """

@overload
def count_serving(
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    multipliers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def simd_level() -> str:
    """Return the SIMD level that is in use."""

def simd_levels() -> list[str]:
    """Return the SIMD levels that this machine can run, the best one last."""

def force_simd_level(name: str) -> None:
    """Use this SIMD level from now on, for tests."""

__version__: str
