"""The batch: the m reference points on which gains are estimated. How many, which ones, and what each weighs.

`sample` chooses rows that stand for all rows, if there are very many; the batch is then drawn among these, and compared
with these. `size` says how many points there are. `rounds` draws them and compares all rows with them, in turns,
because a progressive batch draws its next points by their distances to the points before. `sampling` does both for rows
in memory. `weights` corrects the distortions of sampling.

In: a `Space`. Out: a `Batch` (row indices and weights), and the `Block` of all rows, or of the sample, x batch points.
"""

from onebatchpam.batch.rounds import VARIANTS, draw_batch, round_sizes
from onebatchpam.batch.sample import count_sampled, count_screened, find_odds, most_searched, sample_size
from onebatchpam.batch.sampling import MemoryScan, draw_coreset
from onebatchpam.batch.size import ALL_ROWS_BELOW, batch_size, check_batch_size, required_batch_size, resolve_batch_size
