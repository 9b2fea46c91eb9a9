"""Search: medoids for a block. Where a search starts, its swaps, its refinement, and the assignment of all rows.

    start ─▶ swaps ─▶ refine ─▶ assignment
      │        │         ├ candidates: which rows a round of refinement tries
      │        │         └ confirmation: which of them lower the loss over many points; groups: the same for very many
      │        │           medoids; pool: how the results of several starts are combined
      │        └ shows the block to the native search, tile by tile
      └ first_medoids: rows drawn by k-means++ and its relatives, whose local search knows the two_nearest medoids of
        each row; build: rows chosen by PAM's BUILD

    refinable: what refinement asks of the rows, whether they are in memory or in partitions
    clarans: swaps of random rows, without a block
    silhouettes: the swap search for the medoid silhouette
    ordering: medoids in an order of which every prefix is a good smaller selection
    enlarge: swaps until every cluster has a least weight, on a block (sizes) and on samples of all rows
    bandit: the searches of BanditPAM, on samples of references instead of a block

In: a `Space` with its `Block` of candidates x points, and the weights of the points. Out: medoids as row indices, and
the label of every row.
"""

from onebatchpam.search.assignment import (
    Assignment,
    ClusterProfile,
    assign,
    assign_all,
    find_empty,
    find_nearest,
    move_empty,
    nearest_tiles,
    split_by_label,
    weigh_clusters,
)
from onebatchpam.search.bandit import build_and_swap
from onebatchpam.search.build import Build, most_central_first
from onebatchpam.search.candidates import (
    CANDIDATES_BY_CLUSTER,
    CANDIDATES_PER_MEDOID,
    JUDGES_PER_CLUSTER,
    Judges,
    are_within_reach,
    best_by_cluster,
    label_parts,
    mean_losses,
    rank_members,
    share_judged,
    smallest_of_each,
)
from onebatchpam.search.clarans import wander
from onebatchpam.search.enlarge import (
    DrawnContests,
    Enlarged,
    Measurable,
    Measured,
    WholeContest,
    enlarge_clusters,
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
from onebatchpam.search.groups import GROUP_SIZE, GROUPS_OF_POINT, MOST_ENTRIES_OF_GROUP
from onebatchpam.search.ordering import Ordered, Prefixes, measure_prefixes, order_medoids
from onebatchpam.search.pool import count_kicked
from onebatchpam.search.refinable import Refinable
from onebatchpam.search.refine import (
    Confirming,
    Refined,
    Refinement,
    check_rounds,
    count_confirming,
    count_drafted,
    count_refining,
)
from onebatchpam.search.silhouettes import search_silhouettes
from onebatchpam.search.start import (
    Start,
    call_init,
    check_init,
    check_n_init,
    choose_start,
    draw_medoids,
    further_starts,
    is_drawn,
    starts_by_build,
)
from onebatchpam.search.swaps import SwapOptions, SwapResult, run_swaps, swap_search
