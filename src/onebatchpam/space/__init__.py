"""A space: rows with a metric between them, weights of the rows, and rows that must be medoids.

Every dissimilarity of a fit is computed and counted here. The candidate is the first argument of the dissimilarity, the
point the second: entry (i, j) of a block is d(candidate i, point j). This matters if the dissimilarity is asymmetric.

In: X, `metric` and `sample_weight` as users pass them (`open_space`). Out: dissimilarities of rows to points, tile by
tile.
"""

from onebatchpam.space.distances import Distances, Tally, TiledDistances, name_in
from onebatchpam.space.open import distance_block, open_space
from onebatchpam.space.space import SMALLEST_SCALE, Space
