"""
Rows on a Dask cluster
======================

Cluster rows that stay in the partitions of a Dask array, on a cluster of two processes.
"""

import dask.array as da
from dask.distributed import Client, LocalCluster

from onebatchpam.dask import OneBatchPAM


def make_rows() -> da.Array:
    """Return rows in 10 partitions around four corners; real data would come from `da.from_zarr` or the like."""
    rng = da.random.default_rng(0)
    corners = rng.integers(0, 2, size=(100_000, 2), chunks=(10_000, 2))
    return (10 * corners + rng.standard_normal((100_000, 2), chunks=(10_000, 2))).astype("float32")


if __name__ == "__main__":  # the guard is needed, because each worker process imports this file
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        X = make_rows().persist()  # without persist the partitions would be computed in each pass
        model = OneBatchPAM(n_clusters=4, metric="manhattan", random_state=0).fit(X)
        print("medoids\n", model.cluster_centers_.round(1))
        print("mean distance", round(model.inertia_ / len(X), 3))
        print("labels", model.labels_)
        print("cluster sizes", da.bincount(model.labels_, minlength=4).compute())
