"""An event log becomes copies and packets: nothing is lost on the way, and nothing is made up."""

from collections import Counter

import pytest

from antecede.eventlog.log import EventLog
from antecede_audit.report.spacetime.diagram import Diagram, diagram_object
from antecede_audit.report.spacetime.recording import (
    AGAIN,
    DOUBLED,
    FIRST,
    IMPLIED,
    MISSING,
    Recording,
    build_run,
    ordered,
    rows_of_log,
)
from tests.antecede_audit.report.logs import Scribe, overtaken, simulated

MS = 1_000_000


def arrows(run: Recording) -> list[tuple[str, int, int, int, int, int]]:
    """Kind, source, target, sent and arrived in milliseconds, and which repetition it is."""
    packets = run.packets
    return [
        (
            run.packet_kinds[packets.kind[packet]],
            packets.source[packet],
            packets.target[packet],
            packets.sent_ns[packet] // MS,
            packets.arrived_ns[packet] // MS,
            packets.repeated[packet],
        )
        for packet in range(len(packets))
    ]


def test_a_copy_has_its_four_instants() -> None:
    scribe = Scribe()
    scribe.submit(1, 0, 1, 1)
    scribe.transmit(3, 0, 1, 7, 0, 1)
    scribe.arrive(6, 1, 7, 0, 1)
    scribe.deliver(10, 1, 0, 1)
    run = scribe.run()

    copies = run.copies
    assert (run.start_ns, run.span_ns) == (1 * MS, 9 * MS)
    assert (copies.sender, copies.sequence, copies.target) == ([0], [1], [1])
    assert copies.submitted_ns == [0]
    assert copies.transmitted_ns == [2 * MS]
    assert copies.arrived_ns == [5 * MS]
    assert copies.delivered_ns == [9 * MS]
    assert (copies.submitted_at, copies.delivered_at) == ([0], [1])


def test_every_transmission_is_an_arrow_and_says_what_it_is() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.transmit(0, 0, 1, 1, 0, 1)  # is lost
    scribe.transmit(5, 0, 1, 2, 0, 1)  # comes twice
    scribe.arrive(6, 1, 2, 0, 1)
    scribe.deliver(6, 1, 0, 1)
    scribe.control(6, 8, 1, 0, 3)
    scribe.arrive(9, 1, 2, 0, 1)
    run = scribe.run()

    assert arrows(run) == [
        ("message", 0, 1, 0, MISSING, FIRST),
        ("message", 0, 1, 5, 6, AGAIN),
        ("message", 0, 1, 5, 9, DOUBLED),
        ("ack", 1, 0, 6, 8, FIRST),
    ]
    assert run.packets.copy == [0, 0, 0, MISSING]
    assert run.copies.transmitted_ns == [0]
    assert run.copies.arrived_ns == [6 * MS]


def test_a_multicast_is_one_message_in_several_copies() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1, 2)
    scribe.deliver(1, 2, 0, 1)
    scribe.deliver(2, 1, 0, 1)
    run = scribe.run()

    assert run.messages == 1
    assert run.copies.target == [1, 2]
    assert run.copies.submitted_at == [0, 0]


def test_a_log_that_knows_only_the_two_ends_has_implied_arrows() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.deliver(4, 1, 0, 1)
    scribe.submit(5, 1, 1, 1)
    scribe.deliver(5, 1, 1, 1)
    run = scribe.run()

    assert arrows(run) == [(IMPLIED, 0, 1, 0, 4, FIRST)]


def test_a_relayed_packet_is_an_arrow_but_no_copy() -> None:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 2)
    scribe.transmit(0, 0, 1, 1, 0, 1)
    scribe.arrive(1, 1, 1, 0, 1)
    scribe.transmit(1, 1, 2, 2, 0, 1)
    scribe.arrive(2, 2, 2, 0, 1)
    scribe.deliver(2, 2, 0, 1)
    run = scribe.run()

    assert [arrow[1:3] for arrow in arrows(run)] == [(0, 1), (1, 2)]
    assert run.packets.copy == [MISSING, 0]
    assert len(run.copies) == 1


def test_an_arrival_that_nobody_sent_is_counted_and_not_drawn() -> None:
    scribe = Scribe()
    scribe.arrive(1, 1, 99, 0, 1)
    run = scribe.run()

    assert (run.unmatched, len(run.packets)) == (1, 0)


def test_ids_that_two_senders_share_are_told_apart_by_time() -> None:
    scribe = Scribe()
    scribe.control(0, None, 0, 2, 5)
    scribe.control(3, 4, 1, 2, 5)
    run = scribe.run()

    assert arrows(run) == [
        ("ack", 0, 2, 0, MISSING, FIRST),
        ("ack", 1, 2, 3, 4, FIRST),
    ]


def test_an_empty_log_is_an_empty_run() -> None:
    run = build_run(rows_of_log(EventLog()), "nothing")

    assert (len(run.copies), len(run.packets), run.processes) == (0, 0, ())


def test_of_repeated_deliveries_the_first_counts() -> None:
    scribe = overtaken()
    scribe.deliver(11, 2, 0, 1)
    run = scribe.run()

    assert run.copies.delivered_ns[0] == 9 * MS


@pytest.mark.parametrize("protocol", ["hybrid", "none", "rst"])
def test_a_simulated_log_is_accounted_for_to_the_last_row(protocol: str) -> None:
    log = simulated(protocol)
    kinds = Counter(event.kind for event in log)
    run = build_run(rows_of_log(log), protocol)

    packets = run.packets
    assert len(run.copies) == kinds["submitted"]
    assert sum(time != MISSING for time in run.copies.delivered_ns) == kinds["delivered"]
    assert sum(repeated != DOUBLED for repeated in packets.repeated) == kinds["transmitted"]
    assert sum(time != MISSING for time in packets.arrived_ns) == kinds["arrived"]
    assert run.unmatched == 0


def test_processes_stand_in_the_order_of_their_names() -> None:
    names = {5: "node-10", 6: "node-2", 7: "alice"}

    assert ordered([9, 5, 6, 8, 7], names) == (7, 6, 5, 8, 9)


def test_names_and_labels_follow_the_rows() -> None:
    run = build_run(
        overtaken().rows(),
        "named",
        names={0: "zoe", 1: "bob"},
        labels={(0, 1): "question", (77, 1): "nobody's"},
    )

    assert run.names == ("bob", "zoe", "P2")
    assert run.labels == {(1, 1): "question"}


def test_packets_are_drawn_by_what_they_are_for_whoever_sends_them() -> None:
    found: dict[str, str] = {}
    for protocol in ("hybrid", "rst"):
        data = diagram_object(Diagram(run=build_run(rows_of_log(simulated(protocol)), protocol)))
        kinds, styles = data["kinds"], data["styles"]
        assert isinstance(kinds, list)
        assert isinstance(styles, list)
        found.update(zip(kinds, styles, strict=True))

    assert (found["message"], found["permit"]) == ("message", "permit")
    assert (found["ack"], found["link-ack"]) == ("ack", "ack")
