"""Large states of rooms on a connection of their own, so that no message waits for them.

The member that gives its state listens at a port of its choice while it does. Whoever joins has
been told the port and a secret by a message; it shows the first half of the secret, and where nodes
have keys the other half is the key of what follows: chunks behind their lengths, and at the end the
hash of the whole.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from antecede.core.errors import RemoteError
from antecede.runtime.security.noise import cipher_key

CHUNK_BYTES: Final = 256 << 10
"""A chunk has 256 KiB."""

LENGTH_BYTES: Final = 4
TOKEN_BYTES: Final = 32
KEY_BYTES: Final = 32
SECRET_BYTES: Final = TOKEN_BYTES + KEY_BYTES
DIGEST_BYTES: Final = 32

TAG_BYTES_MAX: Final = 64
"""A seal adds no more than this to a chunk."""

OPENING_SECONDS: Final = 3.0
"""Whoever cannot connect, or show its secret, within 3 s gets the state in messages."""


class StateStream:
    """The state that one member gives to one who joins."""

    def __init__(self, data: bytes, *, sealed: bool, ended: Callable[[], None]) -> None:
        self._data: Final = data
        self.secret: Final = secrets.token_bytes(SECRET_BYTES)
        self._key: Final = cipher_key("AESGCM", self.secret[TOKEN_BYTES:]) if sealed else None
        # To be called when all has been sent.
        self._ended: Final = ended
        self._server: asyncio.Server | None = None

    async def listen(self, host: str) -> int:
        """The port where it may be fetched."""
        self._server = await asyncio.start_server(self._on_connection, host, 0, backlog=4)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        """Nobody may connect any more."""
        if self._server is not None:
            self._server.close()

    async def _on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                token = await reader.readexactly(TOKEN_BYTES)
            if compare_digest(token, self.secret[:TOKEN_BYTES]):
                self.close()
                await self._send(writer)
                self._ended()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return  # Whoever joins asks for it in messages, or another member.
        finally:
            with suppress(OSError):
                writer.close()
                await writer.wait_closed()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        digest = blake2b(digest_size=DIGEST_BYTES)
        for number, offset in enumerate(range(0, len(self._data), CHUNK_BYTES)):
            chunk = self._data[offset : offset + CHUNK_BYTES]
            digest.update(chunk)
            self._put(writer, number, chunk)
            await writer.drain()
            await asyncio.sleep(0)  # Messages come first, however fast the connection is.
        self._put(writer, len(self._data) // CHUNK_BYTES + 1, digest.digest())
        await writer.drain()

    def _put(self, writer: asyncio.StreamWriter, number: int, chunk: bytes) -> None:
        body = chunk if self._key is None else self._key.seal(number, b"", chunk)
        writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)


async def fetch_stream(
    host: str,
    port: int,
    secret: bytes,
    length: int,
    progress: Callable[[int], None],
    *,
    sealed: bool,
) -> bytes:
    """The state that a member gives there; `OSError`, `EOFError` or `RemoteError` if that fails."""
    key = cipher_key("AESGCM", secret[TOKEN_BYTES:]) if sealed else None
    async with asyncio.timeout(OPENING_SECONDS):
        reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(secret[:TOKEN_BYTES])

        async def chunk(number: int) -> bytes:
            size = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
            if size > CHUNK_BYTES + TAG_BYTES_MAX:
                raise RemoteError(f"a chunk of {size} bytes in the state of a room")
            body = await reader.readexactly(size)
            return body if key is None else key.open(number, b"", body)

        digest = blake2b(digest_size=DIGEST_BYTES)
        chunks: list[bytes] = []
        received = 0
        while received < length:
            chunks.append(await chunk(len(chunks)))
            digest.update(chunks[-1])
            received += len(chunks[-1])
            progress(received)
        if received != length or await chunk(length // CHUNK_BYTES + 1) != digest.digest():
            raise RemoteError("the state of a room came damaged")
        return b"".join(chunks)
    finally:
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()
