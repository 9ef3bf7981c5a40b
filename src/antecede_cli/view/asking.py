"""One question over HTTP, with limits: the other side may be slow, wrong or hostile."""

import asyncio
from typing import Final

from antecede.core.errors import LocalError, RemoteError
from antecede.runtime.config.addresses import Address, parse_text

ANSWER_SECONDS: Final = 2.0
"""A node that has not answered within 2 s does not answer."""

ANSWER_BYTES_MAX: Final = 8 << 20
"""Of an answer at most 8 MiB are read: a node with 5,000 peers answers with 3 MiB."""

NO_SUCH_PAGE: Final = 404


class NoAnswer(RemoteError):  # noqa: N818 - reads as what it is
    """Nobody has answered, or not what was asked for; the text says why."""


async def get(place: Address, path: str) -> bytes:
    """The body of what is answered there; `NoAnswer` says why there is none."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await get_somehow(place, path)
    except TimeoutError:
        raise NoAnswer(f"no answer within {ANSWER_SECONDS:g} s") from None
    except ConnectionRefusedError:
        raise NoAnswer("nobody listens there") from None
    except (OSError, UnicodeError) as error:
        raise NoAnswer(getattr(error, "strerror", None) or str(error)) from None


async def get_somehow(place: Address, path: str) -> bytes:
    """The same, without a limit in time."""
    reader, writer = await asyncio.open_connection(*place)
    try:
        head = f"GET {path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = await read_all(reader)
    finally:
        writer.transport.abort()
    top, blank, body = answer.partition(b"\r\n\r\n")
    status = top.split(b"\r\n", 1)[0].split(b" ")
    if not blank or len(status) < 2 or not status[1].isdigit():
        raise NoAnswer("what listens there speaks no HTTP")
    if int(status[1]) == NO_SUCH_PAGE:
        raise NoAnswer("it has no /state: its version is older than 0.3")
    if int(status[1]) != 200:
        raise NoAnswer(f"it answered with status {int(status[1])}")
    return body


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """Everything until the other side ends; `NoAnswer` if that is too much."""
    found = bytearray()
    while piece := await reader.read(1 << 16):
        found += piece
        if len(found) > ANSWER_BYTES_MAX:
            raise NoAnswer(f"its answer is larger than {ANSWER_BYTES_MAX >> 20} MiB")
    return bytes(found)


def place_in(text: str) -> Address | None:
    """The address that a peer was told; None if it is none."""
    try:
        found = parse_text(text)
    except LocalError:
        return None
    return found if found.port else None
