"""A space: rows with a metric between them, weights of the rows, and rows that must be medoids.

Every dissimilarity of a fit is computed here, and counted. The order of arguments is candidate first, point second:
entry (i, j) of a block is d(candidate i, point j), which matters if the dissimilarity is not symmetric.

In: what users pass as X, `metric` and `sample_weight` (`open_space`). Out: dissimilarities of rows to points, by tiles.
"""

from onebatchpam.space.distances import Distances, Tally, name_in
from onebatchpam.space.open import distance_block, open_space
from onebatchpam.space.space import Space
