"""Values out of rows that came from elsewhere, checked one by one."""

from collections.abc import Iterator
from contextlib import contextmanager

from antecede.core.errors import LocalError
from antecede.eventlog.rules import Fields


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` before the text of a `LocalError` from inside."""
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
