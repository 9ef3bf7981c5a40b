"""What a node tells about itself to whoever watches it: every figure with its name and meaning.

Where OpenTelemetry's conventions for messaging have a name for a figure, it is used as Prometheus
spells it (dots become underscores, a counter ends in `_total`); all others begin with `antecede_`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from antecede.live.stats import PeerStats, Stats

SYSTEM: Final = "antecede"


class NodeFigure(NamedTuple):
    """Something to tell about a node."""

    name: str
    meaning: str
    read: Callable[[Stats], float]
    operation: str | None = None
    """For names of OpenTelemetry's: which operation of the messaging client is counted."""


class PeerFigure(NamedTuple):
    """Something to tell about every peer of a node."""

    name: str
    meaning: str
    read: Callable[[PeerStats], float]


NODE_COUNTERS: Final = (
    NodeFigure(
        "messaging_client_sent_messages",
        "Messages the application has sent.",
        lambda stats: stats.messages_sent,
        "send",
    ),
    NodeFigure(
        "messaging_client_consumed_messages",
        "Messages delivered to the application.",
        lambda stats: stats.messages_received,
        "receive",
    ),
    NodeFigure(
        "antecede_copies_sent",
        "Copies of messages, large ones by parts, one for each target.",
        lambda stats: stats.copies_sent,
    ),
    NodeFigure(
        "antecede_undeliverable",
        "Copies given up because their target is gone.",
        lambda stats: stats.undeliverable,
    ),
    NodeFigure(
        "antecede_payloads_too_large",
        "Payloads of peers beyond the limit, which were not handed over.",
        lambda stats: stats.too_large,
    ),
    NodeFigure(
        "antecede_handler_failures",
        "Messages whose handler has raised.",
        lambda stats: stats.handler_failures,
    ),
    NodeFigure(
        "antecede_datagrams_unsendable",
        "Datagrams that the operating system would not send.",
        lambda stats: stats.unsendable,
    ),
    NodeFigure(
        "antecede_datagrams_crowded_out",
        "Datagrams dropped unread: their sender sent more than its share.",
        lambda stats: stats.crowded_out,
    ),
    NodeFigure(
        "antecede_datagrams_malformed",
        "Datagrams that no correct peer sends.",
        lambda stats: stats.malformed,
    ),
    NodeFigure(
        "antecede_datagrams_stale",
        "Datagrams of, or for, an incarnation that is no more.",
        lambda stats: stats.stale,
    ),
    NodeFigure(
        "antecede_greetings_refused",
        "Greetings of nodes that may not, or cannot, take part.",
        lambda stats: stats.refused,
    ),
    NodeFigure(
        "antecede_journal_commits",
        "Writes to the journal.",
        lambda stats: stats.journal.commits,
    ),
    NodeFigure(
        "antecede_journal_written_bytes",
        "Bytes written to the journal.",
        lambda stats: stats.journal.written_bytes,
    ),
    NodeFigure(
        "antecede_journal_write_seconds",
        "Time that writes to the journal took, synced if that is wanted.",
        lambda stats: stats.journal.write_seconds,
    ),
)

HEALTHY: Final = ("antecede_healthy", "1 if the node can do its work.")

NODE_GAUGES: Final = (
    NodeFigure(
        "antecede_buffered_messages",
        "Messages accepted and not yet acknowledged by all targets.",
        lambda stats: stats.buffered,
    ),
    NodeFigure(
        "antecede_buffered_parts",
        "The same, but a large message counts as its parts.",
        lambda stats: stats.buffered_parts,
    ),
    NodeFigure(
        "antecede_buffered_bytes",
        "Payload bytes accepted and not yet acknowledged by all targets.",
        lambda stats: stats.buffered_bytes,
    ),
    NodeFigure(
        "antecede_buffer_limit_parts",
        "Parts that may be buffered before send waits; a message that is not large is one.",
        lambda stats: stats.buffer_limit,
    ),
    NodeFigure(
        "antecede_buffer_limit_bytes",
        "Payload bytes that may be buffered before send waits.",
        lambda stats: stats.buffer_limit_bytes,
    ),
    NodeFigure(
        "antecede_inbox_messages",
        "Messages delivered and not yet read by the application.",
        lambda stats: stats.inbox,
    ),
    NodeFigure("antecede_peers", "Peers known by name.", lambda stats: len(stats.peers)),
    NodeFigure("antecede_peers_met", "Peers that have answered.", lambda stats: stats.peers_met),
    NodeFigure(
        "antecede_peers_silent",
        "Peers not heard for longer than allowed.",
        lambda stats: len(stats.silent_peers),
    ),
    NodeFigure(
        "antecede_journal_bytes",
        "Bytes of the journal on disk.",
        lambda stats: stats.journal.size_bytes,
    ),
    NodeFigure(
        "antecede_journal_files",
        "Files that the journal has begun so far.",
        lambda stats: stats.journal.files,
    ),
    NodeFigure(
        "antecede_journal_waiting",
        "Groups of changes that are being written, or wait for that.",
        lambda stats: stats.journal.waiting,
    ),
    NodeFigure(
        "antecede_journal_unconfirmed_messages",
        "Deliveries that would come again after a crash.",
        lambda stats: stats.journal.unconfirmed,
    ),
    NodeFigure(
        "antecede_journal_accepting",
        "1 if there is room for more, or no journal.",
        lambda stats: stats.journal.accepting,
    ),
)

PEER_COUNTERS: Final = (
    PeerFigure("antecede_datagrams_sent", "Datagrams sent.", lambda peer: peer.datagrams_sent),
    PeerFigure(
        "antecede_datagrams_received", "Datagrams received.", lambda peer: peer.datagrams_received
    ),
    PeerFigure(
        "antecede_datagrams_duplicated",
        "Datagrams that came more than once.",
        lambda peer: peer.duplicates,
    ),
    PeerFigure("antecede_datagrams_lost", "Datagrams declared lost.", lambda peer: peer.lost),
    PeerFigure(
        "antecede_datagrams_lost_spuriously",
        "Datagrams declared lost that had arrived.",
        lambda peer: peer.spurious,
    ),
    PeerFigure(
        "antecede_copies_retransmitted",
        "Copies of messages transmitted again.",
        lambda peer: peer.retransmitted,
    ),
)

PEER_GAUGES: Final = (
    PeerFigure(
        "antecede_peer_undelivered_messages",
        "Messages for the peer that it has not acknowledged.",
        lambda peer: peer.undelivered,
    ),
    PeerFigure(
        "antecede_peer_round_trip_seconds",
        "The smoothed time to the peer and back.",
        lambda peer: peer.round_trip_ns / 1e9,
    ),
    PeerFigure(
        "antecede_peer_congestion_window_bytes",
        "Bytes that may be on the way to the peer.",
        lambda peer: peer.window,
    ),
    PeerFigure(
        "antecede_peer_in_flight_bytes",
        "Bytes on the way to the peer.",
        lambda peer: peer.in_flight,
    ),
    PeerFigure("antecede_peer_met", "1 if the peer has answered.", lambda peer: peer.met),
    PeerFigure("antecede_peer_silent", "1 if the peer is silent.", lambda peer: peer.silent),
)
