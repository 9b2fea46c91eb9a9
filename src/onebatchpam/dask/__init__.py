"""OneBatchPAM on Dask arrays and frames: the rows stay in their partitions. The extra `dask` installs Dask.

    estimator ─▶ population, known ─▶ scheduler ─▶ runner ─▶ Dask ─▶ tasks on a partition
    └─────────────── in the process of the driver ──────────────┘    └── in the workers ──┘

The driver gathers a batch and a sample of the rows (`known`) and searches for medoids among them. The workers compare
all rows with the batch and with the medoids, and send back the few rows that are the best candidates for a medoid.
`bound` and `bound_tasks` do the same for a statistical bound on the objective.
`tasks` and `partition` know nothing of Dask. `scheduler` and `runner`, which waits for the cluster and explains its
errors, know nothing of medoids.
"""

from onebatchpam._optional import require

require("dask", extra="dask", needed_by="onebatchpam.dask")

from onebatchpam.dask.estimator import OneBatchPAM  # noqa: E402 (`require` comes first, to say what to install)

__all__ = ["OneBatchPAM"]
