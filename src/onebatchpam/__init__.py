"""k-medoids clustering for data too large for an n x n matrix.

Users need only the names that this file and `onebatchpam.dask` export; `OneBatchPAM` is the one to start with.

The package is a house of rooms, one folder for each. A room uses only the rooms to its right, and of these only the
names that their doors (`__init__.py`) export:

    you ─▶ algorithms ─▶ search ─▶ blocks ─▶ space ─▶ metrics ─▶ data
                 └─────▶ batch ──────┘

`dask`, `evaluation` and `cli` stand above all of these rooms. The files `_draws`, `_run`, `_memory`, `_tiles`,
`_parameters`, `_progress` and `_optional` lie below them and serve every room; `_core`, the native code, lies at the
bottom.
"""

from onebatchpam._core import __version__
from onebatchpam.algorithms import (
    KMC2,
    Alternate,
    BanditPAM,
    ClusterMedoids,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    medoids_of,
)
from onebatchpam.batch import batch_size, required_batch_size
from onebatchpam.data import DistinctRows, collapse_duplicates
from onebatchpam.evaluation import KSelection, medoid_silhouette, select_k
from onebatchpam.metrics import block_metric, native_metric, pair_metric
from onebatchpam.search import SwapResult, swap_search
from onebatchpam.space import distance_block

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
