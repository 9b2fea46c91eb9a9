"""The records of runs: one JSON line each, in `NAME.jsonl` while running and packed in `NAME.jsonl.xz`.

If a run has several records, the last one counts.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Run:
    """The identity of a run within a file of records."""

    dataset: str
    n: int | None  # this many rows, drawn by the seed; None for all
    k: int
    metric: str
    method: str
    seed: int

    @classmethod
    def from_record(cls, record: Record) -> Run:
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})

    def __str__(self) -> str:
        rows = "" if self.n is None else f" n={self.n}"
        return f"{self.dataset}{rows} k={self.k} seed={self.seed} {self.method}"

    def as_dict(self) -> Record:
        return asdict(self)


@dataclass(frozen=True)
class Store:
    """The records under one name in a folder."""

    folder: Path
    name: str

    @property
    def plain(self) -> Path:
        return self.folder / f"{self.name}.jsonl"

    @property
    def packed(self) -> Path:
        return self.folder / f"{self.name}.jsonl.xz"

    def append(self, record: Record) -> None:
        append_line(self.plain, record)

    def read(self) -> dict[Run, Record]:
        """Return the last record of each run."""
        contents = lzma.decompress(self.packed.read_bytes()) if self.packed.exists() else b""
        contents += self.plain.read_bytes() if self.plain.exists() else b""
        return {Run.from_record(record): record for record in _parse(contents)}

    def pack(self) -> None:
        """Compress all records into one file, which takes the place of the plain one."""
        lines = "".join(json.dumps(record) + "\n" for record in self.read().values())
        draft = self.packed.with_suffix(".draft")
        draft.write_bytes(lzma.compress(lines.encode(), preset=9))
        draft.replace(self.packed)
        self.plain.unlink(missing_ok=True)


def append_line(path: Path, record: Record) -> None:
    """Add a record to a file in a single write, so that a process that is stopped leaves whole lines."""
    line = json.dumps(record, allow_nan=False).encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b", buffering=0) as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # the machine went down in the middle of a line, which is not a record
                line = b"\n" + line
        file.write(line)
        os.fsync(file.fileno())


def _parse(contents: bytes) -> Iterator[Record]:
    for line in contents.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue  # half a line


def list_stores(folder: Path) -> list[Store]:
    """Return all stores of a folder."""
    names = {path.name.split(".jsonl")[0] for path in folder.glob("*.jsonl*") if not path.name.endswith(".draft")}
    return [Store(folder, name) for name in sorted(names)]


def add_results_option(parser: argparse.ArgumentParser) -> None:
    """Let a command be told where records are."""
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the records (%(default)s)")
