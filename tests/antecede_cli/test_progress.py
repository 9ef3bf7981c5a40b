"""What a bar shows: whatever a command says, also where it looks like markup."""

from io import StringIO

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from antecede_cli.spark import SparkProgress


@pytest.mark.parametrize("name", ["[bold]traces", "a[/b]", "plain"])
def test_what_looks_like_markup_is_shown_as_it_stands(name: str) -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=True, width=100)
    with Progress(TextColumn("{task.description}"), console=console) as bar:
        progress = SparkProgress(bar, bar.add_task("", total=None))
        progress.tell(f"profiling {name}")
        bar.refresh()

    assert f"profiling {name}" in shown.getvalue()
