"""Arbitrary arguments for the native core: a binding returns or raises, but never crashes or writes beyond an array.

A call starts with arguments that fit together; then some of them are replaced: by arrays of another shape, type or
memory layout, by numbers out of range, by values that are not finite. Arrays to which a binding writes lie between
margins of known bytes, which must stay as they are.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.fuzz.data import Rng, choose
from bench.fuzz.trial import describe_error
from bench.measure.process import TIMED, Announce, Record
from onebatchpam import _core
from onebatchpam.metrics.native import NATIVE_METRICS
from onebatchpam.metrics.sparse import SPARSE_METRICS

MARGIN = 64  # bytes before and after an array to which a binding writes
FILLER = 0xA5


@dataclass
class Guarded:
    """Makes arrays with margins, and tells whether all margins are as they were."""

    buffers: list[NDArray[np.uint8]] = field(default_factory=list)

    def empty(self, shape: Any, dtype: Any) -> NDArray[Any]:
        """Return an array of zeros between two margins."""
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = np.full(n_bytes + 2 * MARGIN, FILLER, np.uint8)
        buffer[MARGIN : MARGIN + n_bytes] = 0
        self.buffers.append(buffer)
        return buffer[MARGIN : MARGIN + n_bytes].view(dtype).reshape(shape)

    def are_intact(self) -> bool:
        """Tell whether no margin was written to."""
        return all((buffer[:MARGIN] == FILLER).all() and (buffer[-MARGIN:] == FILLER).all() for buffer in self.buffers)


@dataclass(frozen=True)
class Call:
    """A binding and its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    is_sound: bool

    def describe(self) -> str:
        """Return the call as code, with long arrays cut."""
        return f"{self.name}({', '.join(_describe_argument(argument) for argument in self.arguments)})"


def _describe_argument(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        flags = f"strides={argument.strides}, writeable={argument.flags.writeable}"
        return f"<{argument.dtype} {argument.shape} {flags} {np.array2string(argument.ravel()[:12])}>".replace("\n", "")
    return repr(argument)


class Sound:
    """Arguments that fit together: a block of n rows and m columns, and what belongs to it."""

    def __init__(self, rng: Rng, guard: Guarded) -> None:
        self.rng, self.guard = rng, guard
        self.n, self.m, self.p, self.jobs = (
            int(rng.integers(1, stop)) for stop in (choose(rng, 5, 40, 700), choose(rng, 6, 90), 40, 4)
        )
        self.n += 1  # a search for silhouettes needs two medoids
        self.first = int(rng.integers(self.n))
        self.dtype = choose(rng, np.float32, np.float64, np.uint8)
        # Rows in float32 are compared in float32.
        self.out_type = choose(rng, np.float32, np.float32 if self.dtype is np.float32 else np.float64)
        self.metric, self.sparse_metric = choose(rng, *NATIVE_METRICS), choose(rng, *SPARSE_METRICS)
        self.block, self.thresholds = self.floats(self.n, self.m), self.floats(self.m)

    def floats(self, *shape: int) -> NDArray[np.float32]:
        """Draw numbers between 0 and 1."""
        return self.rng.random(shape).astype(np.float32)

    def rows(self, n: int, dtype: Any = None) -> NDArray[Any]:
        """Draw n rows of p features."""
        return (9 * self.rng.random((n, self.p))).astype(dtype or self.dtype)

    def sparse_rows(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Draw n sparse rows: where each begins, their features, and their values."""
        sizes = self.rng.integers(0, self.p + 1, n)
        features = [np.sort(self.rng.permutation(self.p)[:size]) for size in sizes]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return starts, np.concatenate([[], *features]).astype(np.int32), self.rng.random(int(sizes.sum())) + 1

    def medoids(self, least_k: int = 1) -> NDArray[np.int64]:
        """Draw some of the n rows, at least `least_k`."""
        return self.rng.permutation(self.n)[: int(self.rng.integers(least_k, self.n + 1))].astype(np.int64)

    def search_arguments(self, least_k: int = 1) -> tuple[Any, ...]:
        """Draw the arguments of a search."""
        medoids = self.medoids(least_k)
        n_fixed = int(self.rng.integers(0, len(medoids) + 1))
        return self.n, medoids, self.floats(len(medoids), self.m), self.rng.random(self.m), 0.0, n_fixed

    def search(self) -> _core.SwapSearch:
        return _core.SwapSearch(*self.search_arguments())

    def viewer(self) -> _core.Viewer:
        """Return a viewer that alone keeps its arrays alive, which is what the garbage collector then tries."""
        n, m, empty = self.n, self.m, self.guard.empty
        makers: tuple[Callable[[], _core.Viewer], ...] = (
            lambda: _core.RowScanner(empty(n, np.int32), empty(n, np.float32), 2),
            lambda: _core.RowSummer(self.rng.random(m), empty(n, np.float64), 2, self.floats(m)),
            lambda: _core.RowTransposer(empty((m, n), np.float32), 2),
            lambda: _core.SwapEvaluator(self.search(), empty(n, np.float64), empty(n, np.int32), 2),
        )
        viewer = choose(self.rng, *makers)()
        gc.collect(0)
        return viewer

    def reduced(self) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]:
        """Return the block reduced to the entries below the thresholds: starts, columns and values."""
        kept = self.block < self.thresholds
        columns = np.nonzero(kept)[1].astype(choose(self.rng, np.uint16, np.uint32))
        return np.concatenate([[0], np.cumsum(kept.sum(axis=1))]), columns, self.block[kept]

    def reduce_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of a reduction."""
        starts, columns, values = self.reduced()
        empty = self.guard.empty
        out = empty(len(columns), columns.dtype), empty(len(values), np.float32)
        return self.block, self.thresholds, starts, *out, self.jobs


Prepared = tuple[Callable[..., Any], tuple[Any, ...]]  # a binding and its arguments


def _fill_packed(sound: Sound) -> Prepared:
    packed = _core.PackedColumns(sound.rows(sound.m), sound.metric)
    return packed.fill, (sound.rows(sound.n), sound.guard.empty((sound.n, sound.m), sound.out_type), sound.jobs)


def _fill_viewed(sound: Sound) -> Prepared:
    packed = _core.PackedColumns(sound.rows(sound.m), sound.metric)
    return packed.fill, (sound.rows(sound.n), sound.guard.empty((sound.n, sound.m), np.float32), sound.viewer())


def _fill_gower(sound: Sound) -> Prepared:
    gower = _core.GowerColumns(sound.rows(sound.m, np.float32), np.ones(sound.p, np.float32))
    return gower.fill, (sound.rows(sound.n, np.float32), sound.guard.empty((sound.n, sound.m), np.float32), sound.jobs)


def _fill_sparse(sound: Sound) -> Prepared:
    sparse = _core.SparseColumns(*sound.sparse_rows(sound.m), sound.p, sound.sparse_metric)
    return sparse.fill, (*sound.sparse_rows(sound.n), sound.guard.empty((sound.n, sound.m), sound.out_type), sound.jobs)


def _sweep(sound: Sound) -> Prepared:
    gains = choose(sound.rng, None, sound.rng.standard_normal(sound.n - sound.first))
    return sound.search().sweep, (sound.block[sound.first :], sound.first, sound.jobs, gains)


def _sweep_silhouettes(sound: Sound) -> Prepared:
    search = _core.SilhouetteSearch(*sound.search_arguments(least_k=2))
    return search.sweep, (sound.block[sound.first :], sound.first, sound.jobs)


def _find_improving(sound: Sound) -> Prepared:
    return sound.search().find_improving, (sound.block[sound.first :], sound.first, 0, sound.jobs)


def _try_candidates(sound: Sound) -> Prepared:
    candidates = sound.medoids()
    return sound.search().try_candidates, (candidates, sound.block[: len(candidates)])


def _make_evaluator(sound: Sound) -> Prepared:
    n, empty = sound.n, sound.guard.empty
    return _core.SwapEvaluator, (sound.search(), empty(n, np.float64), empty(n, np.int32), sound.jobs)


def _make_summer(sound: Sound) -> Prepared:
    sums = sound.guard.empty(sound.n, np.float64)
    return _core.RowSummer, (sound.rng.random(sound.m), sums, sound.jobs, sound.thresholds)


def _make_scanner(sound: Sound) -> Prepared:
    n, empty = sound.n, sound.guard.empty
    return _core.RowScanner, (empty(n, np.int32), empty(n, np.float32), sound.jobs)


def _make_transposer(sound: Sound) -> Prepared:
    return _core.RowTransposer, (sound.guard.empty((sound.m, sound.n), np.float32), sound.jobs)


def _count_below(sound: Sound) -> Prepared:
    return _core.count_below, (sound.block, sound.thresholds, sound.guard.empty(sound.n, np.int64), sound.jobs)


def _widen_halves(sound: Sound) -> Prepared:
    halves = sound.rows(sound.n, np.float32).astype(np.float16).view(np.uint16)
    return _core.widen_halves, (halves, sound.guard.empty(halves.shape, np.float32), sound.jobs)


def _expand_rows(sound: Sound) -> Prepared:
    return _core.expand_rows, (*sound.reduced(), sound.guard.empty((sound.n, sound.m), np.float32), sound.jobs)


def _make_gower(sound: Sound) -> Prepared:
    return _core.GowerColumns, (sound.rows(sound.m, np.float32), np.ones(sound.p, np.float32))


def _make_packed(sound: Sound) -> Prepared:
    return _core.PackedColumns, (sound.rows(sound.m), sound.metric, choose(sound.rng, 0.0, 1.0, 255.0))


CALLS: dict[str, Callable[[Sound], Prepared]] = {
    "PackedColumns": _make_packed,
    "PackedColumns.fill": _fill_packed,
    "PackedColumns.fill, viewed": _fill_viewed,
    "GowerColumns": _make_gower,
    "GowerColumns.fill": _fill_gower,
    "SparseColumns": lambda sound: (
        _core.SparseColumns,
        (*sound.sparse_rows(sound.m), sound.p, sound.sparse_metric),
    ),
    "SparseColumns.fill": _fill_sparse,
    "Viewer.see": lambda sound: (sound.viewer().see, (sound.block,)),
    "RowScanner": _make_scanner,
    "RowSummer": _make_summer,
    "RowTransposer": _make_transposer,
    "SwapEvaluator": _make_evaluator,
    "SwapSearch": lambda sound: (_core.SwapSearch, sound.search_arguments()),
    "SwapSearch.sweep": _sweep,
    "SwapSearch.find_improving": _find_improving,
    "SwapSearch.try_candidates": _try_candidates,
    "SilhouetteSearch": lambda sound: (_core.SilhouetteSearch, sound.search_arguments(least_k=2)),
    "SilhouetteSearch.sweep": _sweep_silhouettes,
    "are_bytes": lambda sound: (_core.are_bytes, (sound.rows(sound.n, sound.out_type), 255.0)),
    "widen_halves": _widen_halves,
    "count_below": _count_below,
    "reduce_rows": lambda sound: (_core.reduce_rows, sound.reduce_arguments()),
    "expand_rows": _expand_rows,
    "force_simd_level": lambda sound: (_core.force_simd_level, (_core.simd_level(),)),
}


def spoil_array(rng: Rng, array: NDArray[Any]) -> Any:
    """Return an array that differs from the given one in one respect."""
    other = array.copy()
    flat = other.reshape(-1)
    with np.errstate(all="ignore"):
        spoilt: dict[str, Callable[[], Any]] = {
            "cut": lambda: array[: len(array) // 2],
            "longer": lambda: np.concatenate([array, array]),
            "empty": lambda: array[:0],
            "no columns": lambda: array[:, :0] if array.ndim == 2 else array[:0],
            "narrower": lambda: array[:, 1:] if array.ndim == 2 else array[1:],
            "flat": lambda: flat,
            "another dimension": lambda: array[np.newaxis],
            "Fortran": lambda: np.asfortranarray(array),
            "reversed": lambda: array[::-1],
            "reversed rows": lambda: array[..., ::-1],
            "every other": lambda: array[::2],
            "repeated row": lambda: np.broadcast_to(array[:1], array.shape) if len(array) else array,
            "another type": lambda: array.astype(choose(rng, np.float16, np.float32, np.float64, np.int64, np.uint8)),
            "other byte order": lambda: array.astype(array.dtype.newbyteorder()),
            "misaligned": lambda: _misaligned(array),
            "read-only": lambda: _read_only(other),
            "scalar": lambda: array.dtype.type(3),
            "list": lambda: array.tolist(),
            "None": lambda: None,
            "a bad value": lambda: _with_bad_value(rng, other),
            "bad values": lambda: _with_bad_value(rng, other, all_of_them=True),
        }
        return spoilt[choose(rng, *spoilt)]()


def _misaligned(array: NDArray[Any]) -> NDArray[Any]:
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    shifted = buffer[1:].view(array.dtype).reshape(array.shape) if array.nbytes else array
    shifted[...] = array
    return shifted


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _with_bad_value(rng: Rng, array: NDArray[Any], *, all_of_them: bool = False) -> NDArray[Any]:
    flat = array.reshape(-1)
    values: tuple[float, ...]
    if array.dtype.kind == "f":
        values = (np.nan, np.inf, -np.inf, -1.0, 3e38, 1e-45)
    else:
        limits = np.iinfo(array.dtype)
        values = (limits.max, limits.min, max(limits.min, -1), min(limits.max, len(flat)), limits.max // 2)
    if all_of_them:
        flat[:] = choose(rng, *values)
    elif len(flat):
        flat[rng.integers(len(flat))] = choose(rng, *values)
    return array


def spoil(rng: Rng, argument: Any) -> Any:
    """Return another argument in place of this one."""
    if isinstance(argument, np.ndarray):
        return spoil_array(rng, argument)
    if isinstance(argument, list):
        return choose(rng, [], [-1], [2**62], argument * 2, [1.5], None, argument[::-1])
    if isinstance(argument, (int, float)):
        # No number between: as many threads would be started.
        return choose(rng, 0, -1, 2, 50, 2**63 - 1, 2**64 - 3, 2**70, np.nan, np.inf, -0.5, "text", None)
    return choose(rng, None, "unknown", 7, "", b"bytes")


def draw_spoilt_call(seed: int, guard: Guarded) -> Call:
    """Draw a call, and replace up to two of its arguments."""
    rng = np.random.default_rng(seed)
    name = choose(rng, *CALLS)
    function, given = CALLS[name](Sound(rng, guard))
    arguments = list(given)
    n_spoilt = int(rng.integers(0, 3))
    for place in rng.integers(len(arguments), size=n_spoilt):
        arguments[place] = spoil(rng, arguments[place])
    return Call(name, function, tuple(arguments), is_sound=n_spoilt == 0)


def describe_binding(announce: Announce, seed: int) -> Record:
    """Describe the call of a seed without making it."""
    return {"code": draw_spoilt_call(seed, Guarded()).describe()}


ERRORS = (TypeError, ValueError, MemoryError)  # a MemoryError is that of a limit, for a number that is too large


def run_binding(announce: Announce, seed: int) -> Record:
    """Make one call with arguments of which some do not fit; this is a task for `bench.measure.process`."""
    announce(TIMED)
    guard = Guarded()
    call = draw_spoilt_call(seed, guard)
    level, failures, was_refused = _core.simd_level(), {}, 0
    try:
        call.function(*call.arguments)
    except ERRORS as error:
        was_refused = 1
        if call.is_sound:
            failures[call.name] = f"sound arguments were refused\n{describe_error(error)}"
    except Exception as error:
        failures[call.name] = describe_error(error)
    _core.force_simd_level(level)
    if not guard.are_intact():
        failures[call.name] = "the binding wrote beyond the end of an array"
    return {"failures": failures, "counts": {"refused": was_refused}, "code": call.describe() if failures else ""}
