"""Lets the tests of the benchmark import `bench_tasks`, here and in the processes that they start."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

if sys.platform != "linux":  # the benchmark reads times and memory from /proc and `resource`
    collect_ignore_glob = ["test_*.py"]
