"""k-medoids clustering for data too large for an n x n matrix."""

from onebatchpam._alternate import Alternate
from onebatchpam._banditpam import BanditPAM
from onebatchpam._clara import FasterCLARA
from onebatchpam._core import __version__
from onebatchpam._distances import distance_block
from onebatchpam._estimator import OneBatchPAM
from onebatchpam._fasterpam import FasterPAM
from onebatchpam._sampling import batch_size, required_batch_size
from onebatchpam._seeding import KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids
from onebatchpam._swap import SwapResult, swap_search

__all__ = [
    "KMC2",
    "Alternate",
    "BanditPAM",
    "FasterCLARA",
    "FasterPAM",
    "KMeansPlusPlus",
    "LSKMeansPlusPlus",
    "OneBatchPAM",
    "RandomMedoids",
    "SwapResult",
    "__version__",
    "batch_size",
    "distance_block",
    "required_batch_size",
    "swap_search",
]
