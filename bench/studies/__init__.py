"""Studies: measurements beside the experiments of the paper, each a command of its own.

- `speed.py`: whole fits beside the packages `onebatch` and `kmedoids`, and all methods of this package;
- `scale.py`: ten million rows on one machine, and how time and memory grow;
- `orlib.py`: FasterPAM on graphs whose optimal medians are known;
- `gap.py`: how the gap to FasterPAM depends on k / m, from the records of the experiment `batch`;
- `dask.py`: what travels between the driver and the workers of a Dask fit.

In: data sets, and contestants made for the study. Out: tables on the screen, and the pictures that docs/ shows.
"""
