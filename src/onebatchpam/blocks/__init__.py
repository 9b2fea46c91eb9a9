"""Blocks of dissimilarities, candidates x points, as the swap search sees them: a tile of candidates at a time.

    Block ─┬─ WholeBlock        every entry in memory                     block.py
           ├─ ReducedBlock      only entries near enough to matter        limited.py
           └─ RecomputedBlock   nothing kept, computed in each pass       limited.py

    GrowingBlock                more and more columns of fewer rows       growing.py

`reduced` keeps only the small entries of rows. `scan` fills a block; while a tile is in the cache, it checks the
entries and notes the nearest column of each row. `square` fills blocks that compare rows with each other; half of such
a block is copied if the dissimilarity is symmetric. The storage of a block changes the time that a search takes, but
its result by no more than the rounding of float32.

In: dissimilarities from a `Space`. Out: tiles for `_core.SwapSearch`; of a `GrowingBlock`, entries for the arms of
BanditPAM.
"""

from onebatchpam.blocks.block import Block, Entries, WholeBlock, of_all_rows
from onebatchpam.blocks.growing import GrowingBlock
from onebatchpam.blocks.limited import RecomputedBlock, affordable_rank, choose_storage, fits_whole, open_block
from onebatchpam.blocks.reduced import ReducedRows
from onebatchpam.blocks.scan import BlockScan, check_block, compute_checked, fill_checked, fill_scanned
from onebatchpam.blocks.square import (
    compute_block,
    count_mirrored,
    fill_mirrored,
    is_mirrored,
    square_block,
    sum_mirrored,
)
