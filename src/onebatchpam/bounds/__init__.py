"""Bounds: a number that no choice of k medoids can go below, so that a solution has a certified gap to the optimum.

    certificate ─┬─ result     the bound, and the gap of a solution to it
                 ├─ solution   distances of all rows to the medoids that are judged
                 ├─ sample     points for a statistical bound, and its limit of confidence
        core ────┴─ dual       rounds of pricing all candidates, and of
                    └ ascent   climbing on the few candidates that matter

The bound is the Lagrangian dual of the k-medoids problem. Each point j has a multiplier, the price that it would pay to
be served, and each candidate i has a reduced cost, which is never positive:

    cost(i) = sum_j w_j min(0, d_ij - multiplier_j)

For any multipliers, the sum of all w_j multiplier_j plus the k smallest costs is at most the objective of the best k
medoids. Good multipliers only make the bound better; if they are poor, it is still true.

In: a `Space` and medoids. Out: a `LowerBound`; or the core, the candidates with the smallest costs. `dask` maximises
the dual of a problem of its own, a `Priceable`, whose candidates are in partitions.
"""

from onebatchpam.bounds.ascent import Multipliers
from onebatchpam.bounds.certificate import (
    NO_BOUND,
    certify,
    check_confidence,
    check_fixed_are_chosen,
    check_objective,
    choose_confidence,
    conclude,
    is_kept,
    maximise_sample,
    set_deadline,
)
from onebatchpam.bounds.core import find_core
from onebatchpam.bounds.dual import Deadline, Priced, Served, bound_from, find_wanted, sums_of_chosen
from onebatchpam.bounds.result import LowerBound
from onebatchpam.bounds.sample import PointSample, choose_ceilings, count_draws
from onebatchpam.bounds.solution import Solution, compare_rows
