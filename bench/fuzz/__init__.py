"""Fuzzing: random cases, each drawn from a seed, run in a process of its own and held to what the package promises.

- `data.py`: rows of every kind that users pass; `tests/naive.py` has their dissimilarities, in plain NumPy;
- `case.py`: an estimator or a public function with its arguments, drawn for such rows;
- `models.py`, `functions.py`: what must hold for fitted estimators and for the results of public functions;
- `refusals.py`: which errors a case may raise;
- `bindings.py`, `readers.py`: arbitrary arguments for the native core, arbitrary bytes for the readers of files;
- `command.py`: the command, which goes on after failures and crashes, and prints how to repeat them.

In: a seed. Out: the failures of each case, and code that repeats it.
"""
