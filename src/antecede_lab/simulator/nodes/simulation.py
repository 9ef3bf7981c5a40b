"""Whole nodes in the simulator: core, sessions and paths, over the simulated network.

What runs here is the `Endpoint` that runs behind a socket, with the same limits. Datagrams meet the
same faults as the packets of `engine.py` do, workloads and observers are the same, and the times
that they see count from the beginning of the traffic: before it, nodes have time to meet. Like
there, everything follows from the arguments.
"""

import gc
from typing import Final, final

from mypy_extensions import i64

from antecede.core.catalogue import NOT_FOR_NODES, ProtocolInfo
from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede.core.process import NEVER_NS, NodeProcess
from antecede.durability.recorder import Recorder
from antecede.endpoint.limits import Limits
from antecede.events import Report
from antecede.membership.contact import Contact, ContactState
from antecede.membership.handshake_crypto import HandshakeCrypto
from antecede.network_model.faults import Faults, FaultyNetwork
from antecede.transport.peer_lifecycle import LEAVE_WHEN_RELEASED
from antecede_audit.judging.send_outcomes import Send, SendOutcomes
from antecede_lab.simulator.calendar import ARRIVAL, TIMER, WAKE, Calendar, CalendarEvent
from antecede_lab.simulator.engine import PROGRESS_PERIOD, Progress, Tags
from antecede_lab.simulator.networks import shifted
from antecede_lab.simulator.nodes.adversary import Adversary, InterceptedPacket
from antecede_lab.simulator.nodes.departures import DepartureLog
from antecede_lab.simulator.nodes.faults import (
    DUPLICATE_NAME,
    EXPEL,
    EXPEL_GONE,
    LATE,
    LEAVE,
    NEVER,
    PAUSE,
    POWER,
    RESTART,
    NodeFault,
    check_faults,
)
from antecede_lab.simulator.nodes.host import (
    CountedTokens,
    NodeHost,
    Stuck,
    WaitingSend,
    check_payload,
    name_of,
)
from antecede_lab.simulator.nodes.journals import MemoryJournal
from antecede_lab.simulator.nodes.making import identity_of, make_endpoint
from antecede_lab.simulator.nodes.policy import SilencePolicy
from antecede_lab.simulator.nodes.rows import MEETING_NS, ObservedNode
from antecede_lab.simulator.observer import MetadataSize, Observer
from antecede_lab.simulator.workloads.workload import Agenda, Submission, Workload

BEGIN: Final = 8
FAULT: Final = 9
FAULT_END: Final = 10
POWER_BACK: Final = 11
LINGERED: Final = 12
"""Events beside those of the engine: the traffic begins; a fault does; its end; power is back; a
node that leaves waits no longer."""

DATAGRAM_SIZE: Final = 1400


@final
class NodeSimulation:
    """One run of whole nodes, from `run()` to the end; the counts may be read at any time."""

    def __init__(
        self,
        info: ProtocolInfo,
        workload: Workload,
        *,
        faults: Faults,
        seed: int,
        metadata_size: MetadataSize,
        observers: list[Observer],
        node_faults: list[NodeFault],
        options: dict[str, object],
        limits: Limits | None = None,
        datagram_size: int = DATAGRAM_SIZE,
        adversary: Adversary | None = None,
        guards: dict[str, HandshakeCrypto] | None = None,
        policy: SilencePolicy | None = None,
        outcomes: SendOutcomes | None = None,
        knows: dict[int, list[int]] | None = None,
    ) -> None:
        check_faults(node_faults, workload.processes)
        if info.name in NOT_FOR_NODES:
            raise LocalError(NOT_FOR_NODES[info.name])
        if not isinstance(info.create(0, range(2)), NodeProcess):
            raise LocalError(f"{info.name} cannot run on a node; use the core alone")
        self.workload: Final = workload
        self.now_ns: i64 = 0
        self.events: i64 = 0
        self.submissions: i64 = 0
        self.copies: i64 = 0
        self.datagrams: i64 = 0
        self.deliveries: i64 = 0
        self.blocked: i64 = 0
        self.pending: i64 = 0
        # Submissions of nodes that were not there any more.
        self.dropped: i64 = 0
        # Targets that were away, and got nothing of a message.
        self.left_out: i64 = 0
        self.registry: Final = DepartureLog(outcomes)
        self._policy: Final = policy
        self.meeting_ns: Final[i64] = MEETING_NS if policy is None else policy.meeting_ns
        # Whom each process knows; all others, if nobody says so.
        self._knows: Final = knows
        self._adversary: Final = adversary
        # The keys of each name, where there are keys.
        self._guards: Final = guards
        self._info: Final = info
        self._options: Final = options
        usual = Limits() if policy is None else policy.limits()
        self._limits: Final = usual if limits is None else limits
        self._datagram_size: Final = datagram_size
        self._observers: Final = observers
        self._metadata_size: Final = metadata_size
        self._network: Final = FaultyNetwork(shifted(faults, self.meeting_ns), seed)
        self._node_faults: Final = node_faults
        self._calendar: Final = Calendar()
        self._agenda: Final = Agenda(self._calendar, self.meeting_ns)
        self._tags: Final = Tags()
        self._tokens: Final = CountedTokens()
        self._flights: Final[dict[int, InterceptedPacket]] = {}
        self._touched: list[NodeHost] = []
        self._last_log_id: i64 = workload.processes - 1
        # The journals by the number of their event, of those whose power has failed.
        self._journals: Final = any(fault.kind == POWER for fault in node_faults)
        self._asleep: Final[dict[int, NodeHost]] = {}
        self._begun = False
        # Who answers at an address, and all nodes that ever were; whom the workload means.
        self.hosts: Final[list[NodeHost]] = []
        self._at: Final[dict[int, NodeHost]] = {}
        self._process_of: Final[dict[str, int]] = {}
        self._start_all()

    def _start_all(self) -> None:
        """Everybody begins who is there from the start."""
        absent = {fault.process for fault in self._node_faults if fault.kind in (LATE, NEVER)}
        for process in range(self.workload.processes):
            self._process_of[name_of(process)] = process
            if process not in absent:
                self._start(process, process, process)

    # The run.

    def run(
        self,
        *,
        until_ns: int = NEVER_NS,
        events_max: int = NEVER_NS,
        progress: Progress | None = None,
    ) -> None:
        """Run until nothing is left to do, or a limit is reached."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._calendar.add(self.meeting_ns, BEGIN, 0)
            for index, fault in enumerate(self._node_faults):
                if fault.kind in (POWER, NEVER):
                    continue
                self._calendar.add(self.meeting_ns + fault.start_ns, FAULT, 0, index)
            end_ns = (
                until_ns if until_ns >= NEVER_NS - self.meeting_ns else until_ns + self.meeting_ns
            )
            self._settle()
            self._loop(end_ns, events_max, progress)
        finally:
            self._calendar.clear()
            if collecting:
                gc.enable()

    def _loop(self, until_ns: i64, events_max: i64, progress: Progress | None) -> None:
        event = self._calendar.take()
        while event is not None and event.time_ns <= until_ns and self.events < events_max:
            self.now_ns = event.time_ns
            self.events += 1
            self._happen(event)
            self._calendar.recycle(event)
            self._settle()
            if progress is not None and self.events % PROGRESS_PERIOD == 0:
                progress(self.events, self.submissions)
            if not self._flights and self._is_idle():
                return
            event = self._calendar.take()
        if event is not None and not self._is_idle():
            self.pending += self._calendar.size + 1

    def _happen(self, event: CalendarEvent) -> None:
        if event.kind == ARRIVAL:
            self._arrival(self._flights.pop(event.number))
        elif event.kind == TIMER:
            self._timer(self.hosts[event.process])
        elif event.kind == WAKE:
            self.workload.woken(event.number, self.now_ns - self.meeting_ns, self._agenda)
        elif event.kind == BEGIN:
            self._begun = True
            self.workload.start(self._agenda)
        elif event.kind == FAULT:
            self._fault(event.number)
        elif event.kind == LINGERED:
            self._has_lingered(self.hosts[event.process])
        elif event.kind == POWER_BACK:
            asleep = self._asleep.pop(event.number, None)
            if asleep is not None:
                self._wake_up(asleep)
        else:
            self._fault_end(self._node_faults[event.number])

    def _is_idle(self) -> bool:
        """Whether all was sent and delivered everywhere, and nobody waits for anything."""
        if not self._begun or self.workload.remaining() > 0 or self._asleep:
            return False
        for host in self._at.values():
            if self._is_cut_off(host):
                continue
            if host.paused or self._waits(host):
                return False
        return True

    def _is_cut_off(self, host: NodeHost) -> bool:
        """Whether a node is expelled, and talks to nobody who could tell it so."""
        if int(host.log.me) not in self.registry.departures.gone:
            return False
        return not any(session.met for session in host.endpoint.sessions())

    # Nodes.

    def _start(self, process: i64, address: i64, log_id: i64) -> NodeHost:
        """A node begins to run, and knows where all others are."""
        name = name_of(process)
        incarnation = self._tokens.fresh()
        self.registry.born(name, incarnation, int(log_id))
        journal: MemoryJournal | None = None
        if self._journals:
            journal = MemoryJournal(name, self._info.name, incarnation)
            journal.fail_at(
                [f.write for f in self._node_faults if f.process == process and f.write]
            )
        return self._run_process(process, address, log_id, incarnation, journal, [])

    def _run_process(
        self,
        process: i64,
        address: i64,
        log_id: i64,
        incarnation: i64,
        journal: MemoryJournal | None,
        core: list[bytes],
    ) -> NodeHost:
        log = ObservedNode(
            log_id,
            self._observers,
            self._metadata_size,
            self.meeting_ns,
            self.registry.outcomes,
            holds_back=journal is not None,
        )
        recorder = Recorder() if journal is None else journal.recorder
        name = name_of(process)
        guard = None if self._guards is None else self._guards[name]
        me = identity_of(self._info, self._limits, name, incarnation, log_id, recorder.durable)
        endpoint = make_endpoint(
            self._info, self._options, self._limits, me, self._tokens, log, guard, recorder
        )
        host = NodeHost(len(self.hosts), process, address, log, endpoint, journal)
        if self._policy is not None:
            endpoint.detector.watch(self._policy.silence_ns, self.now_ns)
        for other in self._known_to(process):
            size = self._datagram_size
            endpoint.add_peer(name_of(other), other, other, size, self.now_ns)
        if journal is not None:
            journal.begin(endpoint, core, self.now_ns)
        self.hosts.append(host)
        self._at[address] = host
        self._touch(host)
        return host

    def _known_to(self, process: i64) -> list[int]:
        if self._knows is not None:
            return self._knows[process]
        return [other for other in range(self.workload.processes) if other != process]

    def _fall_asleep(self, host: NodeHost) -> None:
        """The power of a node has failed: the turn that it was in has never been."""
        host.log.drop()
        self.registry.power_failed(int(host.log.me))
        del self._at[host.address]
        away_ns = max(f.end_ns for f in self._node_faults if f.process == host.process and f.write)
        number = int(host.index)
        self._asleep[number] = host
        self._calendar.add(self.now_ns + away_ns, POWER_BACK, 0, number)

    def _wake_up(self, host: NodeHost) -> None:
        """The power is back: the same incarnation goes on."""
        journal = host.journal
        assert journal is not None, "who has none does not come back"
        core = journal.reopen()
        back = self._run_process(
            host.process, host.address, host.log.me, journal.incarnation, journal, core
        )
        back.take_over(host)
        # What the former process had not reported is reported now.
        numbers = list(journal.recorder.state.losses.by_number)
        for report in back.endpoint.crash_recovery.unreported():
            self._note(back, report)
        if numbers:
            journal.recorder.on_losses_reported(numbers)

    def _touch(self, host: NodeHost) -> None:
        if host.touch():
            self._touched.append(host)

    # What happens to them.

    def _arrival(self, flight: InterceptedPacket) -> None:
        host = self._at.get(flight.target)
        if host is None:
            return
        if host.paused:
            host.put_into_socket(flight)
            return
        host.endpoint.receive(int(flight.source), flight.data, self.now_ns)
        self._touch(host)

    def _timer(self, host: NodeHost) -> None:
        if self.now_ns < host.timer_ns or host.paused or self._at.get(host.address) is not host:
            return
        self._expire(host)

    def _expire(self, host: NodeHost) -> None:
        """The timer of a node has rung, perhaps late: as `Node` does it behind a socket."""
        late_ns = self.now_ns - host.timer_ns
        host.set_timer(NEVER_NS)
        policy = self._policy
        if policy is not None and policy.has_slept(late_ns):
            host.endpoint.has_slept(late_ns, self.now_ns)
        host.endpoint.expire(self.now_ns)
        if policy is not None:
            for suspect in host.endpoint.detector.suspects(self.now_ns):
                if policy.expels(suspect):
                    self._expel_peer(host, suspect.name)
        self._touch(host)

    def _fault(self, index: i64) -> None:
        fault = self._node_faults[index]
        if fault.kind == DUPLICATE_NAME:
            self._last_log_id += 1
            self._start(fault.process, self._last_log_id, self._last_log_id)
            return
        if fault.kind == EXPEL:
            self._expel(fault.by, fault.process)
            return
        if fault.kind == EXPEL_GONE:
            for process in range(self.workload.processes):
                if process not in self._at:
                    self._expel(fault.process, process)
            return
        if fault.kind == LATE:
            if not any(host.process == fault.process for host in self.hosts):
                self._start(fault.process, fault.process, fault.process)
            return
        host = self._at.get(fault.process)
        if host is not None and fault.kind == PAUSE:
            host.pause()
        elif host is not None and fault.kind == LEAVE:
            self._close(host)
        elif host is not None:
            self.registry.crashed(int(host.log.me))
            self._leave(host)
        if fault.kind == RESTART or (host is not None and fault.kind == PAUSE):
            self._calendar.add(self.meeting_ns + fault.end_ns, FAULT_END, 0, index)

    def stuck(self) -> list[Stuck]:
        """Who still waits for something, and how many of its members run and hear it."""
        found: list[Stuck] = []
        for host in self._at.values():
            if self._is_cut_off(host) or not self._waits(host):
                continue
            members = running = 1
            for contact in host.endpoint.directory.by_name.values():
                if contact.session.is_here():
                    members += 1
                    running += self._hears(host, contact)
            found.append(Stuck(int(host.process), members, running))
        return found

    def _hears(self, host: NodeHost, contact: Contact) -> bool:
        """Whether the incarnation that a node means by a name is there, and can be reached."""
        there = self._at.get(self._process_of[contact.name])
        if there is None or there.paused or there.endpoint.fenced is not None:
            return False
        if self._network.is_cut(host.address, there.address, self.now_ns):
            return False
        return bool(there.endpoint.incarnation == contact.session.incarnation)

    def _waits(self, host: NodeHost) -> bool:
        endpoint = host.endpoint
        if host.leaving or host.backlog.size() > 0 or endpoint.buffered() > 0:
            return True
        return bool(endpoint.held_back()) or not endpoint.sending.large_is_done()

    def _leave(self, host: NodeHost) -> None:
        """A node is not there any more: whoever wanted to write to it may want to give that up."""
        del self._at[host.address]
        for other in self._at.values():
            self._touch(other)

    def _close(self, host: NodeHost) -> None:
        """The application leaves: what it has not submitted by now is not sent."""
        self.dropped += host.close()
        linger_ns = self.meeting_ns // 2
        self._calendar.add(self.now_ns + linger_ns, LINGERED, host.index)
        self._touch(host)

    def _go_on_leaving(self, host: NodeHost) -> None:
        """Stop, if a node that has closed has nothing more to wait for."""
        if not host.leave(self.now_ns):
            return
        self.registry.on_left(int(host.log.me))
        self._stop(host)

    def _has_lingered(self, host: NodeHost) -> None:
        """A node that leaves has waited for long enough: it stops, and may strand others."""
        if not host.leaving or host.paused or self._at.get(host.address) is not host:
            return
        if host.journal is None and not host.said_bye:
            host.endpoint.say_bye(LEAVE_WHEN_RELEASED, self.now_ns)
            host.endpoint.write(self.now_ns)
        self.registry.crashed(int(host.log.me))
        self._stop(host)

    def _stop(self, host: NodeHost) -> None:
        """A node has left: it says so, and is not there any more."""
        host.endpoint.stop(self.now_ns)
        self._send_all(host)
        host.set_left()
        self._leave(host)

    def _expel(self, by: i64, process: i64) -> None:
        """One node suspects another; nothing happens if it does not know it."""
        host = self._at.get(by)
        if host is None or host.paused or by == process:
            return
        contact = host.endpoint.directory.by_name[name_of(process)]
        if not contact.session.met or contact.session.is_gone():
            return
        self._expel_peer(host, contact.name)

    def _expel_peer(self, host: NodeHost, name: str) -> None:
        contact = host.endpoint.directory.by_name[name]
        self.registry.expelled(contact.name, int(contact.session.incarnation))
        host.endpoint.expel(contact.name, "suspected", self.now_ns)
        self._touch(host)

    def _fault_end(self, fault: NodeFault) -> None:
        if fault.kind == RESTART:
            if fault.process not in self._at:
                self._replace_asleep(fault.process)
                self._last_log_id += 1
                self._start(fault.process, fault.process, self._last_log_id)
            return
        host = self._at.get(fault.process)
        if host is None or not host.paused:
            return
        for flight in host.resume():
            host.endpoint.receive(int(flight.source), flight.data, self.now_ns)
        self._expire(host)

    def _replace_asleep(self, process: i64) -> None:
        """A new life begins where one is without power: that one never comes back."""
        for number, host in list(self._asleep.items()):
            if host.process == process:
                self.registry.crashed(int(host.log.me))
                del self._asleep[number]

    # A turn: the applications react, then everything that may leave does.

    def _settle(self) -> None:
        self._perform()
        while self._touched:
            touched = self._touched
            self._touched = []
            for host in touched:
                host.untouch()
                if not host.paused and self._at.get(host.address) is host:
                    self._deliver(host)
                    if host.endpoint.fenced is not None:
                        self._listen(host)
                    else:
                        self._retry(host)
                        if host.leaving:
                            self._go_on_leaving(host)
            self._perform()
            for host in touched:
                if not host.paused and self._at.get(host.address) is host:
                    self._write(host)

    def _deliver(self, host: NodeHost) -> None:
        for inbound in host.endpoint.take_inbox():
            self.deliveries += 1
            inbound.done()
            if self.workload.reacts:
                sender = self._process_of[inbound.sender]
                message = Message(sender, inbound.sequence, inbound.payload)
                tag = self._tags.take(self._log_id(host, inbound.sender), inbound.sequence)
                now_ns = self.now_ns - self.meeting_ns
                self.workload.delivered(host.process, message, tag, now_ns, self._agenda)

    def _log_id(self, host: NodeHost, name: str) -> i64:
        """Whom a node means by this name, as observers call it."""
        session = host.endpoint.session_of(name)
        return host.log.me if session is None or session.rows is None else session.rows.process

    def _write(self, host: NodeHost) -> None:
        endpoint = host.endpoint
        endpoint.write(self.now_ns)
        if host.journal is not None:
            if not host.journal.write(endpoint):
                self._fall_asleep(host)
                return
            host.log.show()
            if endpoint.inbox.messages:
                self._touch(host)
        self._send_all(host)
        if endpoint.reports:
            self._listen(host)
        wake_ns = endpoint.wake_ns()
        if wake_ns < host.timer_ns:
            if wake_ns < self.now_ns:
                wake_ns = self.now_ns
            host.set_timer(wake_ns)
            self._calendar.add(wake_ns, TIMER, host.index)

    def _send_all(self, host: NodeHost) -> None:
        endpoint = host.endpoint
        for datagram in endpoint.out:
            address = datagram.address
            assert isinstance(address, int), "addresses are numbers here"
            flight = InterceptedPacket(host.address, address, datagram.data)
            if self._adversary is None:
                self._send(flight)
                continue
            for forged in self._adversary.passes(flight, int(self.now_ns)):
                self._send(forged)
        endpoint.out.clear()

    def _listen(self, host: NodeHost) -> None:
        """Take what a node says about others; one that hears that it is expelled stops."""
        endpoint = host.endpoint
        for report in endpoint.reports:
            self._note(host, report)
        endpoint.reports.clear()
        if host.journal is not None:
            fresh = host.journal.recorder.state.losses.take_fresh()
            if fresh:
                host.journal.recorder.on_losses_reported(fresh)
        if endpoint.fenced is not None:
            self._leave(host)

    def _note(self, host: NodeHost, report: Report) -> None:
        session = host.endpoint.session_of(report.name)
        current = 0 if session is None else int(session.incarnation)
        self.registry.note(int(host.log.me), report, current, self.now_ns - self.meeting_ns)

    def _send(self, flight: InterceptedPacket) -> None:
        """Route a datagram through the faulty network."""
        network = self._network
        number = self.datagrams
        self.datagrams += 1
        network.route(flight.source, flight.target, 0, number, self.now_ns)
        second_ns = network.second_ns
        if network.first_ns >= 0:
            self._post(network.first_ns, 2 * number, flight)
        if second_ns >= 0:
            self._post(second_ns, 2 * number + 1, flight)

    def _post(self, time_ns: i64, number: i64, flight: InterceptedPacket) -> None:
        self._flights[number] = flight
        self._calendar.add(time_ns, ARRIVAL, 0, number)

    # What the workload asked for.

    def _perform(self) -> None:
        submission = self._agenda.take()
        while submission is not None:
            host = self._at.get(submission.sender)
            if host is None:
                self._keep_for_later(submission)
            elif host.leaving:
                self.dropped += 1
            else:
                self._call_send(host, submission)
            submission = self._agenda.take()

    def _call_send(self, host: NodeHost, submission: Submission) -> None:
        """Submit it, or let it wait: for a peer, for room, or behind others that do."""
        backlog = host.backlog
        waiting = backlog.number(submission)
        if host.awaits_a_peer(submission):
            backlog.wait_for_peers(waiting)
        elif (
            host.paused
            or backlog.for_room.size > 0
            or backlog.shares_a_target(waiting)
            or not self._has_submitted(host, waiting)
        ):
            backlog.add(waiting)
        else:
            return
        self.blocked += 1

    def _keep_for_later(self, submission: Submission) -> None:
        """Of a node that is not there: it waits if that is without power, or else is dropped."""
        for host in self._asleep.values():
            if host.process == submission.sender:
                self.blocked += 1
                host.backlog.add(host.backlog.number(submission))
                return
        self.dropped += 1

    def _retry(self, host: NodeHost) -> None:
        host.sort_backlog()
        backlog = host.backlog
        while backlog.for_room.size > 0:
            waiting = backlog.for_room.peek()
            if backlog.shares_a_target(waiting) or host.awaits_a_peer(waiting.submission):
                backlog.wait_for_peers(waiting)
            elif not self._has_submitted(host, waiting):
                return
            backlog.for_room.remove()

    def _has_submitted(self, host: NodeHost, waiting: WaitingSend) -> bool:
        """Submit it to all targets that are here; False if it has to wait for room."""
        submission = waiting.submission
        endpoint = host.endpoint
        sending = endpoint.sending
        contacts: list[Contact] = []
        left_out: list[str] = []
        to_self = False
        for target in submission.targets:
            if target == host.process:
                to_self = True
                continue
            contact = endpoint.directory.by_name[name_of(target)]
            if contact.state == ContactState.AWAY:
                left_out.append(contact.name)
            else:
                contacts.append(contact)
        if not contacts and not to_self:
            self.dropped += 1
            return True
        if not sending.has_room_for(contacts, to_self, submission.payload_bytes):
            return False
        check_payload(submission.payload_bytes, self._datagram_size)
        payload = bytes(submission.payload_bytes)
        sequence = sending.last_sequence() + 1
        self._announce(host, contacts, to_self, sequence, payload)
        if submission.tag >= 0:
            self._tags.put(host.log.me, sequence, submission.tag, len(submission.targets))
        sending.send(contacts, to_self, payload, self.now_ns)
        for name in left_out:
            self.left_out += 1
            endpoint.losses.leave_out(name, sequence)
        if self.registry.outcomes is not None:
            names = [name_of(target) for target in submission.targets if target != host.process]
            host.log.sends(Send(int(host.log.me), int(sequence), int(waiting.call), tuple(names)))
        self._touch(host)
        return True

    def _announce(
        self, host: NodeHost, contacts: list[Contact], to_self: bool, sequence: i64, payload: bytes
    ) -> None:
        self.submissions += 1
        targets: list[int] = [host.log.me] if to_self else []
        for contact in contacts:
            rows = contact.session.rows
            targets.append(contact.process if rows is None else rows.process)
        self.copies += len(targets)
        message = Message(host.log.me, sequence, payload)
        host.log.announce(message, targets, self.now_ns - self.meeting_ns)
