"""The simulator: real protocol objects, a simulated network and clock, one seed.

Discrete events in integer nanoseconds, ordered by (time, counter). The simulation is the protocols'
outbox: what they transmit it routes through the fault model, what they deliver it shows to the
workload, after the protocol's step is over, never inside it. Nothing here looks at a wall clock, so
the same arguments give the same run, compiled or not.
"""

import gc
from collections.abc import Callable
from typing import Final, TypeAlias, final

from mypy_extensions import i64

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import BufferFull, LocalError, RemoteError
from antecede.core.packets import Message, Packet
from antecede.core.process import NEVER_NS, CausalProcess, Outbox
from antecede.core.sliding import SlidingArray
from antecede.network_model.faults import Faults, FaultyNetwork
from antecede_lab.simulator.calendar import ARRIVAL, HANDLED, TIMER, WAKE, Calendar, CalendarEvent
from antecede_lab.simulator.fit import check_fit
from antecede_lab.simulator.observer import Observer
from antecede_lab.simulator.workloads.workload import UNTAGGED, Agenda, Submission, Workload


@final
class Arrived:
    """A packet that came while its process was busy."""

    __slots__ = ("packet", "source")

    def __init__(self, source: i64, packet: Packet) -> None:
        self.source: Final[i64] = source
        self.packet: Final = packet


@final
class Host:
    """A process and its place in the simulation."""

    __slots__ = ("blocked", "handling", "id", "inbox", "process", "submitted", "timer_ns")

    def __init__(self, number: i64, process: CausalProcess) -> None:
        self.id: Final[i64] = number
        self.process: Final = process
        self.submitted: i64 = 0
        self.timer_ns: i64 = NEVER_NS
        # Submissions that the protocol had no room for; delivered messages not yet handled, and
        # packets that wait for that. None until there is one: most runs have none.
        self.blocked: SlidingArray[Submission] | None = None
        self.handling: SlidingArray[Message] | None = None
        self.inbox: SlidingArray[Arrived] | None = None

    def busy(self) -> bool:
        """Whether a delivered message is being handled."""
        return self.handling is not None and self.handling.first < self.handling.next


@final
class Tagged:
    """A tag, and how many deliveries of its message are still to come."""

    __slots__ = ("missing", "tag")

    def __init__(self, tag: i64, missing: i64) -> None:
        self.tag: Final[i64] = tag
        self.missing: i64 = missing


@final
class Tags:
    """The tags of the messages under way."""

    __slots__ = ("_by_message",)

    def __init__(self) -> None:
        self._by_message: Final[dict[int, Tagged]] = {}

    def put(self, sender: i64, sequence: i64, tag: i64, targets: i64) -> None:
        """A message with this tag is under way to this number of targets."""
        self._by_message[message_key(sender, sequence)] = Tagged(tag, targets)

    def take(self, sender: i64, sequence: i64) -> i64:
        """The tag of a message that has been delivered once more, or `UNTAGGED`."""
        key = message_key(sender, sequence)
        tagged = self._by_message.get(key)
        if tagged is None:
            return UNTAGGED
        tagged.missing -= 1
        if tagged.missing == 0:
            del self._by_message[key]
        return tagged.tag


def message_key(sender: i64, sequence: i64) -> i64:
    """One number for a message; ids are below 2**31."""
    return (sequence << 31) | sender


PROGRESS_PERIOD: Final = 1 << 14
"""Events between two calls of the progress function."""

CACHED_PAYLOADS: Final = 256
CACHED_PAYLOAD_BYTES: Final = 1 << 14
"""Payloads are zeros: up to 256 different ones of at most 16 KiB are cached."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the number of events and the number of messages submitted."""


@final
class Simulation(Outbox):
    """One run, from `run()` to the end; the counts may be read at any time."""

    def __init__(
        self,
        info: ProtocolInfo,
        workload: Workload,
        *,
        faults: Faults,
        seed: int,
        observers: list[Observer] | None = None,
        handling_ns: int = 0,
        options: dict[str, object] | None = None,
    ) -> None:
        check_fit(info, workload, faults)
        if handling_ns < 0:
            raise LocalError(f"handling a message cannot take {handling_ns} ns")
        everyone = range(workload.processes)
        given = {} if options is None else options
        self.hosts: Final = [Host(me, info.create(me, everyone, **given)) for me in everyone]
        self.workload: Final = workload
        self.now_ns: i64 = 0
        self.events: i64 = 0
        self.submissions: i64 = 0
        self.copies: i64 = 0
        self.packets: i64 = 0
        self.deliveries: i64 = 0
        self.refused: i64 = 0
        self.blocked: i64 = 0
        # What was still to happen when the run ended: 0 unless it was cut short.
        self.pending: i64 = 0
        self._observers: Final = [] if observers is None else list(observers)
        self._reacts: Final = workload.reacts
        self._handling_ns: Final[i64] = handling_ns
        self._network: Final = FaultyNetwork(faults, seed)
        self._calendar: Final = Calendar()
        self._agenda: Final = Agenda(self._calendar)
        self._tags: Final = Tags()
        self._payloads: Final[dict[int, bytes]] = {}
        self._payload = b""
        self._at: Host = self.hosts[0]
        self._fresh: list[Message] = []
        self._announcing: Submission | None = None

    def run(
        self,
        *,
        until_ns: int = NEVER_NS,
        events_max: int = NEVER_NS,
        progress: Progress | None = None,
    ) -> None:
        """Run until nothing is left to happen, or a limit is reached."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            self.workload.start(self._agenda)
            self._perform()
            self._loop(until_ns, events_max, progress)
        finally:
            self.pending += self._calendar.size
            self._calendar.clear()
            if collecting:
                gc.enable()

    # The outbox of whichever process is taking a step.

    def transmit(self, target: i64, packet: Packet) -> None:
        """Route a packet through the faulty network."""
        if self._announcing is not None:
            self._announce()
        source = self._at.id
        if target < 0 or target >= len(self.hosts):
            raise LocalError(
                f"process {source} transmits to process {target}: there are 0 to "
                f"{len(self.hosts) - 1}; its protocol is wrong"
            )
        number = self.packets
        self.packets += 1
        message = packet.message
        sequence: i64 = 0
        if message is not None and message.sender == source:
            sequence = message.sequence
        for observer in self._observers:
            observer.transmitted(source, target, packet, number, self.now_ns)
        network = self._network
        network.route(source, target, sequence, number, self.now_ns)
        if network.first_ns >= 0:
            self._post(network.first_ns, source, target, packet, number)
        if network.second_ns >= 0:
            self._post(network.second_ns, source, target, packet, number)

    def deliver(self, message: Message) -> None:
        """Count a delivery, and keep it for the workload if that reacts."""
        if self._announcing is not None:
            self._announce()
        self.deliveries += 1
        for observer in self._observers:
            observer.delivered(self._at.id, message, self.now_ns)
        if self._reacts or self._handling_ns > 0:
            self._fresh.append(message)

    # What happens.

    def _loop(self, until_ns: i64, events_max: i64, progress: Progress | None) -> None:
        event = self._calendar.take()
        while event is not None and event.time_ns <= until_ns and self.events < events_max:
            self.now_ns = event.time_ns
            self.events += 1
            if event.kind == ARRIVAL:
                self._arrival(event)
            elif event.kind == WAKE:
                self.workload.woken(event.number, self.now_ns, self._agenda)
            elif event.kind == TIMER:
                self._timer(self.hosts[event.process])
            else:
                self._handled(self.hosts[event.process])
            self._calendar.recycle(event)
            if self._agenda.first is not None:
                self._perform()
            if progress is not None and self.events % PROGRESS_PERIOD == 0:
                progress(self.events, self.submissions)
            event = self._calendar.take()
        if event is not None:
            self.pending += 1

    def _post(self, time_ns: i64, source: i64, target: i64, packet: Packet, number: i64) -> None:
        self._calendar.add(time_ns, ARRIVAL, target, number, source, packet)

    def _arrival(self, event: CalendarEvent) -> None:
        packet = event.packet
        assert packet is not None, "an arrival carries a packet"
        host = self.hosts[event.process]
        for observer in self._observers:
            observer.arrived(host.id, event.source, packet, event.number, self.now_ns)
        if self._handling_ns > 0 and host.busy():
            if host.inbox is None:
                host.inbox = SlidingArray()
            host.inbox.add(Arrived(event.source, packet))
        else:
            self._arrive(host, event.source, packet)

    def _arrive(self, host: Host, source: i64, packet: Packet) -> None:
        self._at = host
        try:
            host.process.arrive_into(source, packet, self.now_ns, self)
        except RemoteError:
            self.refused += 1
        self._after_step(host)

    def _timer(self, host: Host) -> None:
        if self.now_ns < host.timer_ns:
            return
        host.timer_ns = NEVER_NS
        self._at = host
        host.process.expire_into(self.now_ns, self)
        self._after_step(host)

    def _after_step(self, host: Host) -> None:
        """A protocol's step is over: wind its timer, show the application what was delivered."""
        wake_ns = host.process.wake_ns()
        if wake_ns < host.timer_ns:
            if wake_ns < self.now_ns:
                wake_ns = self.now_ns
            host.timer_ns = wake_ns
            self._calendar.add(wake_ns, TIMER, host.id)
        if self._fresh:
            self._show(host)
        if host.blocked is not None:
            self._retry(host)

    def _show(self, host: Host) -> None:
        fresh = self._fresh
        self._fresh = []
        for message in fresh:
            if self._handling_ns > 0:
                self._begin_handling(host, message)
            else:
                self._react(host, message)

    def _begin_handling(self, host: Host, message: Message) -> None:
        if host.handling is None:
            host.handling = SlidingArray()
        host.handling.add(message)
        if host.handling.size == 1:
            self._calendar.add(self.now_ns + self._handling_ns, HANDLED, host.id)

    def _handled(self, host: Host) -> None:
        handling = host.handling
        assert handling is not None, "only a delivered message is handled"
        self._react(host, handling.remove())
        if host.busy():
            self._calendar.add(self.now_ns + self._handling_ns, HANDLED, host.id)
        while host.inbox is not None and host.inbox.size > 0 and not host.busy():
            arrived = host.inbox.remove()
            self._arrive(host, arrived.source, arrived.packet)

    def _react(self, host: Host, message: Message) -> None:
        if self._reacts:
            tag = self._tags.take(message.sender, message.sequence)
            self.workload.delivered(host.id, message, tag, self.now_ns, self._agenda)

    # What the workload asked for.

    def _perform(self) -> None:
        submission = self._agenda.take()
        while submission is not None:
            self._submit(self.hosts[submission.sender], submission)
            submission = self._agenda.take()

    def _submit(self, host: Host, submission: Submission) -> None:
        self._announcing = submission
        if host.blocked is not None or not self._try_submit(host, submission):
            # It was submitted when it was wanted: waiting for room is a part of its latency.
            self._at = host
            self._announcing = submission
            self._announce()
            self.blocked += 1
            if host.blocked is None:
                host.blocked = SlidingArray()
            host.blocked.add(submission)

    def _retry(self, host: Host) -> None:
        """Submit what there was no room for before, in order; it has been announced."""
        waiting = host.blocked
        host.blocked = None
        while waiting is not None and waiting.size > 0:
            if not self._try_submit(host, waiting.peek()):
                host.blocked = waiting
                return
            waiting.remove()

    def _try_submit(self, host: Host, submission: Submission) -> bool:
        self._at = host
        payload = self._zeros(submission.payload_bytes)
        try:
            host.process.submit_into(submission.targets, payload, self.now_ns, self)
        except BufferFull:
            self._announcing = None
            return False
        self._announce()
        self._after_step(host)
        return True

    def _announce(self) -> None:
        """A submission is accepted, or has to wait: say so once, before its first effect."""
        submission = self._announcing
        if submission is None:
            return
        self._announcing = None
        host = self._at
        host.submitted += 1
        self.submissions += 1
        self.copies += len(submission.targets)
        if submission.tag >= 0:
            self._tags.put(host.id, host.submitted, submission.tag, len(submission.targets))
        if self._observers:
            payload = self._zeros(submission.payload_bytes)
            message = Message(host.id, host.submitted, payload)
            for observer in self._observers:
                observer.submitted(host.id, message, submission.targets, self.now_ns)

    def _zeros(self, size: i64) -> bytes:
        if len(self._payload) == size:
            return self._payload
        payload = self._payloads.get(size)
        if payload is None:
            payload = bytes(size)
            if size <= CACHED_PAYLOAD_BYTES and len(self._payloads) < CACHED_PAYLOADS:
                self._payloads[size] = payload
        self._payload = payload
        return payload
