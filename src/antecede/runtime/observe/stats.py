"""What a node counts and measures, as plain values to print, compare and export.

Counters only grow, from the opening of the node on; everything else is how things stand now. A
field that is a metric, too, has its name and its meaning beside it.
"""

from dataclasses import dataclass, field
from typing import Final

from antecede.membership.contact import STATES
from antecede.runtime.observe.metric import computed, counter, gauge

CROWDED: Final = 0.9
"""`is_crowded` says that the send buffer is 90 % full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerStats:
    """How things stand with one peer."""

    name: str
    met: bool = field(metadata=gauge("antecede_peer_met", "1 if the peer has answered."))
    state: str
    """One of new (waited for), here, silent and away (messages leave it out)."""
    silent: bool = field(metadata=gauge("antecede_peer_silent", "1 if the peer is silent."))
    """Whether it has been reported as silent, and has not been heard since."""
    left: bool
    """Whether it has said bye, has stopped, or is expelled."""
    refusal: str
    """Why it will not talk to this node, or this node not to it; empty if nothing is known."""
    undelivered: int = field(
        metadata=gauge(
            "antecede_peer_undelivered_messages",
            "Messages for the peer that it has not acknowledged.",
        )
    )
    sends_waiting: int
    """Calls of `send` to it that wait for room: for its share of the buffer, or in all."""
    datagrams_sent: int = field(metadata=counter("antecede_datagrams_sent", "Datagrams sent."))
    datagrams_received: int = field(
        metadata=counter("antecede_datagrams_received", "Datagrams received.")
    )
    duplicates: int = field(
        metadata=counter("antecede_datagrams_duplicated", "Datagrams that came more than once.")
    )
    retransmitted: int = field(
        metadata=counter("antecede_copies_retransmitted", "Copies of messages transmitted again.")
    )
    lost: int = field(metadata=counter("antecede_datagrams_lost", "Datagrams declared lost."))
    spurious: int = field(
        metadata=counter(
            "antecede_datagrams_lost_spuriously", "Datagrams declared lost that had arrived."
        )
    )
    round_trip_ns: int = field(
        metadata=gauge(
            "antecede_peer_round_trip_seconds", "The smoothed time to the peer and back."
        )
    )
    round_trip_least_ns: int
    window: int = field(
        metadata=gauge(
            "antecede_peer_congestion_window_bytes", "Bytes that may be on the way to the peer."
        )
    )
    in_flight: int = field(
        metadata=gauge("antecede_peer_in_flight_bytes", "Bytes on the way to the peer.")
    )
    datagram_size: int
    """The largest datagram it is sent, in bytes."""
    held_back: int = field(
        default=0,
        metadata=gauge(
            "antecede_peer_held_back_messages",
            "Messages held back until the peer answers: this node, or whoever waits for it.",
        ),
    )
    held_back_ns: int = field(
        default=0,
        metadata=gauge(
            "antecede_peer_held_back_oldest_seconds",
            "How long ago the oldest message that is held back because of the peer was sent.",
        ),
    )
    http: str = ""
    """Where it serves HTTP, if it has said so (`http`)."""
    narrow: bool = False
    """Whether datagrams of 1,200 bytes, which hellos have, were found not to reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStats:
    """How things stand with a journal."""

    size_bytes: int = field(
        default=0, metadata=gauge("antecede_journal_bytes", "Bytes of the journal on disk.")
    )
    files: int = field(
        default=0,
        metadata=gauge("antecede_journal_files", "Files that the journal has begun so far."),
    )
    """In all lives: one more whenever the journal had outgrown its snapshot."""
    commits: int = field(
        default=0, metadata=counter("antecede_journal_commits", "Writes to the journal.")
    )
    written_bytes: int = field(
        default=0,
        metadata=counter("antecede_journal_written_bytes", "Bytes written to the journal."),
    )
    write_seconds: float = field(
        default=0.0,
        metadata=counter(
            "antecede_journal_write_seconds",
            "Time that writes to the journal took, synced if that is wanted.",
        ),
    )
    waiting: int = field(
        default=0,
        metadata=gauge(
            "antecede_journal_waiting",
            "Groups of changes that are being written, or wait for that.",
        ),
    )
    unconfirmed: int = field(
        default=0,
        metadata=gauge(
            "antecede_journal_unconfirmed_messages",
            "Deliveries that would come again after a crash.",
        ),
    )
    accepting: bool = field(
        default=True,
        metadata=gauge("antecede_journal_accepting", "1 if there is room for more, or no journal."),
    )


NO_JOURNAL: Final = JournalStats()
"""Of a node without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How things stand with a node."""

    name: str
    messages_sent: int = field(
        metadata=counter(
            "messaging_client_sent_messages", "Messages the application has sent.", "send"
        )
    )
    """One to several peers counts once."""
    copies_sent: int = field(
        metadata=counter(
            "antecede_copies_sent",
            "Copies of messages, large ones by parts, one for each target.",
        )
    )
    messages_received: int = field(
        metadata=counter(
            "messaging_client_consumed_messages",
            "Messages delivered to the application.",
            "receive",
        )
    )
    undeliverable: int = field(
        metadata=counter("antecede_undeliverable", "Copies given up because their target is gone.")
    )
    too_large: int = field(
        metadata=counter(
            "antecede_payloads_too_large",
            "Payloads of peers beyond the limit, which were not handed over.",
        )
    )
    malformed: int = field(
        metadata=counter("antecede_datagrams_malformed", "Datagrams that no correct peer sends.")
    )
    last_malformed: str
    """What was wrong with the last of those."""
    stale: int = field(
        metadata=counter(
            "antecede_datagrams_stale", "Datagrams of, or for, an incarnation that is no more."
        )
    )
    refused: int = field(
        metadata=counter(
            "antecede_greetings_refused", "Greetings of nodes that may not, or cannot, take part."
        )
    )
    unsendable: int = field(
        metadata=counter(
            "antecede_datagrams_unsendable", "Datagrams that the operating system would not send."
        )
    )
    crowded_out: int = field(
        metadata=counter(
            "antecede_datagrams_crowded_out",
            "Datagrams dropped unread: their sender sent more than its share.",
        )
    )
    """A sender has a share while others send, too."""
    buffered: int = field(
        metadata=gauge(
            "antecede_buffered_messages",
            "Messages accepted and not yet acknowledged by all targets.",
        )
    )
    buffered_parts: int = field(
        metadata=gauge(
            "antecede_buffered_parts",
            "Messages accepted and not yet acknowledged; a large one counts as its parts.",
        )
    )
    buffered_bytes: int = field(
        metadata=gauge(
            "antecede_buffered_bytes",
            "Payload bytes accepted and not yet acknowledged by all targets.",
        )
    )
    buffer_limit: int = field(
        metadata=gauge(
            "antecede_buffer_limit_parts",
            "Parts that may be buffered before send waits; a message that is not large is one.",
        )
    )
    buffer_limit_bytes: int = field(
        metadata=gauge(
            "antecede_buffer_limit_bytes", "Payload bytes that may be buffered before send waits."
        )
    )
    inbox: int = field(
        metadata=gauge(
            "antecede_inbox_messages",
            "Messages delivered and not yet read by the application.",
        )
    )
    handler_failures: int = field(
        metadata=counter("antecede_handler_failures", "Messages whose handler has raised.")
    )
    callback_failures: int = field(
        metadata=counter(
            "antecede_callback_failures",
            "Calls of other application code that have raised: listeners, policies, sources.",
        )
    )
    peers: tuple[PeerStats, ...] = field(metadata=gauge("antecede_peers", "Peers known by name."))
    requests: int = field(
        default=0,
        metadata=gauge("antecede_requests_under_way", "Requests of this node without a reply yet."),
    )
    late_replies: int = field(
        default=0,
        metadata=counter(
            "antecede_late_replies", "Replies that came when nobody waited for them any more."
        ),
    )
    rooms: int = field(
        default=0, metadata=gauge("antecede_rooms", "Rooms that this node is a member of.")
    )
    room_members: int = field(
        default=0,
        metadata=gauge(
            "antecede_room_members", "Members of these rooms, added up; this node counts in each."
        ),
    )
    joiners: int = field(
        default=0,
        metadata=gauge(
            "antecede_room_joiners", "Nodes that this one takes into rooms and that are not ready."
        ),
    )
    journal: JournalStats = NO_JOURNAL
    held_back: int = field(
        default=0,
        metadata=gauge(
            "antecede_held_back_messages", "Messages held back because a permit is missing."
        ),
    )
    """`explain()` says whose."""
    held_back_ns: int = field(
        default=0,
        metadata=gauge(
            "antecede_held_back_oldest_seconds",
            "How long ago the oldest message that is held back was sent.",
        ),
    )
    """To about a second."""
    left_out: int = field(
        default=0,
        metadata=counter(
            "antecede_left_out",
            "Copies of messages that were not sent, as their targets were away.",
        ),
    )
    expulsions: int = field(
        default=0,
        metadata=counter("antecede_expulsions", "Peers that were expelled, by whomever."),
    )

    @property
    def datagrams_sent(self) -> int:
        """Datagrams sent to the present incarnations of all peers."""
        return sum(peer.datagrams_sent for peer in self.peers)

    @property
    def datagrams_received(self) -> int:
        """Datagrams that came from the present incarnations of all peers."""
        return sum(peer.datagrams_received for peer in self.peers)

    @property
    def retransmitted(self) -> int:
        """Copies of messages that were transmitted again."""
        return sum(peer.retransmitted for peer in self.peers)

    @property
    def lost(self) -> int:
        """Datagrams that were declared lost."""
        return sum(peer.lost for peer in self.peers)

    @property
    @computed("antecede_peers_met", "Peers that have answered.")
    def peers_met(self) -> int:
        """How many peers have answered."""
        return sum(peer.met for peer in self.peers)

    @property
    @computed("antecede_peers_by_state", "Peers that are new, here, silent or away.", "state")
    def peers_by_state(self) -> dict[str, int]:
        """How many peers are new, here, silent and away."""
        counts = dict.fromkeys(STATES, 0)
        for peer in self.peers:
            counts[peer.state] += 1
        return counts

    @property
    @computed("antecede_peers_silent", "Peers not heard for longer than allowed.")
    def silent_peers(self) -> tuple[str, ...]:
        """Who has not been heard for longer than allowed."""
        return tuple(peer.name for peer in self.peers if peer.silent)

    @property
    def is_crowded(self) -> bool:
        """Whether `send` waits for room, or will soon."""
        return (
            self.buffered_parts >= CROWDED * self.buffer_limit
            or self.buffered_bytes >= CROWDED * self.buffer_limit_bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether a node can do its work; true or false, with reasons."""

    problems: tuple[str, ...] = ()
    """Why it cannot: somebody has to do something here."""
    blocked: tuple[str, ...] = ()
    """What waits for somebody who is silent or gone, and how to go on without: a restart of this
    node would not help, so the node still counts as healthy."""
    warnings: tuple[str, ...] = ()
    """What may pass by itself, such as a peer that is silent."""

    def __bool__(self) -> bool:
        return self.is_healthy

    @property
    @computed("antecede_healthy", "1 if the node can do its work.")
    def is_healthy(self) -> bool:
        """Whether nothing fails; the same as its truth value."""
        return not self.problems

    @property
    @computed("antecede_ready", "1 if the node is healthy and nothing waits for a silent peer.")
    def is_ready(self) -> bool:
        """Whether it can do its work now: nothing fails, and nothing waits for who is silent."""
        return not self.problems and not self.blocked

    @property
    def status(self) -> str:
        """One word: ok, degraded (there are warnings), blocked or failing."""
        if self.problems:
            return "failing"
        if self.blocked:
            return "blocked"
        return "degraded" if self.warnings else "ok"

    def __str__(self) -> str:
        return "; ".join([self.status, *self.problems, *self.blocked, *self.warnings])
