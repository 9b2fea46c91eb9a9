"""Weights of the batch points, and the correction of their own distances."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._sampling import Batch

NEAREST_NEIGHBOUR_WEIGHTED = ("nniw",)
DEBIASED = ("debias", "nniw", "lwcs")


def weigh(block: NDArray[np.float32], batch: Batch, variant: str, n_jobs: int) -> NDArray[np.float64]:
    """Return the weights of the batch points under this variant; debias the block in place where it says so."""
    nearest, largest = scan_block(block, n_jobs)
    if len(batch.indices) == len(block):
        return batch.weights  # a batch of all rows estimates nothing: there is nothing to correct
    if variant in DEBIASED:
        debias(block, batch, largest)
    if variant in NEAREST_NEIGHBOUR_WEIGHTED:
        return nearest_neighbour_weights(nearest, len(batch.indices))
    return batch.weights


def scan_block(block: NDArray[np.float32], n_jobs: int) -> tuple[NDArray[np.int32], float]:
    """Return the nearest column of every row and the largest entry; raise unless all entries are dissimilarities."""
    nearest = np.empty(len(block), dtype=np.int32)
    largest, valid = _core.scan_rows(block, nearest, n_jobs)
    if not valid:
        raise_for_bad_entry(block)
    return nearest, largest


def raise_for_bad_entry(block: NDArray[np.float32]) -> NoReturn:
    """Name the first entry of the block that is no dissimilarity."""
    for i, row in enumerate(block):
        bad = ~((row >= 0) & (row < np.inf))
        if bad.any():
            j = int(bad.argmax())
            raise ValueError(
                f"the dissimilarity in row {i}, column {j} of the block is {row[j]}: expected finite values that are "
                "not negative and fit in float32; rescale the data if they are very large"
            )
    raise AssertionError("all entries are valid")


def nearest_neighbour_weights(nearest: NDArray[np.int32], m: int) -> NDArray[np.float64]:
    """Weight each batch point by the number of rows nearest to it, with mean 1."""
    counts = np.bincount(nearest, minlength=m).astype(np.float64)
    return counts * (m / len(nearest))


def debias(block: NDArray[np.float32], batch: Batch, largest: float) -> None:
    """Put a batch point at the largest distance from itself, in place.

    At distance 0 it would be preferred as a medoid for being in the batch.
    """
    block[batch.indices, np.arange(len(batch.indices))] = largest
