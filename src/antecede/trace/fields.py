"""Checks the fields of one row that came out of a file, and says which column is wrong.

Errors name the column only; whoever knows the file and the line puts that in front (`located`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from antecede.core.errors import LocalError

Fields: TypeAlias = Mapping[str, object]

INT32_MAX: Final = (1 << 31) - 1
INT64_MAX: Final = (1 << 63) - 1
INT64_MIN: Final = -(1 << 63)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` in front of what a `LocalError` from inside says."""
    try:
        yield
    except LocalError as error:
        raise LocalError(f"{where}: {error}") from None


def field(fields: Fields, column: str) -> object:
    """The value in `column`, which must be there (a null counts as being there)."""
    try:
        return fields[column]
    except KeyError:
        raise LocalError(f"column {column!r} is missing") from None


def integer(fields: Fields, column: str, low: int, high: int) -> int:
    """The integer in `column`, within `low` and `high`, both inclusive."""
    return checked_integer(field(fields, column), column, low, high)


def optional_integer(fields: Fields, column: str, high: int) -> int | None:
    """The integer in `column`, from 0 to `high`, or None for a null."""
    value = field(fields, column)
    return None if value is None else checked_integer(value, column, 0, high)


def optional_text(fields: Fields, column: str) -> str | None:
    """The string in `column`, or None for a null."""
    value = field(fields, column)
    if value is not None and not isinstance(value, str):
        raise LocalError(f"column {column!r} must be a string or null, not {value!r}")
    return value


def text_if_there(fields: Fields, column: str) -> str | None:
    """The string in a column that may be missing, too; an empty one counts as a null."""
    return optional_text(fields, column) or None if column in fields else None


def integers(fields: Fields, column: str, high: int) -> tuple[int, ...]:
    """The list of integers, each from 0 to `high`, in `column`."""
    values = field(fields, column)
    if not isinstance(values, list):
        raise LocalError(f"column {column!r} must be a list of integers, not {values!r}")
    return tuple(checked_integer(value, column, 0, high) for value in values)


def checked_integer(value: object, column: str, low: int, high: int) -> int:
    """`value` if it is an integer within `low` and `high`, both inclusive."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise LocalError(f"column {column!r} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise LocalError(f"column {column!r} is {value}, outside {low} to {high}")
    return value
