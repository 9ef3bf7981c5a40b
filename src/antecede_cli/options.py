"""Options of commands: those with a default, and those written as people write: `1.5ms`, `5%`."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from antecede.core.errors import LocalError
from antecede.units import parse_count, parse_duration, parse_number, parse_share

Command = TypeVar("Command", bound=Callable[..., Any])

if TYPE_CHECKING:
    ParamType = click.ParamType[object]
else:
    ParamType = click.ParamType  # It became generic in click 8.4 only.


def option_with_default(*names: str, **how: Any) -> Callable[[Command], Command]:  # noqa: ANN401 as click has it
    """An option, as `click.option` makes it, whose default the help shows."""
    return click.option(*names, show_default=True, **how)


class RenamedOptions(click.Command):
    """A command whose options had other names: those work for one release, and are not shown."""

    def __init__(self, *args: Any, former: Mapping[str, str], **settings: Any) -> None:  # noqa: ANN401 - as click has it
        super().__init__(*args, **settings)
        self._former: Final = former

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args.index("--") if "--" in args else len(args)
        now = [self._renamed(ctx, word) for word in args[:words]]
        return super().parse_args(ctx, now + args[words:])

    def _renamed(self, ctx: click.Context, word: str) -> str:
        name, equals, value = word.partition("=")
        if name not in self._former:
            return word
        if not ctx.resilient_parsing:
            click.echo(f"`{name}` is now `{self._former[name]}`.", err=True)
        return f"{self._former[name]}{equals}{value}"


def is_given(context: click.Context, name: str) -> bool:
    """Whether the command line has this parameter; its default may come from elsewhere."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def allow_only(context: click.Context, mode: str, names: Collection[str]) -> None:
    """`UsageError` if a parameter was given that has no meaning with the option `mode`."""
    for parameter in context.command.params:
        if parameter.name not in names and is_given(context, parameter.name or ""):
            raise click.UsageError(f"{parameter.opts[0]} has no meaning with {mode}", context)


class HumanNumber(ParamType):
    """An option whose text a function understands, or explains why it does not."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """What the text means; a default that is no text means itself."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except LocalError as error:
            self.fail(str(error), param, ctx)


def parse_setting(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise LocalError(f"{text!r} is not a setting; write KEY=VALUE")
    return key.strip().replace("-", "_"), value.strip()


def parse_names(text: str) -> list[str]:
    """What stands between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


DURATION: Final = HumanNumber("duration", parse_duration)
SHARE: Final = HumanNumber("share", parse_share)
COUNT: Final = HumanNumber("count", parse_count)
NUMBER: Final = HumanNumber("number", parse_number)
SETTING: Final = HumanNumber("key=value", parse_setting)
