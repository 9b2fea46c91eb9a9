"""Studies: measurements beside the experiments of the paper, each a command of its own.

- `speed.py`, `small.py`, `kernels.py`: fits, and small fits, beside other packages; distances beside a matrix product;
- `scale.py`: ten million rows on one machine, and how time and memory grow;
- `sample.py`, `seeding.py`: fits to many rows, k-means++ and counting copies, by several installs in turns;
- `embeddings.py`, `series.py`: a million unit vectors; thousands of time series under dynamic time warping;
- `mixed.py`: a million rows of numbers, text, categories and truth values;
- `limits.py`, `alternatives.py`: where methods that hold all pairs end; what one could take instead;
- `complexity.py`, `theorem.py`: the paper's Table 1 and Theorem 1, beside what is counted;
- `memory.py`, `estimate.py`: the memory and the cost that the docs and `estimate_cost` promise, beside what fits take;
- `threads.py`: what a second thread brings to each stage, and what nested parallelism costs;
- `orlib.py`, `optimality.py`: how far FasterPAM and every effort are from the optimum, and in what time;
- `against.py`: the default against FasterPAM, on average and in the worst of ten seeds;
- `certificate.py`, `gap.py`: how objective and lower bound meet in time; how the gap to FasterPAM depends on k / m;
- `representatives.py`: models that learn from rows which several methods chose;
- `sizes.py`: what a minimum size of clusters costs;
- `dask.py`, `chaos.py`: what travels between the parts of a Dask cluster, and what becomes of fits if some are lost;
- `pictures.py`, `pages.py`: the pictures of the README, and the tables of docs/.

In: data sets, and contestants made for the study. Out: tables on the screen, and the pictures that docs/ shows.
"""
