"""Square blocks, which compare rows with each other.

If the dissimilarity is symmetric and costly, what lies above the diagonal is computed, and the rest is copied from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._memory import available_bytes
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.blocks.scan import BlockScan, check_block, compute_checked, fill_checked, fill_scanned
from onebatchpam.space import Space

# A block that takes no more bytes is tried in any case, because asking for the available memory takes a good part of a
# fit that is so small.
BYTES_OF_SMALL_BLOCK = 2**22
# A block is cut into about this many tiles of rows, each of which begins at the diagonal. The more tiles there are, the
# fewer entries below the diagonal are computed with them.
TILES = 64
# A tile has at least so many rows, because every call of a library or of a function takes some time of its own.
FEWEST_ROWS = 16


def square_block(space: Space, n_jobs: int, stages: Stages) -> NDArray[np.float32]:
    """Return the dissimilarities of all candidates to all rows.

    If all rows are candidates, a precomputed matrix is used in place, if that is possible.
    """
    candidates = space.candidates
    whole = space.whole_block() if candidates.indices is None else None
    if whole is not None:
        check_block(whole, n_jobs, stages)
        space.tally.n_distances += whole.size
        return whole
    require_memory(candidates.n, space.n)
    block, points = np.empty((candidates.n, space.n), np.float32), np.arange(space.n)
    if is_mirrored(space, points, candidates.indices):
        largest = fill_mirrored(space, points, block, stages)
    else:
        scan = BlockScan(candidates.n, n_jobs)
        fill_scanned(space.distances_to(points, candidates.indices), block, scan, stages)
        largest = scan.largest
    space.check_scale(largest)
    return block


def compute_block(space: Space, points: Indices, candidates: Indices, stages: Stages) -> NDArray[np.float32]:
    """Return the dissimilarities of candidates to points, which are checked."""
    if not is_mirrored(space, points, candidates):
        return compute_checked(space.distances_to(points, candidates), stages)
    block = np.empty((len(points), len(points)), np.float32)
    fill_mirrored(space, points, block, stages)
    return block


def require_memory(n_candidates: int, n: int) -> None:
    """Raise if the block of candidates x all rows does not fit in memory, before the whole system runs out of it."""
    needed = 4 * n_candidates * n
    if needed <= BYTES_OF_SMALL_BLOCK:
        return
    available = available_bytes()
    if needed > available:
        pairs = f"all pairs of {n:,} rows" if n_candidates == n else f"{n_candidates:,} candidates to {n:,} rows"
        raise MemoryError(
            f"the dissimilarities of {pairs} need {needed / 1e9:.1f} GB, and {available / 1e9:.1f} GB "
            "of memory are available: use OneBatchPAM, which compares all rows only with a batch, or pass fewer rows"
        )


def is_mirrored(space: Space, points: Indices, candidates: Indices | None) -> bool:
    """Tell whether the block of candidates x points is square, and half of it can be copied; None means all rows."""
    candidates = np.arange(space.n) if candidates is None else candidates
    return space.metric.is_mirrored and np.array_equal(points, candidates)


def count_mirrored(n: int) -> int:
    """Return how many entries of a block of n x n are computed."""
    return sum((part.stop - part.start) * (n - part.start) for part in upper_parts(n))


def fill_mirrored(space: Space, rows: Indices, out: NDArray[np.float32], stages: Stages) -> float:
    """Write the dissimilarities of rows to the same rows to `out`, check them, and return the largest."""
    largest = 0.0
    with stages.stage("distances", count_mirrored(len(rows)), " distances") as bar:
        for part in upper_parts(len(rows)):
            tile = out[part, part.start :]
            largest = max(largest, fill_part(space, rows, part, tile))
            out[part.stop :, part] = out[part, part.stop :].T
            bar.update(tile.size)
    return largest


def sum_mirrored(space: Space, rows: Indices, weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
    """Return, for each of the rows, the weighted sum of its dissimilarities to all of them."""
    sums = np.zeros(len(rows))
    for part in upper_parts(len(rows)):
        tile = np.empty((part.stop - part.start, len(rows) - part.start), np.float32)
        fill_part(space, rows, part, tile)
        sums[part] += sum_rows(tile, weights[part.start :], n_jobs)
        if part.stop < len(rows):
            sums[part.stop :] += sum_rows(tile[:, len(tile) :].T, weights[part], n_jobs)
    return sums


def upper_parts(n: int) -> Iterator[slice]:
    """Cut n rows into the parts that are computed at a time, each from the diagonal on."""
    step = max(FEWEST_ROWS, -(-n // TILES))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def fill_part(space: Space, rows: Indices, part: slice, out: NDArray[np.float32]) -> float:
    """Write the dissimilarities of a part of the rows to that part and the rows after it; return the largest."""
    distances = space.distances_to(rows[part.start :], rows[part])
    return max(fill_checked(distances, tile, out[tile]).viewer.largest for tile in distances.tiles())


def sum_rows(entries: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
    """Return the weighted sum of each row of entries."""
    sums = np.empty(len(entries))
    _core.RowSummer(weights, sums, n_jobs).see(np.ascontiguousarray(entries))
    return sums
