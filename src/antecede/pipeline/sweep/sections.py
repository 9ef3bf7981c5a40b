"""Reads a table of a TOML file key by key, and says in one sentence which key is wrong and where.

Values are written as people write them: durations as "1.5ms", shares as "5%" or 0.05, counts as
2000 or "2k". A key that nobody asked for is a mistake in spelling, so `finish` refuses it.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from antecede.core.errors import LocalError
from antecede.link.notation import parse_count, parse_duration, parse_number, parse_share

Table: TypeAlias = dict[str, object]
T = TypeVar("T")


class Section:
    """One table of a file; every key that is asked for counts as known."""

    def __init__(self, where: str, table: Table) -> None:
        self.where: Final = where
        self._table: Final = table
        self._known: Final[list[str]] = []

    def as_table(self) -> Table:
        """The table as it stands."""
        return dict(self._table)

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return self._take(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        return self._of_type(key, value, str, "a text")

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._take(key)
        return default if value is None else self._of_type(key, value, bool, "true or false")

    def count(self, key: str, default: int | None = None) -> int:
        """A whole number that is not negative."""
        return self._needed(key, self._written(key, parse_count, default))

    def duration(self, key: str, default_ns: int | None = None) -> int:
        """Nanoseconds, written with a unit."""
        return self._needed(key, self._written(key, parse_duration, default_ns))

    def number(self, key: str, default: float | None = None) -> float:
        """A number that is not negative."""
        return self._needed(key, self._written(key, parse_number, default))

    def optional_text(self, key: str) -> str | None:
        """A text, or None where there is none."""
        return self.text(key) if self.has(key) else None

    def optional_share(self, key: str) -> float | None:
        """A number from 0 to 1, or None where there is none."""
        return self._written(key, parse_share, None)

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """A list of different texts, at least one; a single text counts as a list of one."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
            raise self.error(key, f"must be a list of texts, not {value!r}")
        return self._different(key, tuple(values))

    def counts(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A list of different counts, at least one; a single count is a list of one."""
        value = self._take(key)
        if value is None:
            return self._needed(key, default)
        values = value if isinstance(value, list) else [value]
        return self._different(key, tuple(self._parsed(key, item, parse_count) for item in values))

    def seeds(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list of seeds; a number alone means so many, from 1."""
        value = self._take(key)
        if value is None or isinstance(value, list):
            return self.counts(key, default)
        number = self._parsed(key, value, parse_count)
        if number < 1:
            raise self.error(key, "must be at least 1")
        return tuple(range(1, number + 1))

    def table(self, key: str) -> Table:
        """A table as it stands; an empty one where there is none."""
        value = self._take(key)
        return {} if value is None else self._of_type(key, value, dict, "a table")

    def sections(self, key: str) -> dict[str, "Section"]:
        """The tables below this one, by their names."""
        return {
            name: Section(
                f"{self.where}: {key} {name!r}", self._of_type(name, table, dict, "a table")
            )
            for name, table in self.table(key).items()
        }

    def finish(self) -> None:
        """`LocalError` names a key that nobody has asked for."""
        for key in self._table:
            if key not in self._known:
                known = ", ".join(sorted(set(self._known)))
                raise LocalError(f"{self.where}: there is no {key!r}; there are: {known}")

    def error(self, key: str, complaint: str) -> LocalError:
        """What to raise about a key."""
        return LocalError(f"{self.where}: {key} {complaint}")

    def _take(self, key: str) -> object | None:
        self._known.append(key)
        return self._table.get(key)

    def _written(self, key: str, parse: Callable[[str], T], default: T | None) -> T | None:
        value = self._take(key)
        return default if value is None else self._parsed(key, value, parse)

    def _parsed(self, key: str, value: object, parse: Callable[[str], T]) -> T:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self.error(key, f"cannot be {value!r}")
        try:
            return parse(str(value))
        except LocalError as error:
            raise self.error(key, f"is wrong: {error}") from None

    def _of_type(self, key: str, value: object, kind: type[T], name: str) -> T:
        if not isinstance(value, kind):
            raise self.error(key, f"must be {name}, not {value!r}")
        return value

    def _needed(self, key: str, value: T | None) -> T:
        if value is None:
            raise self.error(key, "is missing")
        return value

    def _different(self, key: str, values: tuple[T, ...]) -> tuple[T, ...]:
        if not values:
            raise self.error(key, "must name at least one")
        if len(set(values)) != len(values):
            raise self.error(key, f"names something twice: {list(values)}")
        return values


def read_toml(path: Path) -> Section:
    """The outermost table of a file; `LocalError` if it cannot be read or is no TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LocalError(f"cannot read {path}: {error}") from error
    try:
        return Section(str(path), tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise LocalError(f"{path} is not TOML: {error}") from error
