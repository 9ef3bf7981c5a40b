"""How much a node keeps, and for how long it waits: every limit has a name."""

from typing import Final, final

from mypy_extensions import i64


@final
class Limits:
    """The limits of one node."""

    __slots__ = (
        "heartbeat_ns",
        "meet_within_ns",
        "open_to_strangers",
        "part_size",
        "send_bytes",
        "send_limit",
        "silent_ns",
        "window",
    )

    def __init__(
        self,
        *,
        send_limit: int = 1 << 13,
        send_bytes: int = 1 << 26,
        window: int = 1 << 22,
        heartbeat_ns: int = 2_500_000_000,
        silent_ns: int = 5_000_000_000,
        meet_within_ns: int = 10_000_000_000,
        open_to_strangers: bool = False,
    ) -> None:
        # Messages, and bytes, that are unsent or not acknowledged by all.
        self.send_limit: Final[i64] = send_limit
        self.send_bytes: Final[i64] = send_bytes
        # Bytes that a peer may have on the way to us, or delivered and not yet consumed.
        self.window: Final[i64] = window
        # How often to say something to a peer that is otherwise idle.
        self.heartbeat_ns: Final[i64] = heartbeat_ns
        # After how long without a word a peer that owes an answer is reported silent.
        self.silent_ns: Final[i64] = silent_ns
        # How long a peer that was added is waited for, before messages leave it out.
        self.meet_within_ns: Final[i64] = meet_within_ns
        # Whether peers that were never introduced are reported, rather than refused.
        self.open_to_strangers: Final = open_to_strangers
        # The largest message that is not cut into parts: a datagram's, and below the core's limit.
        self.part_size: Final[i64] = 60_000
