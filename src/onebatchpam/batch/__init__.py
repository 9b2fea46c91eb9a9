"""The batch: the m reference points on which gains are estimated. How many, which ones, and what each weighs.

`size` says how many points there are. `rounds` draws them and compares all rows with them, in turns, because a
progressive batch draws its next points by their distances to the points before. `sampling` does both for rows in
memory. `weights` corrects the distortions of sampling.

In: a `Space`. Out: a `Batch` (row indices and weights), and the `Block` of all rows x batch points.
"""

from onebatchpam.batch.rounds import VARIANTS, Drawable, draw_batch, round_sizes
from onebatchpam.batch.sampling import MemoryScan, draw_coreset
from onebatchpam.batch.size import batch_size, check_batch_size, required_batch_size, resolve_batch_size
