"""The k most representative rows of your data: k-medoids for any dissimilarity and millions of rows.

Users need only the names that this file and `onebatchpam.dask` export; `OneBatchPAM` is the one to start with.

The package is a house of rooms, one folder for each. A room uses only the rooms to its right, and of these only the
names that their doors (`__init__.py`) export:

    you ─▶ algorithms ─▶ answers ─▶ bounds ─▶ search ─▶ blocks ─▶ space ─▶ metrics ─▶ data
                 └────────────────────────────▶ batch ─────┘

`dask` and `evaluation` stand above all of these rooms, `report` above them, and `cli` on top. The files `_draws`,
`_run`, `_memory`, `_tiles`, `_parameters`, `_progress`, `_interrupts`, `_show`, `_warn`, `_new_files` and `_optional`
lie below them and serve every room; `_core`, the native code, lies at the bottom. `_old_names` opens models that older
versions saved.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from onebatchpam import _old_names
from onebatchpam._core import __version__

if TYPE_CHECKING:
    from onebatchpam.algorithms import (
        CLARANS,
        KMC2,
        PAM,
        Alternate,
        BanditPAM,
        ClusterMedoids,
        CostEstimate,
        DynMSC,
        FasterCLARA,
        FasterMSC,
        FasterPAM,
        KMeansPlusPlus,
        LSKMeansPlusPlus,
        OneBatchPAM,
        RandomMedoids,
        Representatives,
        RepresentativeSelector,
        medoids_of,
        select_representatives,
    )
    from onebatchpam.answers import ClusterTable, FitSummary, RowAssessment
    from onebatchpam.batch import batch_size, required_batch_size
    from onebatchpam.bounds import LowerBound
    from onebatchpam.data import DistinctRows, collapse_duplicates, scan_parquet
    from onebatchpam.evaluation import (
        ClusterStatistics,
        KSelection,
        cluster_statistics,
        estimate_cost,
        lower_bound,
        medoid_silhouette,
        select_k,
    )
    from onebatchpam.metrics import block_metric, native_metric, pair_metric
    from onebatchpam.search import SwapResult, swap_search
    from onebatchpam.space import distance_block

__all__ = [
    "CLARANS",
    "KMC2",
    "PAM",
    "Alternate",
    "BanditPAM",
    "ClusterMedoids",
    "ClusterStatistics",
    "ClusterTable",
    "CostEstimate",
    "DistinctRows",
    "DynMSC",
    "FasterCLARA",
    "FasterMSC",
    "FasterPAM",
    "FitSummary",
    "KMeansPlusPlus",
    "KSelection",
    "LSKMeansPlusPlus",
    "LowerBound",
    "OneBatchPAM",
    "RandomMedoids",
    "RepresentativeSelector",
    "Representatives",
    "RowAssessment",
    "SwapResult",
    "__version__",
    "batch_size",
    "block_metric",
    "cluster_statistics",
    "collapse_duplicates",
    "distance_block",
    "estimate_cost",
    "lower_bound",
    "medoid_silhouette",
    "medoids_of",
    "native_metric",
    "pair_metric",
    "required_batch_size",
    "scan_parquet",
    "select_k",
    "select_representatives",
    "swap_search",
]

# The rooms that a public name may come from. They are imported when one of their names is first used, because they need
# scikit-learn, which takes a second or more to import, and `onebatchpam --help` does not.
_ROOMS = ("algorithms", "answers", "batch", "bounds", "data", "evaluation", "metrics", "search", "space")


def __getattr__(name: str) -> object:
    """Return a public name from the room that offers it."""
    if name in __all__:
        for room in map(import_module, (f"{__name__}.{room}" for room in _ROOMS)):
            if name in vars(room):
                return globals().setdefault(name, vars(room)[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_old_names.register(__name__)
