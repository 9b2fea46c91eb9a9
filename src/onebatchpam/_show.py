"""How results look: tables and lists, as text in a terminal and as HTML in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape

import numpy as np

# The address of the documentation on the web; empty as long as it is not published. The box by which a notebook shows
# an estimator links to the page of the estimator there.
DOCS_ADDRESS = ""
PAGE_OF_ESTIMATOR = "/api/generated/{estimator_module}.{estimator_name}.html"

Columns = dict[str, list[str]]  # the cells of a table, a list for each heading; all lists have the same length
Items = list[tuple[str, str]]  # names and values, one line for each


class PrintedTable(ABC):
    """A result that prints as a table, and as an HTML table in a notebook."""

    @abstractmethod
    def _columns(self) -> Columns:
        """Return the cells of the table."""

    def _note(self) -> str:
        """Return a text to stand below the table."""
        return ""

    def __repr__(self) -> str:
        columns = [[heading, *cells] for heading, cells in self._columns().items()]
        widths = [max(map(len, column)) for column in columns]
        aligned = ([cell.rjust(width) for cell in column] for column, width in zip(columns, widths, strict=True))
        lines = zip(*aligned, strict=True)
        return "\n".join([*map("  ".join, lines), *filter(None, [self._note()])])

    def _repr_html_(self) -> str:
        columns = self._columns()
        head = "".join(f"<th>{escape(heading)}</th>" for heading in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
            for line in zip(*columns.values(), strict=True)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{paragraph(self._note())}"


class Listing(ABC):
    """A result that prints as a list of names and values, and as an HTML table of two columns in a notebook."""

    @abstractmethod
    def _items(self) -> Items:
        """Return the names and values."""

    def _note(self) -> str:
        """Return a text to stand below the list."""
        return ""

    def __str__(self) -> str:
        items = self._items()
        width = max(len(name) for name, _ in items)
        return "\n".join([*(f"{name:<{width}}  {value}" for name, value in items), *filter(None, [self._note()])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._items())
        return f'<table style="text-align: left"><tbody>{"".join(lines)}</tbody></table>{paragraph(self._note())}'


def paragraph(text: str) -> str:
    """Return a text as a paragraph of HTML; nothing if there is no text."""
    return f"<p>{escape(text)}</p>" if text else ""


def show_bytes(n_bytes: float) -> str:
    """Return a number of bytes for people to read, such as 1.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} TB"


def show_size(size: float) -> str:
    """Return the number of rows in a cluster, or their weight."""
    return f"{size:,}" if isinstance(size, int | np.integer) else f"{size:,.6g}"


def show_count(count: float) -> str:
    """Return a number of things, rounded, for people to read, such as 2.7 billion."""
    for size, name in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if count >= size:
            return f"{count / size:,.2g}{name}" if count < 100 * size else f"{count / size:,.0f}{name}"
    return f"{count:,.0f}"


def show_seconds(seconds: float) -> str:
    """Return a duration for people to read, such as 3.2 s or 2 h 5 min."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"


def show_share(share: float) -> str:
    """Return a fraction in per cent, with two digits if it is small."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.2g}%"
