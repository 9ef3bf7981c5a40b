"""Reads the figures of one node from whoever counts them, and says whether it can do its work.

Reading costs time with the number of peers, and nothing per message.
"""

from collections.abc import Callable, Sequence
from typing import Final

from antecede.core.errors import LocalError
from antecede.core.expulsion import EXPELLED_LIMIT
from antecede.endpoint.endpoint import Endpoint
from antecede.endpoint.receive_queue import FairReceiveQueue
from antecede.events import NodeFenced
from antecede.membership.contact import STATES, Contact
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.callbacks import Callbacks
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.committer import Committer
from antecede.runtime.config.addresses import Address, is_unspecified, parse_text
from antecede.runtime.config.settings import Settings
from antecede.runtime.deliveries import Deliveries
from antecede.runtime.errors import fenced_sentence
from antecede.runtime.listeners import Listeners
from antecede.runtime.notifier import yield_to_loop
from antecede.runtime.observe.chains import Chain, own_chains
from antecede.runtime.observe.durations import Durations
from antecede.runtime.observe.explain import unread_text
from antecede.runtime.observe.stats import Health, PeerStats, Stats
from antecede.runtime.requests import Requests
from antecede.transport.session import Session
from antecede.units import listing, messages_text

PEERS_PER_TURN: Final = 32
"""32 peers are looked at before the loop gets a turn."""


class StatsReader:
    """Reads the figures of one node from whoever counts them."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        deliveries: Deliveries,
        backpressure: Backpressure,
        listeners: Listeners,
        callbacks: Callbacks,
        carrier: Carrier,
        queue: FairReceiveQueue,
        committer: Committer,
        requests: Requests,
        durations: Durations,
        now: Callable[[], int],
        rooms: Callable[[], tuple[int, int, int]],
    ) -> None:
        # In how many rooms the node is, their members, and those who are joining them.
        self._rooms: Final = rooms
        self._requests: Final = requests
        self._durations: Final = durations
        self._now: Final = now
        self._committer: Final = committer
        self._queue: Final = queue
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._deliveries: Final = deliveries
        self._backpressure: Final = backpressure
        self._listeners: Final = listeners
        self._callbacks: Final = callbacks
        self._carrier: Final = carrier

    def stats(self) -> Stats:
        """How things stand, all at one moment."""
        contacts = self._endpoint.directory.by_name.values()
        held = self._held_back()
        return self._with(
            [peer_stats(self._endpoint, self._backpressure, one, held) for one in contacts]
        )

    async def stats_in_turns(self) -> Stats:
        """The same, but the loop gets a turn after some peers, so that nothing is held up."""
        peers: list[PeerStats] = []
        held = self._held_back()
        contacts = list(self._endpoint.directory.by_name.values())
        for start in range(0, len(contacts), PEERS_PER_TURN):
            chunk = contacts[start : start + PEERS_PER_TURN]
            peers += [
                peer_stats(self._endpoint, self._backpressure, contact, held) for contact in chunk
            ]
            await yield_to_loop()
        return self._with(peers)

    def _held_back(self) -> dict[str, Chain]:
        """What is held back for whom in the end, or for who owes the permit if that is no peer."""
        found: dict[str, Chain] = {}
        known = self._endpoint.directory.by_name
        for chain in own_chains(self._endpoint, self._now(), self._durations):
            name = chain.last if chain.last in known else chain.names[0]
            if name not in found or found[name].messages < chain.messages:
                found[name] = chain
        return found

    def _with(self, peers: list[PeerStats]) -> Stats:
        endpoint = self._endpoint
        sending = endpoint.sending
        rooms, room_members, joiners = self._rooms()
        return Stats(
            name=self._settings.name,
            messages_sent=int(sending.sent),
            copies_sent=int(sending.copies),
            messages_received=int(endpoint.inbox.delivered),
            undeliverable=sum(self._listeners.undeliverable.values()),
            too_large=int(endpoint.inbox.too_large),
            malformed=int(endpoint.malformed),
            last_malformed=endpoint.last_malformed,
            stale=int(endpoint.directory.stale),
            refused=int(endpoint.directory.denials.count),
            unsendable=self._carrier.unsendable,
            crowded_out=int(self._queue.dropped),
            buffered=sending.messages_buffered(),
            buffered_parts=endpoint.buffered(),
            buffered_bytes=int(sending.bytes_held),
            buffer_limit=self._settings.send_limit,
            buffer_limit_bytes=self._settings.send_bytes,
            inbox=self._deliveries.unread(),
            handler_failures=self._deliveries.failures,
            callback_failures=self._callbacks.failures,
            peers=tuple(peers),
            requests=self._requests.count(),
            late_replies=self._requests.late,
            rooms=rooms,
            room_members=room_members,
            joiners=joiners,
            journal=self._committer.figures(),
            held_back=max((peer.held_back for peer in peers), default=0),
            held_back_ns=max((peer.held_back_ns for peer in peers), default=0),
            left_out=sum(self._listeners.left_out.values()),
            expulsions=self._listeners.expulsions,
        )


def peer_stats(
    endpoint: Endpoint, backpressure: Backpressure, contact: Contact, held_back: dict[str, Chain]
) -> PeerStats:
    """The figures of one peer."""
    chain = held_back.get(contact.name)
    session = contact.session
    path = session.channel.path
    return PeerStats(
        name=session.name,
        met=session.met,
        state=STATES[contact.state],
        silent=session.lifecycle.silent,
        left=contact.expelled or session.is_gone(),
        refusal=contact.refusal or contact.objection,
        undelivered=endpoint.sending.messages_owed(session),
        sends_waiting=backpressure.sends_waiting(contact.name),
        datagrams_sent=int(session.datagrams_out),
        datagrams_received=int(session.channel.acks.datagrams),
        duplicates=int(session.channel.acks.duplicates),
        retransmitted=int(session.repeated),
        lost=int(path.in_flight.lost_count),
        spurious=int(path.in_flight.spurious),
        round_trip_ns=int(path.round_trip.smoothed_ns),
        round_trip_least_ns=int(path.round_trip.least_ns),
        window=int(path.congestion.window),
        in_flight=int(path.in_flight.size),
        datagram_size=int(session.datagram_size),
        held_back=0 if chain is None else chain.messages,
        held_back_ns=0 if chain is None else chain.oldest_ns,
        http=http_place(session),
        narrow=path.mtu.is_narrow,
    )


def http_place(session: Session) -> str:
    """Where a peer serves HTTP; if at all its interfaces, then where its datagrams come from."""
    if not session.http or session.is_gone():
        return ""
    try:
        told = parse_text(session.http)
    except LocalError:
        return ""
    at = session.address.current
    if is_unspecified(told.host) and isinstance(at, tuple):
        told = Address(str(at[0]), told.port)
    return str(told)


TAKES_NO_NEWS: Final = (
    f"{EXPELLED_LIMIT:,} incarnations are expelled: peers that have news of more are not listened "
    "to. Restart this node: another life begins with none"
)


NARROW: Final = (
    "datagrams of 1,200 bytes are lost on it: messages go in small pieces, if at all, and after a "
    "restart nobody could be met. Look for a tunnel or an interface with a small MTU"
)

SPLIT: Final = "each side has expelled the other, and both live. Restart one of the two"


def health_of(
    stats: Stats,
    *,
    closed: bool,
    trace_failure: str | None,
    journal_failure: str | None = None,
    takes_no_news: bool = False,
    fenced: NodeFenced | None = None,
    policy_failure: str = "",
    blocked: Sequence[str] = (),
    held_up: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> Health:
    """Whether the node with these figures, and this in its way, can do its work."""
    problems: list[str] = []
    warnings: list[str] = []
    if fenced is not None:
        problems.append(fenced_sentence(stats.name, fenced))
    elif closed:
        problems.append("the node is closed")
    if journal_failure is not None:
        problems.append(journal_failure)
    if takes_no_news:
        problems.append(TAKES_NO_NEWS)
    if trace_failure is not None:
        problems.append(f"the event log stopped: {trace_failure}")
    if policy_failure:
        warnings.append(f"nobody is expelled, as the expulsion policy fails: {policy_failure}")
    if stats.silent_peers:
        warnings.append(f"silent: {listing(list(stats.silent_peers))}")
    narrow = [peer.name for peer in stats.peers if peer.narrow and not peer.left]
    if narrow:
        warnings.append(f"the way to {listing(narrow)} is too narrow: {NARROW}")
    if splits:
        warnings.append(f"split from {listing(list(splits))}: {SPLIT}")
    strangers = [p.name for p in stats.peers if not (p.met or p.left)]
    if strangers:
        warnings.append(f"not met yet: {listing(strangers)}")
    warnings += [f"no talk with {p.name}: {p.refusal}" for p in stats.peers if p.refusal]
    if held_up:
        warnings.append(unread_text(stats.inbox, held_up))
    if stats.is_crowded:
        held = messages_text(stats.buffered)
        are = "is" if stats.buffered == 1 else "are"
        warnings.append(f"{held} {are} not delivered yet: send() waits for room")
    elif crowded := [peer.name for peer in stats.peers if peer.sends_waiting]:
        whom = listing(crowded)
        warnings.append(f"send() waits for room to {whom}: the share of one peer is full")
    return Health(problems=tuple(problems), blocked=tuple(blocked), warnings=tuple(warnings))
