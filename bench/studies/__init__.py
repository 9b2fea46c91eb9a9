"""Studies: measurements beside the experiments of the paper, each a command of its own.

- `speed.py`, `small.py`, `kernels.py`: fits, and small fits, beside other packages; distances beside a matrix product;
- `scale.py`: ten million rows on one machine, and how time and memory grow;
- `sample.py`, `seeding.py`: fits to many rows, k-means++ and counting copies, by several installs in turns;
- `embeddings.py`, `mixed.py`: a million unit vectors; a million rows of numbers, text, categories and truth values;
- `series.py`, `costly.py`: time series under dynamic time warping; the batch for all costly dissimilarities;
- `limits.py`, `alternatives.py`: where methods that hold all pairs end; what one could take instead;
- `complexity.py`, `theorem.py`, `counts.py`: statements of the paper, Theorem 1 among them, beside what is counted;
- `memory.py`, `estimate.py`: the memory and the cost that the docs and `estimate_cost` promise, beside what fits take;
- `threads.py`: what a second thread brings to each stage, and what nested parallelism costs;
- `orlib.py`, `optimality.py`: how far FasterPAM and every effort are from the optimum, and in what time;
- `against.py`, `beyond.py`: the default, and algorithms that the paper does not have, beside FasterPAM;
- `bandit.py`, `representatives.py`: BanditPAM++ beside that of its authors; models that learn from chosen rows;
- `certificate.py`, `gap.py`: how objective and lower bound meet in time; how the gap to FasterPAM depends on k / m;
- `sizes.py`, `dask.py`: what a minimum size of clusters costs; what travels between the parts of a Dask cluster;
- `chaos.py`, `allocations.py`: what becomes of fits if parts of a Dask cluster are lost, and if memory lacks;
- `pictures.py`, `appendix.py`, `pages.py`: the pictures of the README and of docs/, and the tables of docs/.

In: data sets, and contestants made for the study. Out: tables on the screen, and the pictures that docs/ shows.
"""
