"""Studies: measurements beside the experiments of the paper, each a command of its own.

- `speed.py`: whole fits beside the packages `onebatch` and `kmedoids`; `kernels.py`: distances beside a matrix product;
- `scale.py`: ten million rows on one machine, and how time and memory grow;
- `embeddings.py`: a million unit vectors, in float32 and float16, from memory and from a file;
- `series.py`: thousands of time series under dynamic time warping;
- `limits.py`: where methods that hold all pairs end, and this package does not;
- `memory.py`: the peak memory of every kind of call, beside the bytes that the docs promise;
- `estimate.py`: what `estimate_cost` says before a fit, beside what the fit takes;
- `orlib.py`: FasterPAM on graphs whose optimal medians are known;
- `optimality.py`: how far every effort is from the optimum, and in what time;
- `certificate.py`: how the objective and its lower bound meet in time;
- `gap.py`: how the gap to FasterPAM depends on k / m, from the records of the experiment `batch`;
- `representatives.py`: models that learn from rows which several methods chose;
- `sizes.py`: what a least size of clusters costs;
- `dask.py`: what travels between the driver and the workers of a Dask fit;
- `chaos.py`: what becomes of Dask fits if parts of the cluster are lost;
- `pictures.py`: k-means centres above medoids, for the README.

In: data sets, and contestants made for the study. Out: tables on the screen, and the pictures that docs/ shows.
"""
