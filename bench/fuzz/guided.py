"""`python -m bench fuzz readers --guided`: atheris damages files, guided by the lines of Python code that they reach.

Only the readers are fuzzed in this way, because atheris does not see which native code a call of a binding reaches.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import onebatchpam.data.files
import onebatchpam.data.npz
import onebatchpam.data.parquet
import onebatchpam.data.sources
import onebatchpam.data.stored
from bench.fuzz.readers import SOUND, describe_file, read

# Modules whose functions read files. Some are private, and found by a public function that they hold.
READERS = (
    onebatchpam.data.files,
    onebatchpam.data.npz,
    onebatchpam.data.parquet,
    onebatchpam.data.sources,
    onebatchpam.data.stored,
    zipfile,
    sys.modules[np.lib.format.read_magic.__module__],
    sys.modules[scipy.sparse.load_npz.__module__],
)
N_SOUND_FILES = 200  # with which atheris starts


def instrument_readers(atheris: Any) -> None:
    """Let atheris see which lines of the readers are reached."""
    for module in READERS:
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                atheris.instrument_func(function)


def fuzz_guided(seconds: float) -> None:
    """Run atheris, which ends the process when the time is over; print each new problem with code that repeats it."""
    import atheris

    names, problems = list(SOUND), set[str]()

    def try_bytes(given: bytes) -> None:
        """Read a file: the first byte says of which kind, the others are its content."""
        if given:
            suffix, metric, _ = SOUND[names[given[0] % len(names)]]
            problem, _ = read(suffix, given[1:], metric)
            if problem is not None and problem not in problems:
                problems.add(problem)
                print(f"{problem}\n{describe_file(suffix, given[1:], metric)}", flush=True)

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for seed in range(N_SOUND_FILES):
            kind = seed % len(names)
            content = SOUND[names[kind]][2](np.random.default_rng(seed))
            (Path(folder) / str(seed)).write_bytes(bytes([kind]) + content)
        instrument_readers(atheris)
        limits = [f"-max_total_time={seconds:.0f}", "-rss_limit_mb=4000", "-max_len=20000"]
        atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", folder], try_bytes)
        atheris.Fuzz()
