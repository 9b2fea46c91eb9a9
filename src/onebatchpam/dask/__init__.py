"""OneBatchPAM on Dask arrays and frames: the rows stay in their partitions. Needs Dask, the extra `dask`.

    estimator ─▶ driver, search ─▶ scheduler ─▶ Dask ─▶ tasks on a partition
    (driver's process)                                  (workers' processes)

The driver draws a batch and a sample of rows and searches among these; the workers compare all rows with the batch and
with the medoids, and send back the few rows that had best become medoids. `tasks` and `partition` know nothing of Dask;
`scheduler` knows nothing of medoids.
"""

from onebatchpam._optional import require

require("dask", extra="dask", needed_by="onebatchpam.dask")

from onebatchpam.dask.estimator import OneBatchPAM  # noqa: E402 (the line above says what to install)

__all__ = ["OneBatchPAM"]
