"""Generated data, on which defaults are chosen: the paper's sets are for reporting only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
PIECE_ROWS = 100_000


def make_blobs(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return a dozen well-separated groups, for trying things out."""
    centres = rng.uniform(-10, 10, size=(12, p))
    return centres[rng.randint(len(centres), size=n)] + rng.standard_normal((n, p))


def make_mixture(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return sixty overlapping groups of different spread."""
    group = rng.randint(60, size=n)
    spread = np.exp(0.3 * rng.standard_normal(60))
    return 2 * rng.standard_normal((60, p))[group] + rng.standard_normal((n, p)) * spread[group, None]


def make_gaussian(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return one blob, in which nothing tells where medoids belong."""
    return rng.standard_normal((n, p))


def make_heavy_tails(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return log-normal rows."""
    return np.exp(rng.standard_normal((n, p)))


def make_far_groups(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return one blob and six groups of eight rows far away from it and from each other."""
    centres = 100 * np.concatenate([np.eye(p), -np.eye(p)])[:6]
    groups = np.repeat(centres, 8, axis=0) + 0.5 * rng.standard_normal((48, p))
    return np.concatenate([rng.standard_normal((n - 48, p)), groups])[rng.permutation(n)]


def make_copies(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return copies of 800 rows, the first of which has one in seven of all copies, the second half as many, and on."""
    shares = 1 / np.arange(1, 801)
    return rng.standard_normal((800, p))[rng.choice(800, n, p=shares / shares.sum())]


def make_integers(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return small counts, with many copies and ties."""
    return rng.poisson(2.0, size=(n, p)).astype(np.float64)


def make_unbalanced(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return forty groups of different spread, each three quarters as large as the one before."""
    shares = 0.75 ** np.arange(40)
    group = rng.choice(40, n, p=shares / shares.sum())
    centres, spread = 4 * rng.standard_normal((40, p)), np.exp(0.8 * rng.standard_normal(40))
    return centres[group] + rng.standard_normal((n, p)) * spread[group, None]


def make_directions(rng: np.random.RandomState, n: int, p: int) -> Rows:
    """Return rows of length 1 in two thousand overlapping groups, like embeddings of text."""
    rows = rng.standard_normal((2000, p))[rng.randint(2000, size=n)] + rng.standard_normal((n, p))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_mixture_pieces(n: int, p: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Return the first n of endlessly many rows in a hundred overlapping groups of different spread, piece by piece.

    Each piece comes with the index of its first row. A row of a given index is the same whatever n is.
    """
    common = np.random.RandomState(0)
    centres, spread = 2 * common.standard_normal((100, p)), np.exp(0.3 * common.standard_normal(100))
    for start in range(0, n, PIECE_ROWS):
        rng = np.random.default_rng([1, start])
        group = rng.integers(100, size=PIECE_ROWS)
        piece = centres[group] + rng.standard_normal((PIECE_ROWS, p)) * spread[group, None]
        yield start, piece[: n - start].astype(np.float32)


def make_unit_vector_pieces(n: int, p: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Return the first n of endlessly many unit vectors in a thousand groups, like embeddings, piece by piece.

    Each piece comes with the index of its first row. A row of a given index is the same whatever n is.
    """
    common = np.random.default_rng(0)
    centres = common.standard_normal((1000, p), np.float32)
    spread = np.exp(0.3 * common.standard_normal(1000)).astype(np.float32)
    for start in range(0, n, PIECE_ROWS // 10):
        rng = np.random.default_rng([2, start])
        group = rng.integers(1000, size=PIECE_ROWS // 10)
        piece = centres[group] + spread[group, None] * rng.standard_normal((len(group), p), np.float32)
        piece /= np.linalg.norm(piece, axis=1, keepdims=True)
        yield start, piece[: n - start]


SETS: dict[str, tuple[Callable[[np.random.RandomState, int, int], Rows], tuple[int, int]]] = {
    "blobs": (make_blobs, (600, 4)),
    "mixture": (make_mixture, (12000, 10)),
    "gaussian3": (make_gaussian, (12000, 3)),
    "gaussian10": (make_gaussian, (12000, 10)),
    "gaussian40": (make_gaussian, (12000, 40)),
    "heavy_tails": (make_heavy_tails, (12000, 8)),
    "far_groups": (make_far_groups, (12000, 4)),
    "copies": (make_copies, (12000, 6)),
    "integers": (make_integers, (12000, 5)),
    "unbalanced": (make_unbalanced, (12000, 9)),
    "large_gaussian": (make_gaussian, (100_000, 8)),
    "large_directions": (make_directions, (60_000, 64)),
}


def generate(name: str) -> Rows:
    """Return a generated data set, always the same."""
    make, (n, p) = SETS[name]
    return make(np.random.RandomState(0), n, p)
