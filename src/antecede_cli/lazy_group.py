"""Groups of commands whose modules are imported when a command is used, not when it is listed."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast

import click
from click.shell_completion import CompletionItem

from antecede.core.errors import LocalError, near_miss


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Where a command lives, and its line in the help of its group."""

    module: str
    purpose: str
    section: str = "Commands"
    """The heading of `--help` that it stands under."""
    hidden: bool = False
    """A former name: it works, and neither help nor completion shows it."""


class LazyGroup(click.Group):
    """Commands from a table; the help and the completion of a shell import none of them."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - as click has it
        table: Mapping[str, Subcommand],
        renamed: Mapping[str, tuple[str, ...]] | None = None,
        gone: Mapping[str, str] | None = None,
        **settings: Any,  # noqa: ANN401 - as click has it
    ) -> None:
        super().__init__(*args, **settings)
        self._table: Final = table
        self._renamed: Final = renamed or {}
        """The words that stand for a former name; it works, and is listed nowhere."""
        self._gone: Final = gone or {}
        """What to say of a command that there is no more."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 click passes it
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 click passes it
        if cmd_name not in self._table:
            return None
        return cast(click.Command, import_module(self._table[cmd_name].module).command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 click passes it
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self._table.items():
            if not entry.hidden:
                sections.setdefault(entry.section, []).append((name, entry.purpose))
        width = max(map(len, self._table))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), purpose) for name, purpose in rows])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            name
            for name, entry in self._table.items()
            if name.startswith(incomplete) and not entry.hidden
        ]
        items = [CompletionItem(name, help=self._table[name].purpose) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self._gone:
            raise LocalError(self._gone[args[0]])
        if args[0] in self._renamed:
            words = self._renamed[args[0]]
            if not ctx.resilient_parsing:  # a shell that completes wants no remarks
                told = " ".join((ctx.command_path, *words))
                click.echo(f"`{ctx.command_path} {args[0]}` is now `{told}`.", err=True)
            args = [*words, *args[1:]]
            if args[0].startswith("-"):
                self.parse_args(ctx, args)  # an option that does its work, and ends
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = near_miss(args[0], list(self._table))
            raise click.UsageError(f"{error.message.rstrip('.')}{meant}.", ctx) from None
