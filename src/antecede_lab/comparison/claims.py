"""Every cell of the paper's Table 1, as data, in plain sight.

P. S. Almeida, "Space-Optimal, Computation-Optimal, Topology-Agnostic, Throughput-Scalable Causal
Delivery through Hybrid Buffering", Table 1: "Comparison of topology-agnostic approaches to causal
delivery". Cells are written as they stand there; a raised figure at the end is a footnote.

n: processes, i and o: senders to and receivers from a process, b: messages buffered, p: permits
missing, u: messages unacknowledged, r: round-trip times from a sender to its peers.
"""

from dataclasses import dataclass
from typing import Final, final

FAILURES: Final = "network: failures"
ORDER: Final = "network: order"
MESSAGE_SPACE: Final = "space: message"
PROCESS_SPACE: Final = "space: process"
SENDER_STEPS: Final = "computation: sender"
RECEIVER_STEPS: Final = "computation: receiver"
OPTIMAL: Final = "latency: optimal"
SIDE: Final = "latency: non-causal, where"
MAGNITUDE: Final = "latency: non-causal, how much"
SCALABLE: Final = "throughput: scalable"
IN_TRANSIT: Final = "throughput: in transit"
LIVENESS: Final = "liveness"
CONTROL: Final = "extra control messages"

COLUMNS: Final = (
    ("rst",), ("ks",), ("newtop",), ("mf",), ("cykas",), ("paper-basic", "paper-sps"),
)  # fmt: skip
"""The table's columns by our names; the last is headed "this paper", which has two algorithms for
one receiver: a cell of it is as right as what it says of the worse of them."""

IN_TABLE: Final = tuple([name for column in COLUMNS for name in column])
"""All of them, from left to right."""

TABLE: Final[dict[str, tuple[str, str, str, str, str, str]]] = {
    FAILURES: ("reliable", "reliable", "reliable", "any", "reliable", "any"),
    ORDER: ("any", "FIFO", "FIFO", "any", "any", "any"),
    MESSAGE_SPACE: ("O(n²)", "O(n²)", "O(1)", "O(1)", "O(1)", "O(1)"),
    PROCESS_SPACE: ("O(n² b)", "O(n² b)", "O(n+b)", "O(b)", "O(no+b)", "O(i+o+b+p+u)"),
    SENDER_STEPS: ("O(1)¹", "O(n²)", "O(1)", "O(1)", "O(no)", "O(1)"),
    RECEIVER_STEPS: ("O(n²)", "O(n²)", "O(n)", "O(1)", "O(1)", "O(1)"),
    OPTIMAL: ("yes", "yes", "no", "no", "no", "no"),
    SIDE: ("no", "no", "receiver", "sender", "sender", "sender"),
    MAGNITUDE: ("0", "0", "unbounded²", "O(b r)", "unbounded", "O(r)"),
    SCALABLE: ("yes", "yes", "yes", "no", "no", "yes"),
    IN_TRANSIT: ("unlimited", "unlimited", "unlimited", "1", "1/receiver", "unlimited"),
    LIVENESS: ("yes", "yes", "no²", "yes", "no", "yes"),
    CONTROL: ("no³", "no³", "no³", "ack", "ack, yct", "ack, permit"),
}

FOOTNOTES: Final = {
    "¹": "Considering only the algorithm steps and ignoring the cost of serializing the matrix.",
    "²": "To overcome it, the service sends null messages if a process becomes idle for some time.",
    "³": "These algorithms assume a reliable network. For unreliable networks acks will be needed "
    "at the transport layer.",
}

GROWTH: Final[dict[str, tuple[float, float]]] = {
    "O(1)": (0, 0),
    "O(n)": (1, 1),
    "O(n²)": (2, 2),
    "O(n² b)": (2, 2),
    "O(n+b)": (1, 1),
    "O(b)": (0, 0),
    "O(no)": (1, 2),
    "O(no+b)": (1, 2),
    "O(i+o+b+p+u)": (0, 1),
}
"""Which power of n a formula comes to: when everybody has a few peers, when all are peers."""

BESIDE: Final = ("hybrid", "hybrid-facts", "hybrid-sps", "hybrid-csps", "paper-multicast")
"""Judged by the last column too, and no part of the table: what this project makes of the paper's
algorithms, and the paper's multicast, of which the table does not speak."""


@final
@dataclass(frozen=True, kw_only=True)
class Claim:
    """One cell, about one protocol."""

    protocol: str
    aspect: str
    cell: str
    """As it is printed."""

    @property
    def says(self) -> str:
        """The cell without its footnote mark."""
        return self.cell.rstrip("¹²³")

    @property
    def footnote(self) -> str:
        """What the footnote says, or nothing."""
        return FOOTNOTES.get(self.cell[-1], "")


def column_of(protocol: str) -> int | None:
    """Which column of the table speaks about this protocol; None: no column does."""
    if protocol in BESIDE:
        return len(COLUMNS) - 1
    for place, column in enumerate(COLUMNS):
        if protocol in column:
            return place
    return None


def claims_about(protocol: str) -> list[Claim]:
    """What the table says about a protocol, from top to bottom."""
    place = column_of(protocol)
    if place is None:
        return []
    return [
        Claim(protocol=protocol, aspect=aspect, cell=cells[place])
        for aspect, cells in TABLE.items()
    ]
