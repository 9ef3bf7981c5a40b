"""Small event logs to look at: written down by hand, or recorded from a simulation."""

from antecede.eventlog.log import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog
from antecede_audit.report.spacetime.recording import (
    Recording,
    RecordingRows,
    build_run,
    rows_of_log,
)
from antecede_lab.simulator.networks import build_network
from antecede_lab.simulator.run import fitted, simulate
from antecede_lab.simulator.workloads.catalogue import TrafficSettings, build_workload


def simulated(protocol: str, *, messages: int = 400, processes: int = 5, seed: int = 1) -> EventLog:
    """A run over a network that loses, repeats and reorders, everybody talking to everybody."""
    traffic = TrafficSettings(
        processes=processes, messages=messages, interval_ns=3_000_000, seed=seed
    )
    workload = build_workload("poisson", traffic, {"multicast": "20%"})
    faults = build_network("lossy")
    info = fitted(protocol, workload, faults, link=True)
    result = simulate(info, workload, faults=faults, seed=seed, record=True)
    assert result.log is not None
    return result.log


class Scribe:
    """Writes a log in terms of messages and packets; times are in milliseconds."""

    def __init__(self) -> None:
        self.log = EventLog()

    def submit(self, at: int, sender: int, sequence: int, *targets: int) -> None:
        for target in targets:
            self._row(sender, SUBMITTED, sender, sequence, target, NULL, NULL, at)

    def transmit(
        self, at: int, source: int, target: int, packet: int, sender: int, sequence: int
    ) -> None:
        kind = self.log.intern("message")
        self._row(source, TRANSMITTED, sender, sequence, target, packet, kind, at)

    def arrive(self, at: int, target: int, packet: int, sender: int, sequence: int) -> None:
        kind = self.log.intern("message")
        self._row(target, ARRIVED, sender, sequence, target, packet, kind, at)

    def deliver(self, at: int, process: int, sender: int, sequence: int) -> None:
        self._row(process, DELIVERED, sender, sequence, process, NULL, NULL, at)

    def control(
        self, sent: int, arrived: int | None, source: int, target: int, packet: int
    ) -> None:
        kind = self.log.intern("ack")
        self._row(source, TRANSMITTED, NULL, NULL, target, packet, kind, sent)
        if arrived is not None:
            self._row(target, ARRIVED, NULL, NULL, target, packet, kind, arrived)

    def rows(self) -> RecordingRows:
        return rows_of_log(self.log)

    def run(self) -> Recording:
        return build_run(self.rows(), "by hand")

    def _row(
        self,
        process: int,
        kind: int,
        sender: int,
        sequence: int,
        target: int,
        packet: int,
        packet_kind: int,
        at: int,
    ) -> None:
        time_ns = at * 1_000_000
        self.log.append(process, kind, sender, sequence, target, packet, packet_kind, time_ns, 0, 0)


def overtaken() -> Scribe:
    """Alice (0) writes to carol (2), then to bob (1), whose answer overtakes at carol."""
    scribe = Scribe()
    scribe.submit(0, 0, 1, 2)
    scribe.transmit(0, 0, 2, 1, 0, 1)
    scribe.submit(1, 0, 2, 1)
    scribe.transmit(1, 0, 1, 2, 0, 2)
    scribe.arrive(2, 1, 2, 0, 2)
    scribe.deliver(2, 1, 0, 2)
    scribe.submit(3, 1, 1, 2)
    scribe.transmit(3, 1, 2, 3, 1, 1)
    scribe.arrive(4, 2, 3, 1, 1)
    scribe.deliver(4, 2, 1, 1)
    scribe.arrive(9, 2, 1, 0, 1)
    scribe.deliver(9, 2, 0, 1)
    return scribe
