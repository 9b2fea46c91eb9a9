"""Methods: who is measured.

`contestant.py` has the three words that every measurement uses: a `Problem` is given to a `Contestant`, which returns
an `Answer`. `ours.py` makes contestants of this package's estimators, `peers.py` of packages that a user could install
instead; a package is imported when its contestant runs, so that a missing one costs its own rows only. `table.py` lists
the contestants that experiments may name: to add a method, add a line there. `selectors.py` has those that choose rows
for labels.

In: rows, k, a metric, a seed and a number of threads.
Out: the indices of k rows. This room does not measure.
"""
