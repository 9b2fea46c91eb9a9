"""Medoids for a block: where a search starts, its swaps, its refinement, and the assignment of all rows.

    start ─▶ swaps ─▶ refine ─▶ assignment
      │        │         └ candidates: which rows a round of refinement tries
      │        └ the native search, shown a block tile by tile
      └ first_medoids: rows drawn by k-means++ and its relatives

In: a `Space` with its `Block` of candidates x points, and weights of the points. Out: medoids as row indices, and the
label of every row.
"""

from onebatchpam.search.assignment import Assignment, assign, assign_all, nearest_medoids, nearest_of_tiles
from onebatchpam.search.candidates import (
    CANDIDATES_BY_BATCH,
    CANDIDATES_BY_CLUSTER,
    POINTS_PER_CLUSTER,
    mean_losses_of,
    smallest_of_each,
)
from onebatchpam.search.first_medoids import (
    CHAIN_LENGTH,
    N_PROPOSALS,
    kmc2,
    kmeans_plus_plus,
    ls_kmeans_plus_plus,
    random_medoids,
)
from onebatchpam.search.refine import LEAST_PROGRESS, PROGRESS_OF_PASS, Refined, Refinement, resolve_rounds
from onebatchpam.search.start import build, check_n_init, choose_start, initial_medoids, starts_by_build
from onebatchpam.search.swaps import MANY_CANDIDATES, SwapResult, search_from, search_swaps, swap_search

__all__ = [
    "CANDIDATES_BY_BATCH",
    "CANDIDATES_BY_CLUSTER",
    "CHAIN_LENGTH",
    "LEAST_PROGRESS",
    "MANY_CANDIDATES",
    "N_PROPOSALS",
    "POINTS_PER_CLUSTER",
    "PROGRESS_OF_PASS",
    "Assignment",
    "Refined",
    "Refinement",
    "SwapResult",
    "assign",
    "assign_all",
    "build",
    "check_n_init",
    "choose_start",
    "initial_medoids",
    "kmc2",
    "kmeans_plus_plus",
    "ls_kmeans_plus_plus",
    "mean_losses_of",
    "nearest_medoids",
    "nearest_of_tiles",
    "random_medoids",
    "resolve_rounds",
    "search_from",
    "search_swaps",
    "smallest_of_each",
    "starts_by_build",
    "swap_search",
]
