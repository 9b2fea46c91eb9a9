"""Data: the kinds of X that a user may pass, and how each of them becomes rows.

    rows     the interface `Rows`; arrays and sparse matrices in memory
    arrays   checks of arrays of numbers, and of precomputed matrices
    objects  lists of strings or other objects
    tables   pandas, polars and Arrow tables with columns of several kinds
    sources  files and arrays on disk, read in windows of rows
    stored   the rows of a source, with a cache of windows

`duplicates` collapses equal rows of any kind.

In: X as a user passes it. Out: `Rows`, which metrics read by slice and by index, or an error that names the bad value.
"""

from onebatchpam.data.arrays import check_matrix, check_rows, check_sparse
from onebatchpam.data.duplicates import DistinctRows, collapse_duplicates
from onebatchpam.data.objects import are_objects, are_strings, as_objects, check_objects
from onebatchpam.data.rows import ArrayRows, MatrixRows, Rows, SparseRows
from onebatchpam.data.sources import holds_strings, is_path, load_sparse, read_strings
from onebatchpam.data.stored import is_stored
from onebatchpam.data.tables import TableColumn, TableRows, check_table, column_names, columns_of, take_rows
