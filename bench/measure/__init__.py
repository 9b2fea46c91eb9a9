"""Measure: time, memory and objective of a contestant, one record per run.

`runner.py` makes the runs of an experiment, which `config.py` reads from bench/configs; `records.py` keeps them as JSON
lines. `call.py` times a call and finds its peak memory, `objective.py` judges the medoids that it returned.
`process.py` runs a task in a process of its own within limits, `memory.py` looks at the memory of that process, and
`machine.py` describes what it ran on. `cluster.py` starts a Dask cluster whose parts can be lost.

In: an experiment, or single runs from a study.
Out: records. What is not in a record cannot be reported.
"""
