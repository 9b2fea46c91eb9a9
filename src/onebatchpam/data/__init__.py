"""Data: the kinds of X that a user may pass, and how each of them becomes rows.

    rows     the interface `Rows`; arrays and sparse matrices in memory
    arrays   checks of arrays of numbers, and of precomputed matrices
    bfloat16 arrays of numbers in bfloat16, a type that NumPy does not know
    objects  lists of strings or other objects
    frames   pandas, polars and Arrow tables, which narwhals makes alike
    tables   tables with columns of several kinds, in memory or in Parquet files
    files    paths, and by which source each kind of file is read
    sources  .npy files and arrays on disk, read in windows of rows
    parquet  Parquet files, read by row groups
    npz      sparse matrices in .npz files
    stored   the rows of a source, with a cache of windows

`duplicates` collapses equal rows of any kind.

In: X as a user passes it. Out: `Rows`, which metrics read by slice and by index, or an error that names the bad value.
"""

from onebatchpam.data.arrays import (
    check_matrix,
    check_quietly,
    check_rows,
    check_sparse,
    expand_condensed,
    is_sparse,
)
from onebatchpam.data.bfloat16 import is_bfloat16
from onebatchpam.data.duplicates import DistinctRows, collapse_duplicates
from onebatchpam.data.files import holds_strings, is_path, read_strings
from onebatchpam.data.frames import column_names, take_rows
from onebatchpam.data.npz import check_header, check_sizes, load_sparse
from onebatchpam.data.objects import are_objects, are_strings, as_objects, check_objects
from onebatchpam.data.parquet import ParquetFiles, scan_parquet
from onebatchpam.data.rows import ArrayRows, MatrixRows, Rows, SparseRows
from onebatchpam.data.stored import is_stored
from onebatchpam.data.tables import TableColumn, TableRows, check_table, columns_of
