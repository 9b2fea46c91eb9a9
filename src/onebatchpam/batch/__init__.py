"""The batch: the m reference points on which gains are estimated. How many, which ones, and what each weighs.

`sampling` decides how many points are drawn and draws them; `rounds` draws and fills the block in turn, because a
progressive batch draws its next points by the distances to those before; `weights` corrects for what sampling distorts.

In: a `Space`. Out: a `Batch` (row indices and weights), and the `Block` of all rows x batch points.
"""

from onebatchpam.batch.rounds import VARIANTS, Drawable, draw_batch
from onebatchpam.batch.sampling import MemoryScan, draw_coreset
from onebatchpam.batch.size import batch_size, check_batch_size, required_batch_size, resolve_batch_size
