"""What each column of a table is taken for, and the metric that suits them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam.cli.formats import ParquetTable, Table, arrow
from onebatchpam.cli.messages import UsageError
from onebatchpam.metrics import describe_dominant, nearly_all_differ

# Names that an id may have: customer_id, customerId, and what pandas and others call a column of row numbers in a csv
# file. A feature may be called key as well, so that a column counts as an id only if its values all differ, too.
POSSIBLE_NAME_OF_ID = re.compile(r"(?i:(.*[_ ])?(id|uuid|guid|index|key)|unnamed: 0|)|.*[a-z]I[dD]")
MOST_NAMED = 12  # columns of a kind that are named in messages
KINDS = ("numeric", "categorical", "ordinal", "asymmetric")

# The uses of columns that are compared, with the words for them in messages.
COMPARED = {
    "number": "numbers",
    "category": "categories",
    "ordinal": "in order",
    "asymmetric": "asymmetric",
    "date": "dates",
    "vectors": "vectors",
    "text": "text",
}
NOT_COMPARED = {"id": "id", "weight": "weight", "left out": "left out"}


@dataclass(frozen=True)
class ColumnUse:
    """A column, and what it is used for: a key of COMPARED or of NOT_COMPARED."""

    name: str
    type: str  # the type in Arrow
    use: str
    reason: str = ""
    n_missing: int = 0
    spread: float = 0.0  # standard deviation of numbers

    @property
    def is_compared(self) -> bool:
        return self.use in COMPARED


@dataclass(frozen=True)
class ColumnOptions:
    """The options of the command line for columns."""

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    id: str | None = None
    weight: str | None = None
    kinds: Mapping[str, Any] | None = None

    @property
    def named(self) -> set[str]:
        """The columns that the user wants to be compared, whatever they look like."""
        return {*(self.columns or ()), *(self.kinds or {})}


def parse_kinds(options: Sequence[str]) -> dict[str, Any]:
    """Return the kinds of columns that the user declares, as `metric_params` of gower take them."""
    kinds: dict[str, Any] = {}
    for option in options:
        name, equals, kind = option.partition("=")
        if not equals or not name or (kind not in KINDS and "<" not in kind):
            raise UsageError(
                f"--kind {option!r}: expected COLUMN=KIND with one of {', '.join(KINDS)}, or with the values in order, "
                "as 'size=S<M<L'"
            )
        kinds[name] = [level.strip() for level in kind.split("<")] if "<" in kind else kind
    return kinds


def judge_columns(table: Table | ParquetTable, options: ColumnOptions) -> list[ColumnUse]:
    """Return the use of each column."""
    known = table.schema.names
    mentioned = [*(options.columns or ()), *options.drop, *(options.kinds or {}), options.id, options.weight]
    for name in mentioned:
        if name is not None and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            guess = f" (did you mean {close[0]!r}?)" if close else ""
            raise UsageError(f"there is no column {name!r}{guess}: expected names among {list_names(known)}")
    head = table.head()
    uses = [judge_column(field, head.column(field.name), table.is_whole, options) for field in table.schema]
    return settle(uses, options)


def judge_column(field: Any, values: Any, is_whole: bool, options: ColumnOptions) -> ColumnUse:
    """Return the use of a column, judged by itself."""
    name = field.name

    def use(what: str, reason: str = "") -> ColumnUse:
        numbers = as_numbers(values) if what == "number" else np.empty(0)
        known = numbers[~np.isnan(numbers)]
        n_missing = values.null_count + len(numbers) - len(known)
        return ColumnUse(name, str(field.type), what, reason, n_missing, float(known.std()) if len(known) else 0.0)

    if name == options.id:
        return use("id")
    if name == options.weight:
        return use("weight")
    if name in options.drop:
        return use("left out", "--drop")
    if options.columns is not None and name not in options.columns:
        return use("left out", "not in --columns")
    what = use_of_type(field.type, (options.kinds or {}).get(name))
    if what is None:
        if name in options.named:
            raise UsageError(f"column {name!r} holds values of type {field.type}, which cannot be compared")
        return use("left out", f"of type {field.type}")
    if name in options.named or what == "vectors":
        return use(what)
    if values.null_count == len(values):
        return use("left out", "empty")
    n_known, n_distinct = len(values) - values.null_count, count_distinct(values)
    if POSSIBLE_NAME_OF_ID.fullmatch(name) and n_distinct == n_known:
        return use("id", "by its name and values")
    if is_whole and n_distinct == 1 and values.null_count == 0 and len(values) > 1:
        return use("left out", "constant")
    if what == "category" and nearly_all_differ(n_distinct, n_known):  # such as names, which say nothing about groups
        return use("text", "nearly all values differ")
    return use(what)


def as_numbers(values: Any) -> NDArray[np.float64]:
    """Return the values of a column that are not missing as numbers; text that is declared to be numeric is none."""
    try:
        return np.asarray(values.drop_null().to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):  # the fit says what is wrong with them
        return np.empty(0)


def count_distinct(values: Any) -> int:
    """Return the number of distinct values that are not missing."""
    try:
        distinct = values.unique()
    except arrow().ArrowNotImplementedError:  # for types that Arrow cannot compare
        return len(set(map(str, values.drop_null().to_pylist())))
    return len(distinct) - distinct.null_count


def use_of_type(kind: Any, declared: Any) -> str | None:
    """Return the use of a column of an Arrow type, or of a declared kind; None if it cannot be compared."""
    types = arrow("pyarrow.types")
    if declared is not None:
        uses = {"numeric": "number", "categorical": "category", "asymmetric": "asymmetric"}
        return uses.get(declared if isinstance(declared, str) else "", "ordinal")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    if types.is_dictionary(kind):
        return "ordinal" if kind.ordered else "category"
    if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
        return "category"
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type)):
        return "vectors"
    return "left out" if types.is_null(kind) else None


def settle(uses: list[ColumnUse], options: ColumnOptions) -> list[ColumnUse]:
    """Return the uses of columns that are possible together: one id, and vectors or text only alone."""
    ids = [use.name for use in uses if use.use == "id"]
    first_id = options.id or (ids[0] if ids else None)
    compared = [use for use in uses if use.is_compared]
    vectors = [use.name for use in compared if use.use == "vectors"]
    others = [use.name for use in compared if use.use not in ("vectors", "text")]
    texts = [use.name for use in compared if use.use == "text"]
    wanted = options.named
    if len(set(vectors) & wanted) > 1 or (set(vectors) & wanted and len(wanted) > 1):
        raise UsageError(f"column {vectors[0]!r} holds vectors, which are compared alone: expected --columns with it")
    chosen = vectors[:1] or others or texts[:1]
    settled = []
    for use in uses:
        if use.use == "id" and use.name != first_id:
            settled.append(ColumnUse(use.name, use.type, "left out", "like an id"))
        elif use.is_compared and use.name not in chosen:
            reason = f"the rows are the vectors in {vectors[0]!r}" if vectors else use.reason
            settled.append(ColumnUse(use.name, use.type, "left out", reason))
        else:
            settled.append(use)
    if not any(use.is_compared for use in settled):
        raise UsageError("no column is left to compare: name the columns with --columns")
    return settled


def describe_uses(uses: Sequence[ColumnUse]) -> list[str]:
    """Return lines that say what each column is taken for."""
    lines = []
    for what, words in {**COMPARED, **NOT_COMPARED}.items():
        found = [f"{use.name} ({use.reason})" if use.reason else use.name for use in uses if use.use == what]
        if found:
            lines.append(f"  {words:<11} {list_names(found)}")
    return lines


def list_names(names: Sequence[str]) -> str:
    """Return names with commas, the first of them if they are many."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def choose_metric(uses: Sequence[ColumnUse], options: ColumnOptions) -> tuple[str, str]:
    """Return the metric that suits the columns of a table, and the reason."""
    kinds = {use.use for use in uses if use.is_compared}
    if options.kinds:
        return "gower", "it takes columns of declared kinds"
    if kinds == {"text"}:
        return "levenshtein", "the rows are text"
    if kinds == {"vectors"}:
        return "euclidean", "the rows are vectors"
    missing = [use.name for use in uses if use.is_compared and use.n_missing]
    if kinds == {"number"} and not missing:
        return "euclidean", "all columns are numbers"
    if kinds == {"number"}:
        return "gower", f"{missing[0]!r} lacks values"
    if len(kinds) == 1:
        return "gower", f"the columns are {COMPARED[kinds.pop()]}"
    return "gower", "the columns are of several kinds"


def advise_on_scales(uses: Sequence[ColumnUse], metric: str) -> str | None:
    """Return advice if a column of numbers counts for nearly all of the distances; None if none does."""
    dominant = describe_dominant({use.name: use.spread for use in uses if use.use == "number"}, metric)
    if dominant is None:
        return None
    name, why = dominant
    return f"{name!r} {why}; --metric gower or seuclidean counts all columns alike"
