"""What every stage of a fit is given: the number of threads, the source of random numbers, and the stop-watch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onebatchpam._progress import Stages


@dataclass(frozen=True)
class Run:
    """A fit under way."""

    n_jobs: int
    rng: np.random.RandomState
    stages: Stages

    def silent(self) -> Run:
        """Return the same run for steps within a stage, which are neither timed nor shown by themselves."""
        return replace(self, stages=Stages())
