"""The server of the dashboard: one page, and what it asks for once a second.

On loopback everybody of this machine may look; a browser that was sent here by another site's name
may not. Beyond loopback a token is needed, which no address that is asked contains.
"""

import asyncio
import hmac
import json
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from antecede.runtime.config.addresses import Address, is_loopback
from antecede.runtime.observe.http_listener import (
    JSON_TYPE,
    HttpServer,
    Request,
    Response,
)
from antecede_cli.view.cluster import Object, cluster_object, node_object, room_object
from antecede_cli.view.collector import Collector
from antecede_cli.view.page import Page

PORT: Final = 8470
"""Where the dashboard is served, if nobody says otherwise."""

HTML_TYPE: Final = "text/html; charset=utf-8"

HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

TOKEN_BYTES: Final = 24
LOCAL_NAMES: Final = ("localhost",)


class Views(Protocol):
    """Where the dashboard gets what it shows."""

    def whole(self, at: str) -> Object:
        """All nodes; `at` is when, of a run that is replayed."""

    def node(self, name: str, at: str) -> Object | None:
        """One node; None if nobody knows it."""

    def room(self, name: str, at: str) -> Object | None:
        """One room; None if nobody knows it."""


class LiveViews(Views):
    """What a collector knows now."""

    def __init__(self, collector: Collector) -> None:
        self._collector: Final = collector

    def whole(self, at: str) -> Object:
        del at
        return cluster_object(self._collector, time.time())

    def node(self, name: str, at: str) -> Object | None:
        del at
        return node_object(self._collector, name, time.time())

    def room(self, name: str, at: str) -> Object | None:
        del at
        return room_object(self._collector, name, time.time())


class Dashboard:
    """Answers the browsers that look."""

    def __init__(self, views: Views, page: Page, token: str) -> None:
        self._views: Final = views
        self._page: Final = page
        self._token: Final = token
        """What a browser has to show; empty: it has to be of this machine."""

    async def answer(self, request: Request) -> Response:
        """The response to a request."""
        if not self._token and not names_this_machine(request.headers.get("host", "")):
            return refusal("421 Misdirected Request", "ask for localhost")
        if request.path == "/":
            headers = {**HEADERS, "Content-Security-Policy": self._page.policy}
            return Response(self._page.body, HTML_TYPE, headers=headers)
        if request.path != "/cluster.json":
            return refusal("404 Not Found", "there are / and /cluster.json")
        if not self._may_look(request.headers):
            return refusal("401 Unauthorized", "a token is needed")
        return Response(json.dumps(self._found(request.query)).encode(), JSON_TYPE, headers=HEADERS)

    def _may_look(self, headers: Mapping[str, str]) -> bool:
        shown = headers.get("authorization", "").removeprefix("Bearer ").strip()
        return not self._token or hmac.compare_digest(shown.encode(), self._token.encode())

    def _found(self, query: Mapping[str, str]) -> Object:
        at = query.get("at", "")
        found: Object = {"whole": self._views.whole(at)}
        if "node" in query:
            found["detail"] = self._views.node(query["node"], at)
        elif "room" in query:
            found["detail"] = self._views.room(query["room"], at)
        return found


def refusal(status: str, why: str) -> Response:
    """An answer that gives nothing."""
    return Response(f"{why}\n".encode(), status=status, headers=HEADERS)


def names_this_machine(host: str) -> bool:
    """Whether a browser that asks for this host means this machine: no name of another site can
    have been given our address."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]").lower()
    return name in LOCAL_NAMES or is_loopback(name)


def token_for(bind: Address, given: str) -> str:
    """The token that is needed there: the one that is given, or a new one beyond loopback."""
    if given or is_loopback(bind.host):
        return given
    return secrets.token_urlsafe(TOKEN_BYTES)


def serve_dashboard(
    dashboard: Dashboard,
    bind: Address,
    collector: Collector | None,
    on_open: Callable[[Address], object],
) -> None:
    """Serve until a signal comes; `on_open` is told where."""
    asyncio.run(keep_serving(dashboard, bind, collector, on_open))


async def keep_serving(
    dashboard: Dashboard,
    bind: Address,
    collector: Collector | None,
    on_open: Callable[[Address], object],
) -> None:
    """The same, in a loop that runs."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with HttpServer(dashboard.answer) as server:
        await server.start(*bind)
        on_open(server.address)
        waits: list[asyncio.Task[object]] = [loop.create_task(ended.wait())]
        if collector is not None:
            waits.append(loop.create_task(collector.run()))
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        for task in done:
            task.result()
