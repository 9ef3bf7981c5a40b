"""What a chat writes to a terminal: what others say is text, and nothing else."""

from io import StringIO

import pytest

from antecede_cli.console import Console
from antecede_cli.messaging.chat import Terminal
from antecede_cli.messaging.chat_session import Line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold]no markup[/]", "[bold]no markup[/]"),
        ("a :smile: and a backslash\\", "a :smile: and a backslash\\"),
        ("\x1b]0;title\x07 \x1b[2J", "\ufffd]0;title\ufffd \ufffd[2J"),
        ("one\nbob: forged", "one\ufffdbob: forged"),
    ],
)
def test_what_others_say_has_no_power_over_the_terminal(text: str, shown: str) -> None:
    written = StringIO()
    screen = Terminal(Console(file=written, width=80))
    screen.line(Line(sender="alice", sequence=1, text=text))
    assert written.getvalue() == f"alice: {shown}\n"


def test_notes_may_have_several_lines() -> None:
    written = StringIO()
    Terminal(Console(file=written, width=80)).note("bob refuses:\n\x1b[31m[red]no[/]")
    assert written.getvalue() == "bob refuses:\n\ufffd[31m[red]no[/]\n"
