"""`antecede completion`: what a shell needs in order to complete this command."""

from typing import Final

import click
from click.shell_completion import get_completion_class

SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_ANTECEDE_COMPLETE"
"""How a shell asks; click knows it by the name of the program."""

EPILOG: Final = """
\b
Examples:
  eval "$(antecede completion bash)"                       in this shell only
  antecede completion bash > ~/.antecede.bash              for good, with the next line
  echo '. ~/.antecede.bash' >> ~/.bashrc
  antecede completion zsh > "${fpath[1]}/_antecede"        in zsh, for good
  antecede completion fish > ~/.config/fish/completions/antecede.fish
"""


@click.command(epilog=EPILOG, short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete subcommands, options and their values."""
    completion = get_completion_class(shell)
    assert completion is not None, "click knows all three"
    click.echo(completion(context.find_root().command, {}, "antecede", VARIABLE).source())
