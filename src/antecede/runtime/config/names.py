"""What a node may be called, and what it is called in the event log.

Nodes are named by people; the event log numbers processes with 31 bits. The number of a node is a
hash of its name, so that every node can number all others without asking anybody. A node that was
restarted is another process to the log (its positions start again at 0), and so has a number of its
own: the hash of `name#2`, `name#3`, ….
"""

from hashlib import blake2b
from typing import Final

from antecede.core.errors import LocalError

NAME_BYTES_MAX: Final = 64
RESERVED: Final = ",=#"
"""Lists of peers are written with the first two, generations with the third."""

PROCESS_BITS: Final = 31


def checked_name(value: object) -> str:
    """`value` if it can be the name of a node."""
    if not isinstance(value, str):
        raise LocalError(f"{value!r} is not a name")
    if not value:
        raise LocalError("a name must not be empty")
    if not value.isprintable() or any(letter in RESERVED or letter.isspace() for letter in value):
        raise LocalError(f"{value!r} has spaces, control characters or one of {RESERVED}")
    if len(value.encode()) > NAME_BYTES_MAX:
        raise LocalError(f"{value!r} is longer than {NAME_BYTES_MAX} bytes")
    return value


def process_name(name: str, generation: int = 1) -> str:
    """What one life of a node is called in the table of processes: `alice`, `alice#2`, …."""
    if generation < 1:
        raise LocalError(f"generations count from 1, not {generation}")
    return name if generation == 1 else f"{name}#{generation}"


def process_id(name: str, generation: int = 1) -> int:
    """The number of one life of a node in the event log, the same on every machine."""
    digest = blake2b(process_name(name, generation).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & ((1 << PROCESS_BITS) - 1)
