"""Options as estimators: the numbers of clusters, and OneBatchPAM with the options of the command line."""

from __future__ import annotations

import argparse
import re
from typing import Any

from onebatchpam.algorithms import OneBatchPAM
from onebatchpam.cli.inputs import Input
from onebatchpam.cli.messages import Messages, UsageError


def parse_numbers(text: str | None) -> list[int]:
    """Return the numbers of clusters that an option means: 8, 2:20, 10:100:10 or 5,10,20."""
    if text is None:
        raise UsageError("-k is missing: expected a number of clusters, as -k 8, or a range, as -k 2:20")
    found = re.fullmatch(r"(\d+)(?::(\d+)(?::(\d+))?)?", text)
    if found is not None:
        first, last, step = (None if part is None else int(part) for part in found.groups())
        assert first is not None  # the pattern requires it
        numbers = [first] if last is None else list(range(first, last + 1, step or 1))
    else:
        numbers = [int(part) for part in text.split(",")] if re.fullmatch(r"\d+(,\d+)*", text) else []
    if not numbers or min(numbers) < 1:
        raise UsageError(f"-k {text}: expected a number of clusters, as 8, a range, as 2:20 or 10:100:10, or 5,10,20")
    return numbers


def keep_possible(ks: list[int], n: int) -> list[int]:
    """Return the numbers of clusters that n rows allow; all of them if none does, which the fit then refuses."""
    return [k for k in ks if k <= n] or ks


def parse_number(text: str | None) -> int:
    """Return the only number that an option means."""
    numbers = parse_numbers(text)
    if len(numbers) > 1:
        raise UsageError(f"-k {text}: expected one number")
    return numbers[0]


def check_method(arguments: argparse.Namespace, k: int) -> None:
    """Raise if an option of the method is wrong, before any data are read."""
    estimator = OneBatchPAM(k, **method_options(arguments))
    try:
        estimator._check_settings()
    except ValueError as error:
        raise UsageError(str(error).replace("random_state=", "seed=")) from None


def make_estimator(arguments: argparse.Namespace, data: Input, k: int, messages: Messages) -> OneBatchPAM:
    """Return the estimator for the data."""
    return OneBatchPAM(
        k,
        metric=data.metric,
        metric_params=data.metric_params,
        verbose=int(messages.shows_progress),
        **method_options(arguments),
    )


def method_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the method as parameters of the estimator."""
    chosen = {name: getattr(arguments, name, None) for name in ("batch_size", "effort")}
    return {
        **{name: value for name, value in chosen.items() if value is not None},
        "memory_limit": arguments.memory_limit,
        "n_jobs": arguments.n_jobs,
        "random_state": arguments.seed,
    }
