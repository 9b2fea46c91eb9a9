"""The methods that experiments may name: the rows of the paper's Table 2, our own, and the packages of others.

To add a method, add a line to the table. Tables and figures show methods in this order.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.methods import peers
from bench.methods.contestant import Contestant, Problem, Solve
from bench.methods.ours import (
    choose_clara_size,
    choose_partial_batch,
    multiply_k,
    multiply_paper_batch,
    solve_by,
    solve_lwcs_as_published,
)

AS_PUBLISHED = "OneBatchPAM-lwcs (as published)"
BANDITPAM: dict[str, Any] = {"package": "banditpam", "metrics": tuple(peers.BANDITPAM_METRICS)}
EUCLIDEAN: dict[str, Any] = {"package": "sklearn", "metrics": ("euclidean",)}


def _paper(name: str, solve: Solve, **options: Any) -> Contestant:
    return Contestant(name, solve, "paper", **{"paper_row": name, **options})


def _paper_onebatch(variant: str) -> Contestant:
    """Return OneBatchPAM with the paper's settings, whatever our defaults are."""
    settings = {"variant": variant, "batch_size": Problem.paper_batch_size, "init": "random", "refine": 0}
    return _paper(f"OneBatchPAM-{variant}", solve_by("OneBatchPAM", max_iter=100, tol=1e-6, **settings))


def _ours(name: str, **parameters: Any) -> Contestant:
    return Contestant(name, solve_by("OneBatchPAM", **parameters), "ours")


def _part(name: str, **parameters: Any) -> Contestant:
    """Return OneBatchPAM with a batch that is never all rows, and one start unless told otherwise."""
    return _ours(name, **{"batch_size": choose_partial_batch, "effort": "fast", **parameters})


def _peer(name: str, solve: Solve, **options: Any) -> Contestant:
    return Contestant(name, solve, "peer", **options)


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        _paper("Random", solve_by("RandomMedoids")),
        _paper("FasterPAM", solve_by("FasterPAM", init="random", max_iter=100), matrix_bytes=4),
        _paper("Alternate", solve_by("Alternate", init="random", max_iter=100), labels_last=False),
        *(
            _paper(
                f"FasterCLARA-{i}",
                solve_by("FasterCLARA", n_samplings=i, sample_size=choose_clara_size),
                labels_last=False,
            )
            for i in (5, 50)
        ),
        *(_paper(f"kmc2-{length}", solve_by("KMC2", chain_length=length)) for length in (20, 100, 200)),
        _paper("k-means++", solve_by("KMeansPlusPlus")),
        *(_paper(f"LS-k-means++-{i}", solve_by("LSKMeansPlusPlus", n_swaps=i)) for i in (5, 10)),
        *(_paper(f"BanditPAM++-{i}", solve_by("BanditPAM", max_iter=i)) for i in (0, 2, 5)),
        _paper_onebatch("lwcs"),
        _paper(AS_PUBLISHED, solve_lwcs_as_published, paper_row="OneBatchPAM-lwcs"),
        _paper_onebatch("unif"),
        _paper_onebatch("debias"),
        _paper_onebatch("nniw"),
        Contestant("PAM", solve_by("PAM"), "ours", matrix_bytes=4),
        Contestant("CLARANS", solve_by("CLARANS"), "ours"),
        Contestant("FasterMSC", solve_by("FasterMSC", batch_size=None), "ours", matrix_bytes=4),
        Contestant("FasterMSC, one batch", solve_by("FasterMSC"), "ours"),
        Contestant("DynMSC", solve_by("DynMSC", batch_size=None), "ours", matrix_bytes=4),
        _ours("OneBatchPAM (default)"),
        _ours("OneBatchPAM, 3 starts", n_init=3),
        _ours("OneBatchPAM, 3000 points, 3 starts", batch_size=3000, n_init=3),
        _ours("OneBatchPAM, 4000 points, 3 starts", batch_size=4000, n_init=3),
        _part("progressive", refine=0),
        _part("progressive, 1 round", refine=1),
        *(_part(f"{variant}, refined", variant=variant) for variant in ("unif", "debias", "nniw", "progressive")),
        *(_part(f"progressive, refined, {starts} starts", n_init=starts) for starts in (2, 3)),
        *(
            _ours(f"nniw, {x:g} m", variant="nniw", refine=0, batch_size=partial(multiply_paper_batch, x))
            for x in (0.25, 0.5, 2, 4)
        ),
        *(_part(f"refined, {x:g} m", batch_size=partial(multiply_paper_batch, x)) for x in (0.25, 0.5, 1, 2, 4)),
        *(_part(f"refined, {c} k", batch_size=partial(multiply_k, c)) for c in (5, 10, 20, 40)),
        _peer("onebatch", peers.solve_onebatch, package="onebatch"),
        _peer("kmedoids FasterPAM", peers.solve_kmedoids, package="kmedoids", matrix_bytes=8),
        *(_peer(f"banditpam, T = {i}", partial(peers.solve_banditpam, max_iter=i), **BANDITPAM) for i in (0, 2, 5)),
        _peer("KMeans, snapped", partial(peers.solve_k_means, "KMeans"), **EUCLIDEAN),
        _peer("MiniBatchKMeans, snapped", partial(peers.solve_k_means, "MiniBatchKMeans"), **EUCLIDEAN),
    )
}


def check_method(name: str, metric: str) -> Contestant:
    """Return the contestant of this name; raise if there is none, or if it does not take the metric."""
    if name not in CONTESTANTS:
        raise ValueError(f"there is no method {name!r}: expected one of {', '.join(CONTESTANTS)}")
    contestant = CONTESTANTS[name]
    if contestant.metrics is not None and metric not in contestant.metrics:
        raise ValueError(f"{name} takes the metrics {', '.join(contestant.metrics)}, not {metric!r}")
    return contestant
