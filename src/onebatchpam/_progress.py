"""Stages of a fit: how long each took and, on request, a progress bar for the long ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

SECONDS_BEFORE_A_BAR = 0.5


class Stages:
    """Times named stages; with `verbose` of at least 1, a long stage shows a progress bar."""

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self._verbose = verbose

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = " rows") -> Iterator[tqdm]:
        """Time the body of a `with` statement, which reports its progress by `update(count)` of the bar."""
        start = time.perf_counter()
        # A disabled bar costs next to nothing, because its `update` returns at once.
        with tqdm(
            total=total,
            desc=name,
            unit=unit,
            unit_scale=True,
            disable=self._verbose < 1,
            delay=SECONDS_BEFORE_A_BAR,
        ) as bar:
            yield bar
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
