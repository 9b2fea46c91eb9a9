"""The batch: the m reference points on which gains are estimated. How many, which ones, and what each weighs.

`sampling` decides how many points are drawn and draws them; `rounds` draws and fills the block in turn, because a
progressive batch draws its next points by the distances to those before; `weights` corrects for what sampling distorts.

In: a `Space`. Out: a `Batch` (row indices and weights), and the `Block` of all rows x batch points.
"""

from onebatchpam.batch.rounds import sample_block
from onebatchpam.batch.sampling import VARIANTS, batch_size, required_batch_size, resolve_batch_size, round_sizes
from onebatchpam.batch.weights import DEBIASED, NEAREST_NEIGHBOUR_WEIGHTED, debiased_distances, weigh

__all__ = [
    "DEBIASED",
    "NEAREST_NEIGHBOUR_WEIGHTED",
    "VARIANTS",
    "batch_size",
    "debiased_distances",
    "required_batch_size",
    "resolve_batch_size",
    "round_sizes",
    "sample_block",
    "weigh",
]
