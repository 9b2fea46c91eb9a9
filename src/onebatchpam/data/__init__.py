"""Data: what X may be. Arrays, tables with mixed columns, sparse matrices, lists of objects, and files.

Each file checks one kind of X and makes it rows that can be had by slice and by index. `sources` reads files, `stored`
caches what was read; `tables` knows the columns of pandas and polars frames; `duplicates` collapses equal rows.

In: X as a user passes it. Out: rows, or an error that names the value at fault.
"""

from onebatchpam.data.arrays import check_matrix, check_rows
from onebatchpam.data.duplicates import DistinctRows, collapse_duplicates
from onebatchpam.data.objects import are_objects, are_strings, check_objects
from onebatchpam.data.rows import ArrayRows, ChosenRows, Rows, SparseRows
from onebatchpam.data.sources import is_path, load_sparse, read_strings
from onebatchpam.data.stored import is_stored
from onebatchpam.data.tables import TableColumn, TableRows, check_table, column_names, columns_of, take_rows
