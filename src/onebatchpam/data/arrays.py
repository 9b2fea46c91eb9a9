"""Checks of X if it holds numbers: rows of features, or a precomputed matrix of dissimilarities."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.spatial.distance import squareform
from sklearn.utils import check_array

from onebatchpam._parameters import refuse_masked
from onebatchpam.data.bfloat16 import Bfloat16Rows, is_bfloat16, read_bits
from onebatchpam.data.files import is_path
from onebatchpam.data.frames import TAKES_MISSING, check_columns, is_missing, open_frame, stack_vectors
from onebatchpam.data.npz import check_structure
from onebatchpam.data.rows import ArrayRows, Rows, SparseRows
from onebatchpam.data.sources import open_npy
from onebatchpam.data.stored import is_stored, open_stored_rows

# Libraries with arrays of their own, and what users should pass where NumPy cannot read such an array.
TENSORS = {
    "torch": "X.cpu(), and X.to_dense() if it is sparse",
    "jax": "jax.device_get(X)",
    "jaxlib": "jax.device_get(X)",
    "cupy": "X.get()",
    "tensorflow": "X.numpy()",
}


def check_quietly(X: ArrayLike, **options: Any) -> Any:
    """Check X as scikit-learn does, without NumPy's warnings about the sum that it computes of all values."""
    name, finite = options["input_name"], options.get("ensure_all_finite", True)
    refuse_masked(X, name)
    refuse_no_table(X, name)
    if getattr(X, "ndim", 2) != 2:
        check_dimensions(X, name)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            values = check_array(X, **options, ensure_2d=False, allow_nd=True)
        if options["dtype"] == "numeric" and values.dtype == object:
            values = values.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"{name} holds an integer that is too large for float64 ({error}): rescale it") from error
    except ValueError as error:
        if finite:
            refuse_bad_entry(X, name, allow_nan=finite == "allow-nan")
        if "Complex data" in str(error):  # the words for which scikit-learn's checks of estimators look
            raise ValueError(f"Complex data not supported: {name} holds complex numbers; expected real ones") from error
        raise
    check_dimensions(values, name)
    refuse_beyond_float64(values, name)
    return values


def refuse_beyond_float64(values: Any, name: str) -> None:
    """Raise if an array or a sparse matrix holds a number that float64 cannot hold, as a longer float may."""
    limit = np.finfo(np.float64).max
    if values.dtype.kind != "f" or np.finfo(values.dtype).max <= limit:  # no pass over values that cannot be too large
        return
    if (np.abs(values.data if issparse(values) else values) > limit).any():
        raise ValueError(f"{name} holds a number that is too large for float64: rescale it")


def refuse_no_table(X: Any, name: str) -> None:
    """Raise for anything that NumPy takes as a single object, such as a dictionary, a generator or None."""
    if not isinstance(X, (list, tuple)) and not hasattr(X, "shape") and np.asarray(X).ndim == 0:
        raise ValueError(
            f"{name} is of type {type(X).__name__}: expected rows of numbers, such as an array, a list of lists or a "
            "frame"
        )


def check_rows(X: ArrayLike, name: str, *, allow_nan: bool = False, estimator: object = None) -> Rows:
    """Return X as rows of numbers; an array of numbers keeps its type and is not copied.

    A file is not read here, because its numbers are checked as they are read.
    """
    X = read_tensor(X, name)
    if is_bfloat16(X):
        return check_bfloat16(X, name, allow_nan=allow_nan)
    if is_stored(X):
        return open_stored_rows(X, name, allow_nan=allow_nan)
    X = stack_vectors(X, name)
    frame = open_frame(X, name)
    if frame is not None:
        check_columns(frame, name, allow_nan=allow_nan)
        entries: Any = frame.to_numpy()
    else:
        entries = X if issparse(X) else check_shape(X, name)
    finite = "allow-nan" if allow_nan else True
    values = check_quietly(entries, dtype="numeric", ensure_all_finite=finite, input_name=name, estimator=estimator)
    return ArrayRows(values, header=X)


def read_tensor(X: Any, name: str) -> Any:
    """Return the array of NumPy for an array of another library that is in memory; otherwise X itself.

    A tensor of torch in bfloat16 stays one, because NumPy has no such type.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "xarray" and isinstance(getattr(X, "data", None), np.ndarray):
        return X.data
    if library not in TENSORS:
        return X
    try:
        if library == "torch":
            X = X.detach()  # NumPy refuses tensors that track gradients
            if is_bfloat16(X) and X.device.type == "cpu":
                return X
        return np.asarray(X)
    except (TypeError, RuntimeError, ValueError) as error:
        raise ValueError(
            f"{name} is of type {type(X).__name__}, which NumPy cannot read ({error}): pass {TENSORS[library]}"
        ) from error


def check_bfloat16(X: Any, name: str, *, allow_nan: bool) -> Bfloat16Rows:
    """Return rows in bfloat16, which become float32 only when they are compared; raise if a number is not finite."""
    rows = Bfloat16Rows(read_bits(X))
    place = rows.find_bad_entry(allow_nan=allow_nan)
    if place is not None:
        entry = rows.given(np.array(place[:1]))[0, place[1]]
        refuse_entry(entry, place, name)
    return rows


def check_shape(X: Any, name: str) -> Any:
    """Return X as an array of rows and features; raise if it is not one, or holds dates."""
    refuse_no_table(X, name)
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"{name} holds rows of different lengths: expected rows of numbers, all of the same length; sequences of "
            "different lengths need a function as metric"
        ) from error
    except TypeError as error:
        raise ValueError(
            f"{name} is of type {type(X).__name__}, which NumPy cannot read ({error}): expected an array of numbers"
        ) from error
    if array.dtype.kind == "V":
        # NumPy reads bfloat16 from a file as two bytes without a type.
        is_bare = array.dtype.itemsize == 2 and array.dtype.type is np.void
        advice = "X.view(ml_dtypes.bfloat16) if that is their type" if is_bare else "X.astype('float32')"
        raise ValueError(f"{name} is of type {array.dtype}: expected numbers; pass {advice}")
    if array.dtype.kind in "mM":
        raise ValueError(
            f"{name} is of type {array.dtype}: expected numbers; divide durations by numpy.timedelta64(1, 's'), or "
            "pass metric='gower', which compares dates"
        )
    check_dimensions(array, name)
    return array


def check_dimensions(array: Any, name: str) -> None:
    """Raise unless an array has two dimensions."""
    if array.ndim != 2:
        # scikit-learn's checks of estimators look for the words "Reshape your data".
        advice = ""
        if array.ndim == 1:
            advice = ". Reshape your data by X.reshape(1, -1) if it is one row, X.reshape(-1, 1) if it is one feature"
        elif array.ndim > 2:
            advice = ", such as X.reshape(len(X), -1); or pass list(X), with a function of two elements as metric"
        raise ValueError(f"{name} has shape {array.shape}: expected a table with rows and features{advice}")


def refuse_bad_entry(X: Any, name: str, *, allow_nan: bool) -> None:
    """Raise for the first entry that is not a finite number; return if there is none."""
    if issparse(X):
        refuse_bad_stored_entry(X.tocoo(), name)
        return
    entries = np.asarray(X)
    place = find_bad_entry(entries, allow_nan=allow_nan) if entries.ndim == 2 else None
    if place is None:
        return
    refuse_entry(entries[place], place, name)


def refuse_bad_stored_entry(X: Any, name: str) -> None:
    """Raise for the first stored entry of a sparse matrix in COO format that is not a finite number."""
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        refuse_entry(X.data[bad[0]], (int(X.row[bad[0]]), int(X.col[bad[0]])), name)


def refuse_entry(entry: Any, place: tuple[int, int], name: str) -> NoReturn:
    """Raise for an entry that is text, missing or infinite."""
    if isinstance(entry, str):
        problem = f"{str(entry)!r}: expected numbers; pass metric='gower', which compares mixed tables"
    elif is_missing(entry):
        problem = f"missing (NaN): expected numbers; {TAKES_MISSING}"
    else:
        problem = f"{entry}: expected finite numbers"
    raise ValueError(f"{name}[{place[0]}, {place[1]}] is {problem}")


def find_bad_entry(entries: NDArray[Any], *, allow_nan: bool) -> tuple[int, int] | None:
    """Return the row and the column of the first entry that is text, missing or infinite."""
    if entries.dtype.kind in "OUS":
        bad = np.array([isinstance(entry, (str, bytes)) or is_missing(entry) for entry in entries.flat], dtype=bool)
    elif entries.dtype.kind == "f":
        bad = (np.isinf(entries) if allow_nan else ~np.isfinite(entries)).ravel()
    else:
        return None
    return divmod(int(np.argmax(bad)), entries.shape[1]) if bad.any() else None


def check_matrix(X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
    """Return precomputed dissimilarities as a two-dimensional array; an array of numbers is not copied.

    The entries are checked as they are read, because most of them are never read.
    """
    if is_path(X):
        X = open_npy(Path(X), name)  # type: ignore[arg-type]
    return check_quietly(X, dtype="numeric", ensure_all_finite=False, input_name=name, estimator=estimator)


def expand_condensed(X: Any, name: str) -> Any:
    """Return the square matrix of the distances that scipy's `pdist` returns, one for each pair; otherwise X itself."""
    if isinstance(X, (str, list)) or np.ndim(X) != 1 or np.asarray(X).dtype.kind not in "biuf":
        return X
    n_pairs = len(X)
    n = round((1 + math.sqrt(1 + 8 * n_pairs)) / 2)
    if n * (n - 1) // 2 != n_pairs or n_pairs == 0:
        raise ValueError(
            f"{name} has shape {(n_pairs,)}: expected a square matrix of dissimilarities, or the n (n - 1) / 2 "
            "distances of all pairs, as scipy.spatial.distance.pdist returns them"
        )
    return squareform(np.asarray(X), checks=False)


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix or array of scipy, or a frame of pandas whose columns are all sparse."""
    return bool(issparse(X)) or is_sparse_frame(X)


def is_sparse_frame(X: Any) -> bool:
    """Tell whether X is a frame of pandas whose columns are all sparse: only such a frame has an attribute `sparse`."""
    is_frame = type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")
    return is_frame and X.shape[1] > 0 and hasattr(X, "sparse")


def fill_frame(X: Any) -> Any:
    """Return a frame of sparse columns as a matrix or, if what a column leaves out is not 0, as a dense frame."""
    leaves_out_zeros = all(kind.fill_value == 0 for kind in X.dtypes)
    return X.sparse.to_coo() if leaves_out_zeros else X.sparse.to_dense()


def check_sparse(X: Any, name: str, estimator: object = None) -> SparseRows:
    """Return the rows of a sparse matrix of any format, or of an array; a matrix in canonical CSR is not copied."""
    given = fill_frame(X) if is_sparse_frame(X) else X
    check_structure(given, name)
    matrix = check_quietly(given, accept_sparse="csr", dtype="numeric", input_name=name, estimator=estimator)
    if not issparse(matrix):
        return SparseRows(csr_array(matrix), header=X)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {matrix.shape[1]} features: expected at most {np.iinfo(np.int32).max}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return SparseRows(matrix, header=X)
