"""gRPC with asyncio: one unary method that takes and returns bytes, without generated code."""

import asyncio
from typing import Any, Final

from bench.live.peer import ContestRun, ReceiveTally, package
from bench.live.service import TIMEOUT_S, RequestLoad, Service

SERVICE: Final = "bench.Service"
METHOD: Final = "Ask"

PENDING: Final = (
    ("grpc.server.max_pending_requests", 1 << 16),
    ("grpc.server.max_pending_requests_hard_limit", 1 << 16),
)
"""By default a server cancels what comes while 1,000 requests wait for it."""


class Grpc(Service):
    """`grpc.aio`, a server with a coroutine function, and one channel in plaintext."""

    name = "gRPC aio"
    package = "grpc"

    async def serve(self, stage: ContestRun, tally: ReceiveTally) -> None:
        grpc = package("grpc")
        done = asyncio.Event()
        count = 0

        async def answer(payload: bytes, _: Any) -> bytes:  # noqa: ANN401 of a package that may not be installed
            nonlocal count
            count += 1
            if payload[0] and tally.mark(payload[0], count):
                done.set()
            return payload

        server = grpc.aio.server(options=PENDING)
        method = grpc.unary_unary_rpc_method_handler(answer)
        handler = grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        stage.announce(f"127.0.0.1:{port}")
        await done.wait()
        await stage.released()
        await server.stop(None)

    async def ask(self, stage: ContestRun, load: RequestLoad) -> None:
        async with package("grpc.aio").insecure_channel(stage.address) as channel:
            method = channel.unary_unary(f"/{SERVICE}/{METHOD}")
            await load.run(lambda payload: method(payload, timeout=TIMEOUT_S))
