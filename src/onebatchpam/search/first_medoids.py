"""Medoids that are drawn: the start of a search, or the result of the seeding estimators.

Rows are drawn with a probability proportional to their weight. k-means++ and its relatives multiply it by a power of
the distance to the medoids drawn before. The default power is 1, because the k-medoids objective sums plain distances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam._draws import are_equal, rows_of_ranks, sample_by_odds, sample_by_weight
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import WholeBlock, compute_checked
from onebatchpam.search.two_nearest import TwoNearest, compare_with_all
from onebatchpam.space import Space

N_PROPOSALS = 5  # the default of LS-k-means++
CHAIN_LENGTH = 20  # the default of K-MC^2


def random_medoids(n: int, k: int, rng: np.random.RandomState, fixed: Indices | None = None) -> Indices:
    """Draw k of n rows, with every set equally likely; the fixed medoids are among the k and come first."""
    fixed = np.empty(0, np.int64) if fixed is None else fixed
    ranks = sample_without_replacement(n - len(fixed), k - len(fixed), random_state=rng)
    return np.concatenate([fixed, rows_of_ranks(ranks.astype(np.int64), fixed)])


def draw_by_weight(space: Space, k: int, rng: np.random.RandomState) -> Indices:
    """Draw k distinct candidates by their weights; the fixed medoids are among the k and come first."""
    candidates = space.candidates
    weights, fixed = candidates.of(space.weights), candidates.places(space.fixed)
    if are_equal(weights):
        return candidates.rows(random_medoids(candidates.n, k, rng, fixed))
    drawn = sample_by_odds(weights, k - len(fixed), rng, exclude=fixed)
    return np.concatenate([space.fixed, candidates.rows(drawn)])


def draw_with_replacement(space: Space, size: int, exclude: Indices, rng: np.random.RandomState) -> Indices:
    """Draw candidates by their weights, with replacement; those to exclude are never drawn."""
    candidates = space.candidates
    weights, exclude = candidates.of(space.weights), candidates.places(exclude)
    if are_equal(weights):  # equal weights need no array of odds, which is as long as the data
        return candidates.rows(rows_of_ranks(rng.randint(candidates.n - len(exclude), size=size), exclude))
    odds = odds_by_weight(weights, exclude)
    return candidates.rows(rng.choice(candidates.n, size=size, p=odds / odds.sum()))


def odds_by_weight(weights: NDArray[np.float64], exclude: Indices) -> NDArray[np.float64]:
    """Return odds proportional to the weights, zero for those to exclude; equal odds if all other weights are zero."""
    odds = weights.copy()
    odds[exclude] = 0
    if not odds.any():
        odds[:] = 1
        odds[exclude] = 0
    return odds


def kmeans_plus_plus(
    space: Space, k: int, run: Run, *, power: float = 1.0, two_nearest: TwoNearest | None = None
) -> Indices:
    """Draw medoids one after the other, each among all candidates; `two_nearest` is told of each medoid."""
    medoids = begin_with_fixed(space, k)
    nearest = np.full(space.n, np.inf)
    with run.stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(k):
            if slot == 0 and len(space.fixed) == 0:
                medoids[0] = draw_with_replacement(space, 1, medoids[:0], run.rng)[0]
            elif slot >= len(space.fixed):
                medoids[slot] = draw_far(space, nearest, medoids[:slot], power, run.rng)
            row = space.distances_from(medoids[slot : slot + 1]).column()
            np.minimum(nearest, row, out=nearest)
            if two_nearest is not None:
                two_nearest.add(slot, row.astype(np.float32, copy=False))
            bar.update(1)
    return medoids


def begin_with_fixed(space: Space, k: int) -> Indices:
    """Return an array of k medoids that begins with the fixed ones; the others are not set yet."""
    return np.concatenate([space.fixed, np.empty(k - len(space.fixed), np.int64)])


def draw_far(
    space: Space, nearest: NDArray[Any], medoids: Indices, power: float, rng: np.random.RandomState
) -> np.int64:
    """Draw a candidate that is not a medoid, with odds of weight times a power of the distance to the nearest medoid.

    `nearest` holds this distance for every row.
    """
    candidates = space.candidates
    weights, taken = candidates.of(space.weights), candidates.places(medoids)
    odds = raise_to_power(candidates.of(nearest), power)
    odds *= weights
    odds[taken] = 0
    sums = odds.cumsum()
    if sums[-1] == 0:  # every other candidate is a duplicate of a medoid
        sums = odds_by_weight(weights, taken).cumsum()
    return candidates.rows(np.array([draw_from_sums(sums, rng)]))[0]


def draw_from_sums(sums: NDArray[np.float64], rng: np.random.RandomState) -> int:
    """Draw an index by odds of which the cumulative sums are given; one with odds of zero is never drawn."""
    place = int(np.searchsorted(sums, rng.random_sample() * sums[-1], side="right"))
    # The product may be rounded up to the last sum, which belongs to the last index whose odds are not zero.
    return place if place < len(sums) else int(np.searchsorted(sums, sums[-1]))


def raise_to_power(distances: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return numbers proportional to a power of the distances; distance zero gives zero, even with power zero."""
    odds = distances.astype(np.float64)
    largest = odds.max()
    if largest > 0:
        odds /= largest  # powers of numbers up to 1 do not overflow
        if power != 1:
            np.power(odds, power, out=odds, where=odds > 0)
    return odds


def ls_kmeans_plus_plus(
    space: Space, k: int, run: Run, *, n_proposals: int = N_PROPOSALS, power: float = 1.0
) -> tuple[Indices, int, int]:
    """Draw medoids by k-means++, then propose more rows one after the other, and swap in those that lower the loss.

    Return the medoids, the number of proposals and the number of swaps. The proposals end early if every row is at
    distance 0 from a medoid.
    """
    two_nearest = TwoNearest(space.n)
    medoids = kmeans_plus_plus(space, k, run, power=power, two_nearest=two_nearest)
    n_fixed, n_made, n_swaps = len(space.fixed), 0, 0
    n_proposals = n_proposals if n_fixed < k < space.candidates.n else 0  # a swap takes a free medoid and another row
    with run.stages.stage("local search", total=n_proposals, unit=" proposals") as bar:
        while n_made < n_proposals and two_nearest.distances[0].any():
            n_made += 1
            candidate = draw_far(space, two_nearest.distances[0], medoids, power, run.rng)
            row = compare_with_all(space, candidate)
            changes = two_nearest.changes(row, space.weights, k)
            slot = n_fixed + int(np.argmin(changes[n_fixed:]))
            if changes[slot] < 0:
                medoids[slot] = candidate
                two_nearest.replace(slot, row, space, medoids)
                n_swaps += 1
            bar.update(1)
    return medoids, n_made, n_swaps


def kmc2(space: Space, k: int, run: Run, *, chain_length: int = CHAIN_LENGTH, power: float = 1.0) -> Indices:
    """Draw medoids one after the other, each as the end of a Markov chain over a few rows instead of among all rows."""
    medoids = begin_with_fixed(space, k)
    if len(space.fixed) == 0:
        medoids[0] = draw_with_replacement(space, 1, medoids[:0], run.rng)[0]
    with run.stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(max(1, len(space.fixed)), k):
            chain = draw_with_replacement(space, chain_length, medoids[:slot], run.rng)
            distances = space.distances_from(medoids[:slot], chain)
            block = distances.compute()
            nearest = block.argmin(axis=1)
            values = block[np.arange(chain_length), nearest]
            distances.check(slice(0, chain_length), nearest, values)
            medoids[slot] = chain[walk_chain(values, power, run.rng)]
            bar.update(1)
    return medoids


def lab(space: Space, k: int, run: Run) -> Indices:
    """Choose medoids one after the other, as BUILD does, but each among a few rows by its loss at a few points.

    This is LAB, linear approximative BUILD: candidates and points are 10 + sqrt(n) rows each, drawn for every medoid.
    """
    medoids = begin_with_fixed(space, k)
    size = min(space.n, 10 + math.isqrt(space.n))
    with run.stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(len(space.fixed), k):
            points = sample_by_weight(space.weights, size, run.rng)
            candidates = np.unique(draw_with_replacement(space, size, medoids[:slot], run.rng))
            nearest = None
            if slot:
                nearest = compute_checked(space.distances_from(medoids[:slot], points.indices)).min(axis=1)
            block = WholeBlock(compute_checked(space.distances_to(points.indices, candidates)))
            medoids[slot] = candidates[np.argmin(block.weighted_sums(points.weights, run.n_jobs, nearest))]
            bar.update(1)
    return medoids


def walk_chain(distances: NDArray[Any], power: float, rng: np.random.RandomState) -> int:
    """Return the position at which a walk along a chain of rows ends.

    The walk looks at one row after the other, and moves from its present row to this row with probability
    min(1, (distance of this row / distance of the present row)^power).
    """
    odds = raise_to_power(distances, power)
    present = 0
    for step, threshold in enumerate(rng.random_sample(len(odds))):
        if threshold * odds[present] < odds[step]:
            present = step
    return present
