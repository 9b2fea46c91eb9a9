"""A space: rows with a metric between them, weights of the rows, and rows that must or may be medoids.

Every dissimilarity of a fit is computed and counted here. The candidate is the first argument of the dissimilarity, the
point the second: entry (i, j) of a block is d(candidate i, point j). This matters if the dissimilarity is asymmetric.

    open         from X to a space; `distance_block`
    space        the rows, their metric and weights, and the dissimilarities between them
    distances    tiles of dissimilarities: computed, counted, checked, and named in errors
    transposed   the same for few candidates and many points
    candidates   the rows that may become medoids
    choose       which rows these are

In: X, `metric` and `sample_weight` as users pass them (`open_space`). Out: dissimilarities of rows to points, tile by
tile.
"""

from onebatchpam.space.candidates import Candidates
from onebatchpam.space.choose import are_enough, check_number_of_candidates, choose_candidates
from onebatchpam.space.distances import Distances, Tally, TiledDistances, name_in
from onebatchpam.space.open import are_compared_sparse, distance_block, open_space, warn_of_data
from onebatchpam.space.space import Space
from onebatchpam.space.transposed import TransposedDistances
