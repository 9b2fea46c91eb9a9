"""Measurements of onebatchpam and its peers; `python -m bench --help` lists the commands.

A room imports only rooms to its right; its `__init__.py` says what it is for.

    studies ─▶ report ─┐
               fuzz ───┴─▶ measure ─▶ methods ─▶ data

`configs` has the experiments, `results` the records of their runs. Records are kept in git; tables and figures are made
from them by `python -m bench report`.

Fuzzing, chaos and failing allocations are tests that take long. They share modules with the tests: `naive`, `clusters`,
`allocations` and `starvation`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "tests"))
