"""For whom a peer waits, on the wire: advice that decides nothing.

Who cannot give a permit that was asked for says for whom it waits itself: the frame has the name of
that one, and for how many milliseconds nothing was heard of it.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr, u8

from antecede.core.errors import RemoteError
from antecede.wire.frames import WAITING
from antecede.wire.handshake import NAME_LIMIT, read_text, write_text
from antecede.wire.varint import WireReader, write_varint

SILENT_MS_MAX: Final = 1 << 40
"""Nobody was ever silent for longer: 34 years."""

NS_PER_MS: Final = 1_000_000


@final
@mypyc_attr(acyclic=True)
class Advice:
    """For whom somebody waits."""

    __slots__ = ("name", "silent_ns")

    def __init__(self, name: str, silent_ns: i64) -> None:
        self.name: Final = name
        # For how long nothing had been heard of it when this was said.
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
