"""Stages of a fit: how long each took and, on request, how far it is.

In a terminal and in a notebook, a long stage has a progress bar. Elsewhere, as in a log file, each stage prints a line
when it is done.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm.auto import tqdm

from onebatchpam._interrupts import noting_interrupts, raise_if_interrupted

SECONDS_BEFORE_A_BAR = 0.5


class Bar(tqdm):  # type: ignore[misc]
    """A progress bar without the thread by which tqdm looks after bars that stand still; it would outlive the fit."""

    monitor_interval = 0

    @staticmethod
    def format_meter(*arguments: Any, **named: Any) -> str:
        """Return the text of the bar, with slow rates like "9.35s/round" instead of "9.35s/ rounds"."""
        return re.sub(r"s/ (\w+?)s\b", r"s/\1", tqdm.format_meter(*arguments, **named))

    def update(self, n: float | None = 1) -> bool | None:
        """Move on by n, unless the user has pressed Ctrl-C."""
        raise_if_interrupted()
        moved: bool | None = super().update(n)
        return moved

    def finish(self) -> None:
        """Show a stage that ended before its largest possible total as complete."""
        if not self.disable:
            self.total = self.n
            self.update(0)


class Silence:
    """Stands for a bar where nobody looks; a bar of tqdm takes as long to make as a stage of a small fit."""

    def update(self, n: float | None = 1) -> None:
        """Show nothing, but let Ctrl-C end the stage."""
        raise_if_interrupted()

    def set_postfix(self, *told: Any, **named: Any) -> None:
        """Tell nothing."""

    def finish(self) -> None:
        """Show nothing."""


SILENCE = Silence()
Progress = Bar | Silence


def are_bars_seen() -> bool:
    """Tell whether somebody sees a bar move: in a notebook or a terminal, but not in a log file."""
    is_notebook = any(parent.__module__ == "tqdm.notebook" for parent in tqdm.__mro__)
    return is_notebook or (sys.stderr is not None and sys.stderr.isatty())


class Stages:
    """Times named stages; with `verbose` of at least 1, tells how far a long stage is."""

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self._shows_bars = verbose > 0 and are_bars_seen()
        self._prints_lines = verbose > 0 and not self._shows_bars
        self._line: tuple[str, str] | None = None  # name and text of a stage whose line is not printed yet

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = " rows", part: slice | None = None
    ) -> Iterator[Progress]:
        """Time the body of a `with` statement, which reports its progress by `update(count)` of the bar.

        If the stage is done in several parts, with other work between them, `part` is the range of the total that this
        body does. All parts then share a line, and the bar of each goes on where the one before ended.
        """
        is_last = part is None or part.stop == total
        has_been_shown = part is not None and part.start > 0 and self.seconds[name] >= SECONDS_BEFORE_A_BAR
        self._print_line(unless=name)
        start = time.perf_counter()
        if not (self._shows_bars or self._prints_lines):
            with noting_interrupts():
                yield SILENCE
            self._add_seconds(name, start)
            return
        bar = Bar(
            total=total,
            initial=0 if part is None else part.start,
            desc=name,
            unit=unit,
            unit_scale=total is None or total >= 1000,
            disable=not self._shows_bars,
            delay=0 if has_been_shown else SECONDS_BEFORE_A_BAR,
            leave=is_last,
        )
        with bar, noting_interrupts():
            yield bar
        self._add_seconds(name, start)
        told = getattr(bar, "postfix", None)  # a disabled bar has a postfix only if it was set
        self._line = name, ", ".join([f"{name}: {self.seconds[name]:.2f} s", *filter(None, [told])])
        if is_last:
            self._print_line()

    def _add_seconds(self, name: str, start: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def _print_line(self, unless: str | None = None) -> None:
        """Print the line of the last stage, if it is not printed yet, unless this stage goes on."""
        if self._prints_lines and self._line is not None and self._line[0] != unless:
            print(f"onebatchpam: {self._line[1]}", file=sys.stderr, flush=True)
            self._line = None
