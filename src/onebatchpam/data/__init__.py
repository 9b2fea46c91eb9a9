"""Data: what X may be. Arrays, tables with mixed columns, sparse matrices, lists of objects, and files.

Each file checks one kind of X and makes it rows that can be had by slice and by index. `sources` reads files, `stored`
caches what was read; `tables` knows the columns of pandas and polars frames; `duplicates` collapses equal rows.

In: X as a user passes it. Out: rows, or an error that names the value at fault.
"""

from onebatchpam.data.arrays import check_matrix, check_rows, check_square
from onebatchpam.data.duplicates import DistinctRows, collapse_duplicates
from onebatchpam.data.objects import are_objects, are_strings, check_objects, has_features
from onebatchpam.data.sources import is_path
from onebatchpam.data.stored import header_of, in_memory, is_stored
from onebatchpam.data.tables import TableColumn, check_table, columns_of

__all__ = [
    "DistinctRows",
    "TableColumn",
    "are_objects",
    "are_strings",
    "check_matrix",
    "check_objects",
    "check_rows",
    "check_square",
    "check_table",
    "collapse_duplicates",
    "columns_of",
    "has_features",
    "header_of",
    "in_memory",
    "is_path",
    "is_stored",
]
