"""Opening a node: settings gathered, carrier bound, journal read, core made, event log begun."""

import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, Unpack

from antecede.build_mode import warn_if_fallen_back
from antecede.core.catalogue import NOT_FOR_NODES, find_protocol
from antecede.core.process import NodeProcess
from antecede.durability.disk import Disk, SyncedDisk
from antecede.durability.journal import Journal
from antecede.durability.recorder import JournalRecorder, Recorder
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.limits import Limits
from antecede.membership.identity import Identity, TokenSource
from antecede.runtime.callbacks import check_callable
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.config.addresses import CarriedAddress
from antecede.runtime.config.names import process_id
from antecede.runtime.config.options import Options
from antecede.runtime.config.rules import ANYBODY
from antecede.runtime.config.settings import (
    FORMER_ORDER,
    AddressLike,
    PathLike,
    PeersLike,
    Settings,
    gather_settings,
)
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.journal_committer import OpenJournal
from antecede.runtime.key_settings import make_handshake_crypto, stays_local, warn_if_insecure
from antecede.runtime.listeners import Listener
from antecede.runtime.node import Node
from antecede.runtime.observe.event_recorder import EventRecorder, open_trace
from antecede.runtime.observe.http_listener import HttpServer
from antecede.transport.flow_control import MESSAGE_COST
from antecede.transport.session import ME

NUMBERS: Final = range(1 << 31)
"""What peers may be called inside a node's core: sessions are numbered as they come."""

CORE_PAYLOAD_LIMIT: Final = 1 << 16
"""No message in the core is larger than a datagram."""

CARRIER_MODULES: Final = {
    "udp": "antecede.runtime.carriers.udp",
    "tcp": "antecede.runtime.carriers.tcp",
    "nats": "antecede.integrations.nats",
}
"""The module of each carrier, whose `open_carrier` opens it. The scheme of the address that a node
is bound to chooses; only that module is imported."""

OpenCarrier: TypeAlias = Callable[[Settings, bool], Awaitable[Carrier]]

Config = Settings | str | os.PathLike[str] | None


AHEAD_MOST_US: Final = 100 * 365 * 86_400 * 1_000_000
"""No clock was ever further ahead: a peer that says so is not believed. The limit moves on with the
clock, so there is always a number above what it had let pass."""


class SecretTokens(TokenSource):
    """Tokens that nobody can guess."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock: Final = clock

    def fresh(self) -> int:
        return secrets.randbits(61) + 1

    def incarnation(self) -> int:
        # By the clock: so a node without a journal goes on counting. It is no secret.
        return self._clock() // 1_000

    def above(self, lowest: int) -> int:
        return 0 if lowest > self.incarnation() + AHEAD_MOST_US else super().above(lowest)


class NodeOpening:
    """A node about to be opened: `async with` it, or `await` it and close the node yourself."""

    def __init__(self, settings: Settings, on_event: Listener | None) -> None:
        if on_event is not None:
            check_callable(on_event, "an event listener")
        self._settings = settings
        self._on_event = on_event
        self._node: Node | None = None

    def __await__(self) -> Generator[None, None, Node]:
        return self._open().__await__()

    async def __aenter__(self) -> Node:
        self._node = await self._open()
        return self._node

    def __enter__(self) -> NoReturn:
        raise TypeError(
            "a node is opened with `async with open_node(...) as node:` in a coroutine; code "
            "without asyncio uses `with antecede.blocking.open_node(...) as node:`"
        )

    def __exit__(self, *_: object) -> None:
        """Never called."""

    if (
        not TYPE_CHECKING
    ):  # A type checker finds a forgotten await by what this class does not have.

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"this node is not open yet and has no {name!r}: write "
                "`async with open_node(...) as node:`, or `node = await open_node(...)`",
                name=name,
                obj=self,
            )

    async def __aexit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if self._node is not None:
            await self._node.__aexit__(error, *rest)

    async def _open(self) -> Node:
        warn_if_fallen_back()
        settings = self._settings
        carrier = await open_carrier(settings)
        warn_if_insecure(settings, carrier.address.host)
        http: HttpServer | None = None
        try:
            http = await listen_http(settings)
            return start_node(settings, carrier, SecretTokens(), self._on_event, http=http)
        except BaseException:
            if http is not None:
                await http.close()
            carrier.close()
            await carrier.wait_closed()
            raise


def open_node(
    name: str | None = None,
    *,
    bind: AddressLike | None = None,
    peers: PeersLike | None = None,
    trace: PathLike | None = None,
    on_event: Listener | None = None,
    config: Config = None,
    settings: Mapping[str, object] | None = None,
    **options: Unpack[Options],
) -> NodeOpening:
    """Open a node called `name` that listens at `bind` and knows `peers` by name and address.

    All other settings are the fields of `Settings`, as keywords or in the mapping `settings`.
    Settings that are not given come from the environment (`ANTECEDE_HEARTBEAT=2s`), from the TOML
    file `config`, or have their defaults. `BadConfiguration` says what is wrong. Use the result
    with `async with`, or `await` it and close the node yourself.
    """
    keywords = given_settings(name, bind, peers, trace, {**(settings or {}), **options})
    return NodeOpening(gather_settings(keywords, config=config), on_event)


def given_settings(
    name: str | None, bind: object, peers: object, trace: object, further: Mapping[str, object]
) -> dict[str, object]:
    """What a call says: `further` settings, and those that have parameters of their own."""
    named = {"name": name, "bind": bind, "peers": peers, "trace": trace}
    return {**further, **{key: value for key, value in named.items() if value is not None}}


async def open_carrier(settings: Settings) -> Carrier:
    """The carrier of the address that these settings bind the node to, in the running loop."""
    bind = settings.bind
    scheme = bind.carrier if isinstance(bind, CarriedAddress) else "udp"
    opener: OpenCarrier = import_module(CARRIER_MODULES[scheme]).open_carrier
    return await opener(settings, stays_local(settings))


async def listen_http(settings: Settings) -> HttpServer | None:
    """The server that the settings ask for; it answers as soon as it has a node."""
    if settings.http is None:
        return None
    server = HttpServer()
    await server.start(*settings.http)
    return server


def start_node(
    settings: Settings,
    carrier: Carrier,
    tokens: TokenSource,
    on_event: Listener | None,
    disk: Disk | None = None,
    clock: Callable[[], int] = time.time_ns,
    http: HttpServer | None = None,
) -> Node:
    """A node on any carrier, in the running loop; with a disk that is lent, without threads."""
    opened = open_journal(settings, tokens, disk)
    try:
        return start_with_journal(settings, carrier, tokens, on_event, opened, clock, http)
    except BaseException:
        if opened is not None:
            opened.close()
        raise


def start_with_journal(
    settings: Settings,
    carrier: Carrier,
    tokens: TokenSource,
    on_event: Listener | None,
    opened: OpenJournal | None,
    clock: Callable[[], int],
    http: HttpServer | None,
) -> Node:
    """A node with its journal, if it has one, open."""
    crypto = make_handshake_crypto(settings, clock)
    trace = begin_trace(settings)
    process = process_id(settings.name) if trace is None else trace.process
    rows = None if trace is None else trace.rows
    me = Identity(
        settings.name,
        incarnation=tokens.incarnation()
        if opened is None
        else int(opened.recorder.state.incarnation),
        process=process,
        window=settings.receive_window,
        payload_limit=settings.payload_limit,
        socket_bytes=carrier.socket_bytes,
        order=settings.protocol,
        has_journal=opened is not None,
        http="" if http is None else str(http.address),
    )
    cumulative = settings.order != "none"
    core = make_core(settings)
    limits = limits_of(settings)
    recorder = Recorder() if opened is None else opened.recorder
    endpoint = Endpoint(me, core, tokens, limits, rows, cumulative, crypto, recorder)
    try:
        node = Node(settings, endpoint, carrier, trace, crypto, opened, http)
    except BaseException:
        if trace is not None:
            trace.close()
        raise
    if on_event is not None:
        node.on_event(on_event)
    return node


def make_core(settings: Settings) -> NodeProcess:
    """The protocol that the settings ask for, with the limits they name."""
    info = find_protocol(settings.protocol)
    core = info.create(
        ME,
        NUMBERS,
        send_limit=max(settings.send_limit, 2) * 2,
        receive_limit=max(1, settings.receive_window // MESSAGE_COST),
        payload_limit=CORE_PAYLOAD_LIMIT,
        patience_ns=settings.patience_ns,
    )
    assert isinstance(core, NodeProcess), f"{settings.order} is not for nodes"
    return core


def limits_of(settings: Settings) -> Limits:
    """The limits that the settings name, as the endpoint counts."""
    return Limits(
        send_limit=settings.send_limit,
        send_bytes=settings.send_bytes,
        window=settings.receive_window,
        heartbeat_ns=settings.heartbeat_ns,
        silent_ns=settings.silent_after_ns,
        meet_within_ns=settings.meet_within_ns,
        open_to_strangers=settings.accept_unknown == ANYBODY,
    )


def begin_trace(settings: Settings) -> EventRecorder | None:
    """The event log, if one is wanted."""
    if settings.trace is None:
        return None
    return open_trace(
        settings.trace,
        name=settings.name,
        run_id=settings.trace_run,
        file_format=settings.trace_format,
        rotate_seconds=settings.trace_rotate,
    )


JOURNALED_ORDERS: Final = ("causal", "hybrid-sps", "hybrid-csps")
"""The orders whose state a journal can hold."""

log = logging.getLogger(__name__)


def open_journal(settings: Settings, tokens: TokenSource, disk: Disk | None) -> OpenJournal | None:
    """The journal that the settings name, locked and read; None if they name none.

    `JournalInUse` if another process has it, `JournalCorrupt` if it cannot be trusted.
    """
    if settings.journal is None:
        return None
    if settings.order not in JOURNALED_ORDERS:
        raise BadConfiguration(
            f"the order {settings.order!r} keeps no journal; {', '.join(JOURNALED_ORDERS)} do: "
            "choose one of them, or leave journal out"
        )
    threaded = disk is None and settings.durable == "sync"
    if disk is None:
        disk = (SyncedDisk if threaded else Disk)(settings.journal)
    journal = Journal(disk, durable=settings.durable, limit_bytes=settings.journal_limit)
    recorder, core = read_journal(settings, tokens, journal)
    if journal.torn_bytes:
        log.warning(
            "%s: the last %d bytes of the journal are of a commit that was not finished, and are "
            "cut off. If a crash interrupted the write, nobody had been told of it. If the file "
            "was cut off later, commits may be missing: the first peer that had seen them says so, "
            "and then this node stops",
            settings.name,
            journal.torn_bytes,
        )
    return OpenJournal(journal, recorder, core, threaded=threaded)


def read_journal(
    settings: Settings, tokens: TokenSource, journal: Journal
) -> tuple[JournalRecorder, list[bytes]]:
    """Take the journal, and read it; it is closed again if it is not this node's."""
    records = journal.open()
    try:
        return read_node_state(settings, tokens, records)
    except BaseException:
        journal.close()
        raise


def read_node_state(
    settings: Settings, tokens: TokenSource, records: list[bytes] | None
) -> tuple[JournalRecorder, list[bytes]]:
    """What the journal says, and the records of the core; a new life if the last one is over."""
    order = settings.protocol
    if records is None:
        return JournalRecorder(settings.name, order, tokens.incarnation()), []
    recorder = JournalRecorder(settings.name, order, 0)
    core = recorder.replay(records)
    state = recorder.state
    if state.name != settings.name:
        raise BadConfiguration(
            f"the journal {settings.journal} is {state.name!r}'s, not {settings.name!r}'s; "
            "each node needs one of its own"
        )
    if state.order.partition(" ")[0] == FORMER_ORDER:
        # Its options follow the name.
        raise BadConfiguration(
            f"the journal {settings.journal} was written with the order {FORMER_ORDER!r}: "
            f"{NOT_FOR_NODES[FORMER_ORDER]}. Let the version that wrote it finish its work and "
            "close the node, then begin with another journal"
        )
    if state.order != order:
        raise BadConfiguration(
            f"the journal {settings.journal} was written with the order "
            f"{state.order!r}, not {order!r}; open the node with that one, or with another "
            "journal"
        )
    if state.ended:
        log.info("%s begins a new life: %s", settings.name, state.ended)
        recorder.begin_life(max(tokens.incarnation(), int(state.incarnation) + 1))
        core = []
    return recorder, core
