"""Which peer a peer waits for, on the wire: an advisory frame, on which no decision depends.

A node that cannot give a permit that was asked for names the peer that it waits for itself, and
says for how many milliseconds it has heard nothing from it.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import RemoteError
from antecede.wire.frames import WAITING
from antecede.wire.handshake import NAME_LIMIT, read_text, write_text
from antecede.wire.varint import WireReader, write_varint

SILENT_MS_MAX: Final = 1 << 40
"""2**40 milliseconds, which is 34 years: longer silences are written as this one."""

NS_PER_MS: Final = 1_000_000


@final
@mypyc_attr(acyclic=True)
class Advice:
    """Which peer a peer waits for."""

    __slots__ = ("name", "silent_ns")

    def __init__(self, name: str, silent_ns: i64) -> None:
        self.name: Final = name
        # For how long the sender of the frame had heard nothing from that peer.
        self.silent_ns: Final[i64] = silent_ns


def write_waiting(writer: BytesWriter, advice: Advice) -> None:
    """Append a frame with this; its name has at most `NAME_LIMIT` bytes."""
    silent_ms = advice.silent_ns // NS_PER_MS
    writer.append(u8(WAITING))
    write_text(writer, advice.name)
    write_varint(writer, silent_ms if silent_ms < SILENT_MS_MAX else SILENT_MS_MAX)


def read_waiting(reader: WireReader) -> Advice:
    """What `write_waiting` wrote after the kind."""
    name = read_text(reader, NAME_LIMIT)
    if not name:
        raise RemoteError("advice to wait for nobody")
    if not name.isprintable():
        raise RemoteError("a name that no terminal should show")
    silent_ms = reader.varint()
    if silent_ms > SILENT_MS_MAX:
        raise RemoteError(f"a silence of {silent_ms} milliseconds")
    return Advice(name, silent_ms * NS_PER_MS)
