"""The standard library's asyncio streams, over TCP or TLS, each message after its length."""

import asyncio
import base64
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.live.peer import (
    END,
    Contestant,
    ContestRun,
    Played,
    ReceiveTally,
    Stopwatch,
    Volley,
)

HOST: Final = "127.0.0.1"


def server_context() -> tuple[ssl.SSLContext, str]:
    """For the one who listens, with a new certificate; the certificate in one line."""
    certificate, key = made_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        both = Path(folder) / "both.pem"
        both.write_bytes(certificate + key)
        context.load_cert_chain(both)
    return context, base64.b64encode(certificate).decode()


def client_context(known: str) -> ssl.SSLContext:
    """For the one who connects: it believes this certificate and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=base64.b64decode(known).decode())
    return context


def made_certificate() -> tuple[bytes, bytes]:
    """A certificate for the loopback address that is valid for a day, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    kept = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), kept


LENGTH_BYTES: Final = 4


class TcpStreams(Contestant):
    """Length, payload; `per_write` messages are put together for one write."""

    package = "asyncio"

    def __init__(self, per_write: int = 1) -> None:
        self._per_write = per_write
        self.name = "asyncio TCP" if per_write == 1 else f"asyncio TCP, {per_write} per write"

    def protect(self) -> tuple[ssl.SSLContext | None, str]:
        """What the one who listens encrypts with, and what others have to know to believe it."""
        return None, ""

    def trust(self, known: str) -> ssl.SSLContext | None:
        """What the other one encrypts with."""
        return client_context(known) if known else None

    def sink(self, stage: ContestRun, tally: ReceiveTally) -> Played:
        return self._listen(stage, tally)

    async def _listen(self, stage: ContestRun, tally: ReceiveTally | None) -> None:
        done = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if tally is None:
                await send_back(reader, writer)
            else:
                await count(reader, tally)
            writer.close()
            done.set()

        context, known = self.protect()
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        async with server:
            stage.announce(f"{server.sockets[0].getsockname()[1]} {known}")
            await done.wait()

    async def source(self, stage: ContestRun, volley: Volley) -> None:
        _, writer = await self._connected(stage)
        for data in batched(volley, self._per_write):
            writer.write(data)
            await writer.drain()
        await stage.released()
        writer.close()

    async def _connected(
        self, stage: ContestRun
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port, _, known = stage.address.partition(" ")
        return await asyncio.open_connection("127.0.0.1", int(port), ssl=self.trust(known))

    def echo(self, stage: ContestRun) -> Played:
        return self._listen(stage, None)

    async def ping(self, stage: ContestRun, stopwatch: Stopwatch) -> None:
        reader, writer = await self._connected(stage)
        for _ in stopwatch.turns():
            writer.write(framed(stopwatch.ping))
            await writer.drain()
            await received(reader)
        writer.write(framed(stopwatch.end))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


class TlsStreams(TcpStreams):
    """The same in TLS; the one who connects believes the listener's own certificate alone."""

    package = "cryptography"

    def __init__(self, per_write: int = 1) -> None:
        super().__init__(per_write)
        self.name = self.name.replace("TCP", "TLS")

    def protect(self) -> tuple[ssl.SSLContext | None, str]:
        return server_context()


def framed(payload: bytes) -> bytes:
    """A payload as it travels."""
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload


def batched(volley: Volley, per_write: int) -> Iterator[bytes]:
    """The framed payloads of a volley, so many at a time."""
    if per_write == 1:
        yield from map(framed, volley)
        return
    payloads = iter(volley)
    while batch := b"".join(map(framed, islice(payloads, per_write))):
        yield batch


async def received(reader: asyncio.StreamReader) -> bytes:
    """The next payload."""
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "little")
    return await reader.readexactly(length)


async def count(reader: asyncio.StreamReader, tally: ReceiveTally) -> None:
    """Count a volley."""
    number = 0
    while True:
        length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "little")
        payload = await reader.readexactly(length)
        number += 1
        if payload[0] and tally.mark(payload[0], number):
            return


async def send_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every message with itself, up to the end."""
    while (payload := await received(reader))[0] != END:
        writer.write(framed(payload))
        await writer.drain()
