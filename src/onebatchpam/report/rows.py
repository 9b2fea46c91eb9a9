"""Rows as people look at them: cells of a table, images, series, or text."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onebatchpam._parameters import describe, is_integer
from onebatchpam._tiles import Indices
from onebatchpam.data import columns_of
from onebatchpam.report.columns import NEARLY_ZERO, Feature, name_of, show_category, show_number
from onebatchpam.report.study import Study

LONGEST_TEXT = 160
MOST_CELLS = 14  # columns of a table of rows
LARGEST_SIDE = 96  # pixels of an image; larger images are thinned out
POINTS_OF_A_SERIES = 120
WAYS = ("auto", "table", "series")


@dataclass(frozen=True)
class ShownRow:
    """A row of the page."""

    name: str
    distance: str
    cells: Sequence[str] = ()  # text, one for each column
    image: str | None = None  # an address of the picture that holds the picture itself
    series: str | None = None  # coordinates of a line in a box of 120 x 40
    is_medoid: bool = False


def check_show_as(show_as: Any) -> Any:
    """Check how rows are to be shown: one of WAYS, or the shape of images."""
    if isinstance(show_as, str) and show_as in WAYS:
        return show_as
    is_shape = isinstance(show_as, (tuple, list)) and len(show_as) in (2, 3) and all(map(is_integer, show_as))
    if is_shape and min(show_as) > 0 and (len(show_as) == 2 or show_as[2] in (3, 4)):
        return tuple(int(side) for side in show_as)
    raise ValueError(
        f"{describe(show_as, 'show_as')}: expected 'auto', 'table', 'series', or the height and width of images, as "
        "(28, 28), or (32, 32, 3) with colours"
    )


class RowPainter:
    """Shows rows of a study in one way."""

    def __init__(self, study: Study, features: Sequence[Feature], show_as: Any) -> None:
        self._study = study
        self.way = find_way(study.content, show_as)
        self.columns = [feature.name for feature in features[:MOST_CELLS]] if self.way == "table" else []
        if self.way == "image":
            check_images(study.content, show_as)
            self._shape = show_as
            numbers = np.asarray(study.sampled, np.float64)
            self._low, self._high = float(numbers.min()), float(numbers.max())

    def show(self, rows: Indices) -> list[ShownRow]:
        """Return rows, which must be among the single rows of the study."""
        content, study = self._study.single(rows), self._study
        cells = self._cells(content, len(rows))
        shown = []
        for position, row in enumerate(rows):
            shown.append(
                ShownRow(
                    study.name(int(row)),
                    show_number(float(study.rows.distances[row])),
                    cells[position],
                    self._picture(content[position]) if self.way == "image" else None,
                    draw_series(content[position]) if self.way == "series" else None,
                    bool((study.medoids == row).any()),
                )
            )
        return shown

    def _cells(self, content: Any, n: int) -> list[list[str]]:
        if self.way == "text":
            return [[shorten(content[i])] for i in range(n)]
        if self.way != "table":
            return [[] for _ in range(n)]
        dense = content.toarray() if issparse(content) else content
        wanted = set(self.columns)
        columns = [column for column in columns_of(dense) if name_of(column.name) in wanted]
        texts = [[show_value(value) for value in as_values(column.values)] for column in columns]
        return [list(row) for row in zip(*texts, strict=True)]

    def _picture(self, row: Any) -> str:
        pixels = np.asarray(row, np.float64).reshape(self._shape)
        step = max(1, -(-max(pixels.shape[:2]) // LARGEST_SIDE))
        scaled = (pixels[::step, ::step] - self._low) / max(self._high - self._low, NEARLY_ZERO)
        return encode_png(np.round(255 * np.clip(scaled, 0, 1)).astype(np.uint8))


def find_way(content: Any, show_as: Any) -> str:
    """Return how rows are shown: "table", "image", "series", "text", or "name" if only their names are known."""
    if isinstance(show_as, tuple):
        return "image"
    if content is None:
        return "name"
    if len(content.shape) == 2:
        return "series" if show_as == "series" else "table"
    first = content[0]
    are_numbers = not isinstance(first, (str, bytes)) and np.iterable(first) and is_series(first)
    return "series" if are_numbers else "text"


def is_series(row: Any) -> bool:
    """Tell whether an object is a list or an array of numbers."""
    try:
        return np.asarray(row).dtype.kind in "biuf" and np.asarray(row).ndim in (1, 2)
    except ValueError:  # for lists of different lengths
        return False


def check_images(content: Any, shape: tuple[int, ...]) -> None:
    """Raise unless rows are numbers that fill images of this shape."""
    n_pixels = int(np.prod(shape))
    is_array = isinstance(content, np.ndarray) and content.ndim == 2
    if is_array and content.shape[1] == n_pixels:
        return
    other = "a table with named columns" if hasattr(content, "columns") else "no array"
    found = f"rows of {content.shape[1]} numbers" if is_array else other
    raise ValueError(f"show_as={shape}: expected an array with {n_pixels} numbers in each row, got {found}")


def as_values(values: NDArray[Any]) -> list[Any]:
    """Return the values of a column as objects of Python; dates as text."""
    if values.dtype.kind == "M":
        return [None if np.isnat(value) else shorten_date(str(value.astype("datetime64[s]"))) for value in values]
    return values.tolist()


def shorten_date(text: str) -> str:
    """Return a date without its time if that is midnight."""
    return text.removesuffix("T00:00:00").replace("T", " ")


def show_value(value: Any) -> str:
    """Return a cell of a table as text."""
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return show_category(value)
    if isinstance(value, (int, float)):
        return f"{value:,.6g}" if abs(value) < 1e6 or value != int(value) else f"{value:,.0f}"
    return shorten(value)


def shorten(value: Any) -> str:
    """Return a value as text that is not too long."""
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def draw_series(row: Any) -> str:
    """Return the coordinates of a line in a box of 120 x 40, for a series of numbers; of several, the first."""
    values = np.asarray(row, np.float64)
    values = values if values.ndim == 1 else values[:, 0]
    if len(values) > POINTS_OF_A_SERIES:
        values = values[np.linspace(0, len(values) - 1, POINTS_OF_A_SERIES).astype(int)]
    low, high = np.nanmin(values), np.nanmax(values)
    x = 1 + 118 * np.arange(len(values)) / max(1, len(values) - 1)
    y = 38 - 36 * (values - low) / (high - low) if high > low else np.full(len(values), 20.0)
    return " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))


def encode_png(pixels: NDArray[np.uint8]) -> str:
    """Return a picture as an address that holds it: grey, or with three or four colours."""
    height, width = pixels.shape[:2]
    colours = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"
