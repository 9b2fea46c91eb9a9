"""Search: medoids for a block. Where a search starts, its swaps, its refinement, and the assignment of all rows.

    start ─▶ swaps ─▶ refine ─▶ assignment
      │        │         └ candidates: which rows a round of refinement tries
      │        └ shows the block to the native search, tile by tile
      └ first_medoids: rows drawn by k-means++ and its relatives; build: rows chosen by PAM's BUILD

In: a `Space` with its `Block` of candidates x points, and the weights of the points. Out: medoids as row indices, and
the label of every row.
"""

from onebatchpam.search.assignment import (
    Assignment,
    assign,
    assign_all,
    find_empty,
    find_nearest,
    label_tiles,
    move_empty,
    split_by_label,
)
from onebatchpam.search.build import Build
from onebatchpam.search.candidates import (
    CANDIDATES_BY_BATCH,
    CANDIDATES_BY_CLUSTER,
    Judges,
    Ranked,
    best_by_cluster,
    best_of_ranked,
    label_parts,
    mean_losses,
    rank_members,
    smallest_of_each,
)
from onebatchpam.search.first_medoids import (
    CHAIN_LENGTH,
    N_PROPOSALS,
    draw_by_weight,
    kmc2,
    kmeans_plus_plus,
    ls_kmeans_plus_plus,
    random_medoids,
)
from onebatchpam.search.refine import PROGRESS_OF_PASS, Refinable, Refined, Refinement, check_rounds
from onebatchpam.search.start import Start, check_init, check_n_init, choose_start, draw_medoids, starts_by_build
from onebatchpam.search.swaps import MANY_CANDIDATES, SwapOptions, SwapResult, run_swaps, swap_search
