"""k-medoids clustering for data too large for an n x n matrix."""

from onebatchpam._alternate import Alternate
from onebatchpam._banditpam import BanditPAM
from onebatchpam._callables import block_metric, pair_metric
from onebatchpam._clara import FasterCLARA
from onebatchpam._core import __version__
from onebatchpam._distances import distance_block
from onebatchpam._duplicates import DistinctRows, collapse_duplicates
from onebatchpam._estimator import OneBatchPAM
from onebatchpam._fasterpam import FasterPAM
from onebatchpam._medoids_of import ClusterMedoids, medoids_of
from onebatchpam._native_metric import native_metric
from onebatchpam._sampling import batch_size, required_batch_size
from onebatchpam._seeding import KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids
from onebatchpam._select_k import KSelection, select_k
from onebatchpam._silhouette import medoid_silhouette
from onebatchpam._swap import SwapResult, swap_search

__all__ = [
    "KMC2",
    "Alternate",
    "BanditPAM",
    "ClusterMedoids",
    "DistinctRows",
    "FasterCLARA",
    "FasterPAM",
    "KMeansPlusPlus",
    "KSelection",
    "LSKMeansPlusPlus",
    "OneBatchPAM",
    "RandomMedoids",
    "SwapResult",
    "__version__",
    "batch_size",
    "block_metric",
    "collapse_duplicates",
    "distance_block",
    "medoid_silhouette",
    "medoids_of",
    "native_metric",
    "pair_metric",
    "required_batch_size",
    "select_k",
    "swap_search",
]
