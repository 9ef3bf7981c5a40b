"""`antecede key`: make a key, and show the public half of one."""

from pathlib import Path

import click

from antecede.runtime.security.keys import new_secret, read_secret_file, write_key_file

EXAMPLES = """\b
Examples:
  antecede key new alice.key             writes alice.key (mode 0600), prints the public key
  antecede key public alice.key          prints the public key again
  antecede key new team.key              or one key for a whole cluster, see below
\b
Then:
  antecede node --name alice --bind 10.0.0.1:9000 --key alice.key \\
      --peer bob=10.0.0.2:9000 --peer-key bob=ante_pub_…
  antecede node --name alice --bind 10.0.0.1:9000 --cluster-key team.key --peer bob=10.0.0.2:9000
"""

KEY_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("key", epilog=EXAMPLES, short_help="Make the keys of nodes.")
def command() -> None:
    """Make the key of a node, and show its public half.

    The secret key stays in a file that only its owner can read. The public key is given to the
    peers, which then accept nobody else under the name of this node.
    """


@command.command(
    "new",
    short_help="Write a new secret key; print its public key.",
    epilog="\b\nExamples:\n  antecede key new alice.key",
)
@click.argument("file", type=KEY_FILE)
def new(file: Path) -> None:
    """Write a new secret key to FILE and print its public key.

    FILE gets mode 0600 and must not exist yet. The public key is the only line on standard output.
    """
    secret = new_secret()
    public = secret.public  # First: without the package for it, no file is left behind.
    write_key_file(file, secret.text())
    click.echo(str(public))


@command.command(
    "public",
    short_help="Print the public key of a secret key.",
    epilog="\b\nExamples:\n  antecede key public alice.key",
)
@click.argument("file", type=KEY_FILE)
def public(file: Path) -> None:
    """Print the public key that belongs to the secret key in FILE."""
    click.echo(str(read_secret_file(file).public))
