"""Bounds: a number that no choice of k medoids can go below, so that a solution has a certified gap to the optimum.

    certificate ─┬─ solution   distances of all rows to the medoids that are judged
                 ├─ sample     points for a statistical bound, and its limit of confidence
        core ────┴─ dual       rounds of pricing all candidates, and of
                    └ ascent   climbing on the few candidates that matter

The bound is the Lagrangian dual of the k-medoids problem. Each point j has a multiplier, the price that it would pay to
be served, and each candidate i has a reduced cost, which is never positive:

    cost(i) = sum_j w_j min(0, d_ij - multiplier_j)

For any multipliers, the sum of all w_j multiplier_j plus the k smallest costs is at most the objective of the best k
medoids. Good multipliers only make the bound better; if they are poor, it is still true.

In: a `Space` and medoids. Out: a `LowerBound`; or the core, the candidates with the smallest costs.
"""

from onebatchpam.bounds.certificate import certify, check_confidence, is_kept
from onebatchpam.bounds.core import find_core
from onebatchpam.bounds.result import LowerBound
