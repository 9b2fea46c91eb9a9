"""A run: the number of threads, the source of random numbers and the stop-watch, which every stage of a fit uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onebatchpam._parameters import Settings
from onebatchpam._progress import Stages


@dataclass(frozen=True)
class Run:
    """The resources that all stages of one fit share."""

    n_jobs: int
    rng: np.random.RandomState
    stages: Stages

    @classmethod
    def of(cls, settings: Settings) -> Run:
        """Return the run that the parameters of an estimator ask for."""
        return cls(settings.n_jobs, settings.random_state, Stages(settings.verbose))

    def silent(self) -> Run:
        """Return the same run for steps within a stage, which are not timed or shown as stages of their own."""
        return replace(self, stages=Stages())
