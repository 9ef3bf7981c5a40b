"""A channel: all that begins anew when a peer is met, or met again.

Numbers of datagrams, acknowledgements, credit, keys and what waits to leave belong to one handshake
and end with it. The next one gets a channel of its own; what goes on is in `CarriedOver`.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.packets import Packet
from antecede.core.process import NEVER_NS
from antecede.transport.flow_control import FlowControl
from antecede.transport.recovery.ack_ranges import AckTracker
from antecede.transport.recovery.in_flight import SentDatagram
from antecede.transport.recovery.path import Path
from antecede.transport.seals import SessionKeys
from antecede.transport.send_queue import SendQueue


@final
class ChannelLimits:
    """What this node says of all its channels with one peer."""

    __slots__ = ("cumulative", "datagram_size", "window")

    def __init__(self, datagram_size: i64, window: i64, cumulative: bool) -> None:
        self.datagram_size: Final[i64] = datagram_size
        self.window: Final[i64] = window
        # Whether an ack covers all messages before it.
        self.cumulative: Final = cumulative


@final
class CarriedOver:
    """All that goes on in the next channel."""

    __slots__ = ("ack", "blocked", "last_delivered", "permit", "unread", "unsent")

    def __init__(
        self,
        last_delivered: i64 = 0,
        unread: i64 = 0,
        ack: i64 = 0,
        permit: i64 = 0,
        blocked: bool = False,
        unsent: list[Packet] | None = None,
    ) -> None:
        # The id of the peer's last message that was delivered, and what its messages that the
        # application has not taken cost.
        self.last_delivered: Final[i64] = last_delivered
        self.unread: Final[i64] = unread
        # The last ack and permit (0: none), which may be lost, and whether messages and permits
        # wait until the peer has noted an expulsion.
        self.ack: Final[i64] = ack
        self.permit: Final[i64] = permit
        self.blocked: Final = blocked
        # The messages that wait for a peer that was never met. For one that was met before, the
        # core is asked again.
        self.unsent: Final = unsent


@final
class Channel:
    """Both directions between this node and a peer, from one handshake to the next."""

    __slots__ = (
        "acks",
        "flow_control",
        "keys",
        "paced_ns",
        "path",
        "peer_keys",
        "ping_due",
        "probing",
        "send_queue",
    )

    def __init__(
        self,
        limits: ChannelLimits,
        granted: i64,
        socket_bytes: i64,
        keys: SessionKeys | None,
        carried: CarriedOver,
    ) -> None:
        self.path: Final = Path(limits.datagram_size, socket_bytes)
        self.acks: Final = AckTracker()
        self.flow_control: Final = FlowControl(
            limits.window, granted, carried.last_delivered, carried.unread
        )
        self.send_queue: Final = SendQueue(
            limits.cumulative, self.flow_control, carried.ack, carried.permit, carried.blocked
        )
        if carried.unsent is not None:
            for packet in carried.unsent:
                self.send_queue.put(packet)
        # What datagrams are sealed with, and, where both sides had said hello at once, what the
        # peer seals with instead. None: nothing is sealed.
        self.keys: Final = keys
        self.peer_keys: SessionKeys | None = None
        self.ping_due = True
        # Whether a message may leave whatever window and pace say.
        self.probing = False
        # When the pace lets more leave.
        self.paced_ns: i64 = NEVER_NS

    def carried_over(self, met: bool) -> CarriedOver:
        """What goes on in the next channel with a peer, which was `met` in this one or not."""
        queue, flow = self.send_queue, self.flow_control
        return CarriedOver(
            flow.last_delivered,
            flow.unread,
            queue.newest_ack(),
            queue.newest_permit(),
            queue.blocked,
            None if met else queue.unsent(),
        )

    def accept_peer_keys(self, keys: SessionKeys) -> None:
        """The peer seals with what it was offered: both sides had said hello at once."""
        self.peer_keys = keys

    def request_ping(self) -> None:
        """A datagram that is answered is to leave."""
        self.ping_due = True

    def take_ping(self) -> bool:
        """Whether a ping is to be written."""
        due = self.ping_due
        self.ping_due = False
        return due

    def begin_probe(self) -> None:
        """Nothing is answered: a ping leaves, with the last ack and permit and a message."""
        self.probing = True
        self.ping_due = True
        self.send_queue.repeat_control()

    def may_send_messages(self, allowance: i64, now_ns: i64) -> bool:
        """Whether messages wait, and window, pace and credit let them leave.

        To where the peer seems to be `allowance` bytes may go.
        """
        if allowance < self.path.mtu.size or not self.send_queue.has_messages():
            return False
        if self.probing:
            return True
        path = self.path
        if path.is_held(now_ns):
            return False
        if path.in_flight.size == 0:
            return True
        return path.sendable_bytes(now_ns) >= path.mtu.size

    def on_probe_sent(self, sent: SentDatagram) -> None:
        """A datagram has left that is a probe if it has a message."""
        if sent.has_messages():
            self.probing = False

    def on_written(self, allowance: i64, now_ns: i64) -> None:
        """Everything that may leave now has left, and `allowance` bytes more may go."""
        self.probing = False
        self.paced_ns = NEVER_NS
        if allowance < self.path.mtu.size or not self.send_queue.has_messages():
            return
        # If it is not the pace that holds messages back, time alone does not let them go.
        if not self.path.is_clogged():
            self.paced_ns = self.path.paced_until_ns(now_ns)

    def wake_ns(self) -> i64:
        """When something is due."""
        wake_ns = self.path.wake_ns()
        if self.acks.ack_at_ns < wake_ns:
            wake_ns = self.acks.ack_at_ns
        return self.paced_ns if self.paced_ns < wake_ns else wake_ns
