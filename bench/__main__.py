"""`python -m bench COMMAND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.data import download
from bench.data.download import DownloadError
from bench.data.sets import default_folder
from bench.fuzz import command as fuzz
from bench.measure import runner
from bench.measure.config import ConfigError
from bench.measure.process import TaskError
from bench.report import report
from bench.studies import (
    against,
    allocations,
    alternatives,
    appendix,
    bandit,
    beyond,
    certificate,
    chaos,
    complexity,
    costly,
    counts,
    dask,
    embeddings,
    estimate,
    gap,
    kernels,
    limits,
    memory,
    mixed,
    optimality,
    orlib,
    pages,
    pictures,
    representatives,
    sample,
    scale,
    seeding,
    series,
    sizes,
    small,
    speed,
    theorem,
    threads,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a measurement; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure onebatchpam and its peers.")
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of the data sets (%(default)s)")
    commands = parser.add_subparsers(required=True, metavar="command")
    for module in (
        speed,
        small,
        kernels,
        scale,
        sample,
        seeding,
        limits,
        alternatives,
        complexity,
        counts,
        theorem,
        bandit,
        beyond,
        embeddings,
        series,
        mixed,
        costly,
        memory,
        estimate,
        threads,
        orlib,
        optimality,
        against,
        certificate,
        representatives,
        runner,
        report,
        gap,
        sizes,
        dask,
        chaos,
        allocations,
        fuzz,
        download,
        pictures,
        pages,
        appendix,
    ):
        module.add_command(commands)
    arguments = parser.parse_args(argv)
    try:
        arguments.run(arguments)
    except (FileNotFoundError, ImportError, ConfigError, DownloadError, TaskError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
