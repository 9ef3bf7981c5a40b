"""Everything about a node that can be set: what there is, what it means, what it may be.

`Settings` is a value that has been checked and need not be checked again. What the code says wins
over the environment (`ANTECEDE_HEARTBEAT=2s`), the environment over the `[node]` table of a TOML
file (given as `config`, or named by `ANTECEDE_CONFIG`), and that over the defaults. A key that does
not exist is an error that names the one probably meant.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, InitVar, dataclass, field, fields
from datetime import timedelta
from difflib import get_close_matches
from math import isinf
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from antecede.core.catalogue import NOT_FOR_NODES, catalogue_name
from antecede.core.errors import LocalError, near_miss
from antecede.durability.journal import Durability
from antecede.eventlog.atomic_files import os_errors_as_local
from antecede.runtime.config import rules
from antecede.runtime.config.addresses import Address
from antecede.runtime.config.expulsion_policy import POLICY, ExpulsionPolicy, usual_policy
from antecede.runtime.config.peers import Peer, PeerLike, read_peer
from antecede.runtime.config.rules import (
    NOBODY,
    NS_PER_SECOND,
    RULE,
    AcceptUnknown,
    Rule,
    Setting,
    Switch,
    setting,
)
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.security.keys import PublicKey, SecretKey

Order: TypeAlias = Literal["causal", "hybrid", "hybrid-sps", "hybrid-csps", "fifo", "none"]
"""`hybrid` is the catalogue's name of `causal`, and read as that."""
TraceFormat: TypeAlias = Literal["auto", "parquet", "jsonl", "jsonl.gz"]
Confirm: TypeAlias = Literal["next", "done"]
Away: TypeAlias = Literal["skip", "wait", "refuse"]
Auto: TypeAlias = Literal["auto"]

AddressLike: TypeAlias = str | tuple[str, int]
"""Where a node listens: `host:port` as a text, or an `Address`."""

PeersLike: TypeAlias = Mapping[str, PeerLike] | Sequence[str]
"""Names and addresses, or a list of `name=host:port`; None, or no address, lets it say hello."""

PathLike: TypeAlias = str | os.PathLike[str]
KeyLike: TypeAlias = PathLike | SecretKey

KeysLike: TypeAlias = str | PublicKey | Sequence[str | PublicKey]
"""Public keys, `ante_pub_…`: one, or several."""

PeerKeysLike: TypeAlias = Mapping[str, KeysLike] | Sequence[str]
"""The keys of peers by their names, or a list of `name=key`."""

Duration: TypeAlias = float | str | timedelta
"""Seconds, or a text such as `200ms`."""

Size: TypeAlias = int | str
"""Bytes, or a text such as `64MiB`."""

Count: TypeAlias = int | str
"""A number, or a text such as `20k`."""

DATAGRAM_BYTES_MAX: Final = 65_507
"""What fits a UDP datagram over IPv4."""

SILENT_AFTER: Final = 5.0
"""Seconds after which a peer is reported as silent, if nobody says otherwise."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one node; `BadConfiguration` says which of them makes no sense, and why.

    A `Setting[Duration, float]` may be given as any `Duration` and is read as a float. The keywords
    of `open_node` (`Options`) and the table in `docs/operations/settings.md` are made from these
    fields; tests compare them.
    """

    name: str = field(metadata={RULE: rules.NAME})
    """What the node is called; unique among all that talk with each other."""
    bind: Setting[AddressLike, Address] = setting("127.0.0.1:0", rules.ADDRESS)
    """Where it listens; port 0 takes any free port."""
    peers: Setting[PeersLike, Mapping[str, Peer]] = setting((), rules.PEERS)
    """Whom it knows from the start, and where; a peer without an address says hello first."""
    key: Setting[KeyLike | None, Path | SecretKey | None] = setting(None, rules.KEY)
    """The file with this node's secret key, made by `antecede key new`."""
    peer_keys: Setting[PeerKeysLike, Mapping[str, tuple[PublicKey, ...]]] = setting(
        (), rules.PEER_KEYS
    )
    """The public keys of peers, beside those that `peers` says; several while a peer changes its
    key."""
    cluster_key: Setting[KeyLike | None, Path | SecretKey | None] = setting(None, rules.KEY)
    """The file with one secret that all nodes share, instead of `key` and `peer_keys`."""
    insecure: Setting[bool, bool] = setting(False, rules.FLAG)
    """Whether to talk beyond this machine without any key."""
    order: Setting[Order, Order] = setting(
        "causal",
        rules.renamed({"hybrid": "causal"}, rules.without(NOT_FOR_NODES, rules.choice(Order))),
    )
    """The protocol: `causal` (also called `hybrid`), `hybrid-sps` and `hybrid-csps` keep causal
    order, `fifo` the order of each sender, `none` no order."""
    accept_unknown: Setting[AcceptUnknown | bool, AcceptUnknown] = setting(NOBODY, rules.WELCOME)
    """Who may join without having been introduced as a peer: `nobody` or `anybody`."""
    away: Setting[Away, Away] = setting("skip", rules.choice(Away))
    """What `send` does about a peer that is away (it has left, was expelled, or never came): leave
    it out and report that (`skip`), wait until it is here (`wait`), or raise (`refuse`)."""
    meet_within: Setting[Duration, float] = setting("10s", rules.duration("0", "24h"))
    """Seconds that `send` waits for a peer that was just added; after that the peer is away."""
    mtu: Setting[Size, int | Auto] = setting(
        "auto", rules.auto_or(rules.size(512, DATAGRAM_BYTES_MAX))
    )
    """Largest datagram, in bytes of UDP payload; `auto` looks at the route."""
    gso: Setting[Switch | bool, Switch] = setting("auto", rules.SWITCH)
    """Whether to hand the kernel many datagrams in one call (UDP GSO and GRO) where it can."""
    busy_poll: Setting[bool, bool] = setting(True, rules.FLAG)
    """Whether to poll the socket for 100 µs after sending, where answers have lately come within
    that time."""
    send_limit: Setting[Count, int] = setting(8192, rules.count(1, 1 << 20))
    """Unacknowledged messages, or fragments of large ones, before `send` waits. With several peers
    one of them may have at most three quarters."""
    send_bytes: Setting[Size, int] = setting("64MiB", rules.size(1 << 10, 64 << 30))
    """Unacknowledged bytes of payload before `send` waits."""
    receive_window: Setting[Size, int] = setting("4MiB", rules.size(64 << 10, 1 << 30))
    """Bytes that one peer may have sent and the application not yet read: what a slow consumer
    costs in memory, per peer."""
    payload_limit: Setting[Size, int] = setting("64MiB", rules.size(1, 1 << 30))
    """Largest payload of one message, in bytes."""
    snapshot_limit: Setting[Size, int] = setting("1GiB", rules.size(0, 1 << 40))
    """Largest state of a room that is given to a node which joins, in bytes."""
    heartbeat: Setting[Duration, float] = setting("2.5s", rules.duration("10ms", "1h"))
    """Seconds without traffic after which a node sends a sign of life."""
    silent_after: Setting[Duration, float | Auto] = setting(
        "auto", rules.auto_or(rules.duration("20ms", "24h"))
    )
    """Seconds without a sign of life after which a peer is reported as silent; `auto` is 5, or
    twice the heartbeat if that is more."""
    expel: Setting[str | ExpulsionPolicy, ExpulsionPolicy | Auto] = setting(
        "auto", rules.auto_or(POLICY)
    )
    """When a silent peer is expelled: after 10 s, by a node that more than half of the members have
    answered meanwhile (`majority:10s`); after 30 s, by any node (`after:30s`); or only by a call of
    `expel` (`manual`). `auto` is `majority:10s`, or twice the heartbeat if that is more, and
    `manual` for the orders `fifo` and `none`."""
    patience: Setting[Duration, float] = setting("1s", rules.duration("10ms", "1min"))
    """Seconds until the protocol retransmits: the backstop of loss recovery, which has faster
    timers of its own."""
    linger: Setting[Duration, float] = setting("10s", rules.duration("0", "24h"))
    """Seconds that `close` waits until peers have received everything and said bye."""
    journal: Setting[PathLike | None, Path | None] = setting(None, rules.PATH)
    """The folder of the journal, which keeps what a crash must not lose; none: no journal."""
    durable: Setting[Durability, Durability] = setting("sync", rules.choice(Durability))
    """What the journal survives: `sync` also a power failure, `process` only a crash of the
    process."""
    journal_limit: Setting[Size, int] = setting("8GiB", rules.size(1 << 20, 1 << 40))
    """Bytes that the journal may take on disk; beyond that `send` raises `JournalFull`."""
    confirm: Setting[Confirm, Confirm] = setting("next", rules.choice(Confirm))
    """With a journal: a message is confirmed when the `next` one is asked for, or its handler
    returns; with `done` only when its `done()` is called, also in handlers."""
    http: Setting[AddressLike | None, Address | None] = setting(None, rules.HTTP)
    """Where the node serves its figures, its health and its state over HTTP, and says so to its
    peers: a view that asks one node finds the others."""
    trace: Setting[PathLike | None, Path | None] = setting(None, rules.PATH)
    """Where the event log goes: a folder, or a file that ends in .jsonl or .jsonl.gz."""
    trace_format: Setting[TraceFormat, TraceFormat] = setting("auto", rules.choice(TraceFormat))
    """The format of files in a folder; `auto` is Parquet if pyarrow is installed. A single file has
    the format that its name ends in."""
    trace_run: Setting[str, str] = setting("live", rules.RUN_ID)
    """The name of the run that the event log belongs to; the same for all nodes of one system."""
    trace_rotate: Setting[Duration, float] = setting("60s", rules.duration("1s", "24h"))
    """Seconds after which a file of the log is finished and the next one begun."""
    stay_awake: InitVar[bool | None] = None
    """The former name of `busy_poll`, for one release."""

    def __post_init__(self, stay_awake: bool | None) -> None:
        """Bring every field into the form its type says, and check that they agree."""
        if stay_awake is not None:
            object.__setattr__(self, "busy_poll", stay_awake)
        for name, rule in RULES.items():
            object.__setattr__(self, name, read_setting(name, rule, getattr(self, name)))
        check_agreement(self)

    @property
    def policy(self) -> ExpulsionPolicy:
        """Who is expelled by itself, also where `expel` is `auto`."""
        if isinstance(self.expel, str):
            return usual_policy(self.order, self.heartbeat)
        return self.expel

    @property
    def silence(self) -> float:
        """Seconds until a peer is reported as silent, also where `silent_after` is `auto`."""
        if isinstance(self.silent_after, str):
            return max(SILENT_AFTER, 2 * self.heartbeat)
        return self.silent_after

    def keys_of(self, name: str) -> tuple[PublicKey, ...]:
        """The public keys that a peer may have."""
        said = read_peer(self.peers.get(name)).keys
        return tuple(dict.fromkeys(said + self.peer_keys.get(name, ())))

    def address_of(self, name: str) -> Address | None:
        """Where a peer is, if that is known."""
        return read_peer(self.peers.get(name)).address

    @property
    def protocol(self) -> str:
        """The catalogue's name of the `order`, which hellos and journals have."""
        return catalogue_name(self.order)

    @property
    def heartbeat_ns(self) -> int:
        """`heartbeat` as the runtime counts time."""
        return nanoseconds(self.heartbeat)

    @property
    def silent_after_ns(self) -> int:
        """`silent_after` as the runtime counts time."""
        return nanoseconds(self.silence)

    @property
    def meet_within_ns(self) -> int:
        """`meet_within` as the runtime counts time."""
        return nanoseconds(self.meet_within)

    @property
    def patience_ns(self) -> int:
        """`patience` as the runtime counts time."""
        return nanoseconds(self.patience)

    @property
    def linger_ns(self) -> int:
        """`linger` as the runtime counts time."""
        return nanoseconds(self.linger)


RULES: Final[Mapping[str, Rule[object]]] = {
    one.name: one.metadata[RULE] for one in fields(Settings)
}
"""How each field is read."""

SETTING_NAMES: Final = tuple(RULES)

RENAMED_SETTINGS: Final = {"stay_awake": "busy_poll"}
"""Former names of settings, read for one release."""

FORMER_ORDER: Final = "hybrid-facts"
FORMER_SETTINGS: Final = (
    "facts", "filter_bits", "hops", "watermarks", "exceptions", "stalled_after",
)  # fmt: skip
"""An order that nodes do not have any more, and the settings that were for it only."""


def read_setting(name: str, rule: Rule[object], value: object, source: str = "") -> object:
    """The value of one setting, or `BadConfiguration` that says where it came from."""
    try:
        return rule.read(value)
    except LocalError as error:
        where = f" (from {source})" if source else ""
        raise BadConfiguration(
            f"setting {name!r}{where}: {error}; it must be {rule.allowed}"
        ) from None


def check_agreement(settings: Settings) -> None:
    """Refuse settings each of which is fine, but not together."""
    if settings.name in settings.peers:
        raise BadConfiguration(
            f"setting 'peers': {settings.name!r} is this node itself; list the others only"
        )
    check_keys(settings)
    check_policy(settings)
    if settings.payload_limit > settings.send_bytes:
        raise BadConfiguration(
            f"setting 'payload_limit' is {settings.payload_limit:,} bytes and 'send_bytes' "
            f"{settings.send_bytes:,}: the largest payload would never find room; "
            "raise send_bytes or lower payload_limit"
        )
    if settings.heartbeat * 2 > settings.silence:
        raise BadConfiguration(
            f"setting 'silent_after' is {settings.silence:g} s and 'heartbeat' "
            f"{settings.heartbeat:g} s: an idle peer would be taken for a silent one; "
            "silent_after must be at least twice heartbeat"
        )


def check_policy(settings: Settings) -> None:
    """Refuse a policy that takes idle peers for dead ones, or that nothing can follow."""
    if settings.order in ("fifo", "none") and not isinf(settings.policy.silence):
        raise BadConfiguration(
            f"setting 'expel' is {settings.policy}, but the order {settings.order!r} cannot expel "
            "a peer that lives; choose a causal order, or expel='manual'"
        )
    if settings.heartbeat * 2 > settings.policy.silence:
        raise BadConfiguration(
            f"setting 'expel' is {settings.policy} and 'heartbeat' {settings.heartbeat:g} s: an "
            "idle peer would be expelled; let it be silent for at least twice heartbeat"
        )


def check_keys(settings: Settings) -> None:
    """Refuse keys that do not go together."""
    ways = [name for name in ("key", "cluster_key", "insecure") if getattr(settings, name)]
    if len(ways) > 1:
        raise BadConfiguration(f"settings {' and '.join(ways)} exclude each other: choose one")
    for name in settings.peer_keys:
        if name not in settings.peers:
            hint = near_miss(name, list(settings.peers))
            raise BadConfiguration(f"setting 'peer_keys': {name!r} is not one of the peers{hint}")
    keyed = [name for name in settings.peers if settings.keys_of(name)]
    if keyed and settings.key is None:
        raise BadConfiguration(
            f"there is a key of {keyed[0]}, but none of this node's own: give it with key=FILE or "
            "--key FILE"
        )
    if settings.key is None:
        return
    if missing := [name for name in settings.peers if name not in keyed]:
        raise BadConfiguration(
            f"there is no key of {missing[0]}: give it with keys=[...] or "
            f"--peer-key {missing[0]}=ante_pub_…"
        )
    if settings.accept_unknown != NOBODY:
        raise BadConfiguration(
            "setting 'accept_unknown': with a key, everybody is known by theirs; let in whoever "
            "has a secret in common with cluster_key=FILE"
        )


def nanoseconds(seconds: float) -> int:
    """A time span as the runtime counts it."""
    return round(seconds * NS_PER_SECOND)


PREFIX: Final = "ANTECEDE_"
CONFIG_VARIABLE: Final = "ANTECEDE_CONFIG"
TABLE: Final = "node"
SIMILAR: Final = 0.8
"""How much a variable of the environment must look like a setting to be taken for a typing error:
others may begin with the same letters and mean something else."""

Given: TypeAlias = Mapping[str, object]


def gather_settings(
    keywords: Given,
    *,
    config: Settings | str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    fallback: Given | None = None,
    how: str = "to open_node()",
) -> Settings:
    """The settings of a node from all sources; keywords that are None do not count.

    `config` names the file, or is a `Settings` that stands in for it and for the environment.
    Settings that are not given are those of `fallback`, or have their defaults. If the name is
    missing, the error says `how` to give it.
    """
    given = {name: value for name, value in keywords.items() if value is not None}
    given = present_names(given, "the call")
    check_names(given, "the call")
    merged: dict[str, object] = dict(fallback or {})
    if isinstance(config, Settings):
        merged |= {name: getattr(config, name) for name in SETTING_NAMES}
    else:
        surroundings = os.environ if environment is None else environment
        file = config if config is not None else surroundings.get(CONFIG_VARIABLE)
        if file:
            merged |= from_file(Path(file))
        merged |= from_environment(surroundings)
    for name, value in given.items():
        merged[name] = read_setting(name, RULES[name], value)
    return settings_of(merged, how)


def from_file(path: Path) -> dict[str, object]:
    """What the `[node]` table of this file says, checked."""
    import tomllib

    try:
        with os_errors_as_local(path, "read"):
            document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} is not TOML: {error}") from error
    table = document.get(TABLE)
    if not isinstance(table, dict):
        hint = near_miss(TABLE, list(document))
        raise BadConfiguration(f"{path} has no table [{TABLE}]{hint}; settings belong there")
    table = present_names(table, str(path))
    check_names(table, str(path))
    return {
        name: read_setting(name, RULES[name], value, str(path)) for name, value in table.items()
    }


def from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    """What variables such as `ANTECEDE_BIND` say, checked."""
    variables = {f"{PREFIX}{name.upper()}": name for name in (*SETTING_NAMES, *RENAMED_SETTINGS)}
    said: dict[str, object] = {}
    for variable, value in environment.items():
        if variable in variables:
            said[variables[variable]] = value
        elif variable.startswith(PREFIX) and variable != CONFIG_VARIABLE:
            close = get_close_matches(variable, list(variables), n=1, cutoff=SIMILAR)
            if close and similar_tail(variable, close[0]):
                raise BadConfiguration(
                    f"there is no setting for {variable} in the environment; "
                    f"did you mean {close[0]}?"
                )
    return {
        name: read_setting(name, RULES[name], value, f"{PREFIX}{name.upper()} in the environment")
        for name, value in present_names(said, "the environment").items()
    }


def present_names(given: Given, source: str) -> dict[str, object]:
    """What is given, by the names that settings have now; a former name is logged."""
    present: dict[str, object] = {}
    for name, value in given.items():
        now = RENAMED_SETTINGS.get(name, name)
        if now != name:
            if now in given:
                raise BadConfiguration(
                    f"{name!r} is the former name of the setting {now!r}, and both are given (from "
                    f"{source}): leave {name!r} out"
                )
            log.warning("the setting %r (from %s) is called %r now", name, source, now)
        present[now] = value
    return present


def similar_tail(variable: str, known: str) -> bool:
    """Whether two variables look alike in what follows the prefix that all share."""
    tails = variable.removeprefix(PREFIX), [known.removeprefix(PREFIX)]
    return bool(get_close_matches(*tails, n=1, cutoff=SIMILAR))


def check_names(given: Given, source: str) -> None:
    """Refuse settings that do not exist."""
    for name in given:
        if name in FORMER_SETTINGS:
            raise BadConfiguration(
                f"the setting {name!r} (from {source}) is gone: {NOT_FOR_NODES[FORMER_ORDER]}; "
                "leave it out"
            )
        if name not in RULES:
            raise BadConfiguration(
                f"there is no setting {name!r} (from {source}){near_miss(name, SETTING_NAMES)}; "
                f"there are {', '.join(SETTING_NAMES)}"
            )


def settings_of(values: Mapping[str, Any], how: str) -> Settings:
    """Settings with these values, each of which has been read."""
    for item in fields(Settings):
        name, has_default = item.name, (item.default, item.default_factory) != (MISSING, MISSING)
        if name not in values and not has_default:
            raise BadConfiguration(
                f"setting {name!r} is missing: give it {how}, as {PREFIX}{name.upper()} "
                f"in the environment, or in the table [{TABLE}] of the configuration file"
            )
    return Settings(**values)
