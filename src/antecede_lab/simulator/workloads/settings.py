"""The parameters of a workload by name, so that a command line or a sweep can set them as text.

A parameter's default decides its type: a whole number, a number, or a text.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias, final

from antecede.core.errors import LocalError
from antecede.units import parse_count, parse_number, parse_share

Setting: TypeAlias = int | float | str


@final
class Parameter:
    """Something about a workload that can be set."""

    def __init__(self, name: str, default: Setting, meaning: str) -> None:
        self.name: Final = name
        self.default: Final = default
        self.meaning: Final = meaning

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.default!r})"


@final
class WorkloadSettings:
    """The value of every parameter: what was given, or else the default."""

    def __init__(
        self, owner: str, parameters: tuple[Parameter, ...], given: Mapping[str, Setting]
    ) -> None:
        names = [parameter.name for parameter in parameters]
        for name in given:
            if name not in names:
                known = ", ".join(names) if names else "none"
                raise LocalError(f"{owner} has no setting {name!r}; it has: {known}")
        self._values: Final = {
            parameter.name: converted(parameter, given.get(parameter.name, parameter.default))
            for parameter in parameters
        }

    def whole(self, name: str) -> int:
        """The value of a parameter that is a whole number."""
        value = self._values[name]
        assert isinstance(value, int), "its default is a whole number"
        return value

    def number(self, name: str) -> float:
        """The value of a parameter that is a number."""
        value = self._values[name]
        assert isinstance(value, float), "its default is a number"
        return value

    def text(self, name: str) -> str:
        """The value of a parameter that is a text."""
        value = self._values[name]
        assert isinstance(value, str), "its default is a text"
        return value


def converted(parameter: Parameter, value: Setting) -> Setting:
    """The value in the type of the parameter's default."""
    default = parameter.default
    if isinstance(default, str):
        return str(value)
    try:
        if isinstance(default, int):
            return value if isinstance(value, int) else parse_count(str(value))
        if isinstance(value, str):
            return parse_share(value) if value.endswith("%") else parse_number(value)
    except LocalError as error:
        raise LocalError(f"{parameter.name}: {error}") from None
    return float(value)
