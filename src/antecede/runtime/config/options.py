"""The settings that `open_node` takes as keywords, for type checkers and editors.

They need the class below in writing. It is made from the fields of `Settings`, which say what each
setting means, what it may be and what it is by default: the module
`tests.antecede.runtime.documented` prints it, and a test compares.
"""

from typing import TypedDict

from antecede.durability.journal import Durability
from antecede.runtime.config.expulsion_policy import ExpulsionPolicy
from antecede.runtime.config.rules import AcceptUnknown, Switch
from antecede.runtime.config.settings import (
    AddressLike,
    Away,
    Confirm,
    Count,
    Duration,
    KeyLike,
    Order,
    PathLike,
    PeerKeysLike,
    Size,
    TraceFormat,
)


class Options(TypedDict, total=False):
    """What each of these settings takes: the first type of its field in `Settings`."""

    key: KeyLike | None
    peer_keys: PeerKeysLike
    cluster_key: KeyLike | None
    insecure: bool
    order: Order
    accept_unknown: AcceptUnknown | bool
    away: Away
    meet_within: Duration
    mtu: Size
    gso: Switch | bool
    busy_poll: bool
    send_limit: Count
    send_bytes: Size
    receive_window: Size
    payload_limit: Size
    snapshot_limit: Size
    heartbeat: Duration
    silent_after: Duration
    expel: str | ExpulsionPolicy
    patience: Duration
    linger: Duration
    journal: PathLike | None
    durable: Durability
    journal_limit: Size
    confirm: Confirm
    http: AddressLike | None
    trace_format: TraceFormat
    trace_run: str
    trace_rotate: Duration
