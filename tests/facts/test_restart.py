"""A process of `hybrid-facts` that kept its records goes on after a crash as if there was none."""

from collections.abc import Callable
from random import Random

import pytest

from antecede.audit.oracle import check_log
from antecede.core import Deliver, EffectList, LocalError, Message, Packet, Transmit
from antecede.core.catalogue import ProtocolInfo
from antecede.core.fact_packets import (
    Fact,
    FactsAck,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    Report,
    Watermark,
)
from antecede.core.protocols.facts import FactsProcess
from antecede.core.protocols.facts_journal import written
from antecede.core.protocols.facts_node import ARRIVED, DECIDED, RESUMED, SUBMITTED
from antecede.core.protocols.facts_records import arrival_record, read_arrival
from antecede.core.records import RecordReader, record
from tests.core.test_restart import run
from tests.facts.test_expulsion import info, message_to, packet_to, process
from tests.properties.schedule import EndlessError

CONFIGURATIONS = [
    {"facts": 16},
    {"facts": 0, "filter_bits": 0, "hops": 2},
    {"facts": 1, "filter_bits": 64, "exceptions": 2},
]
ANN, KIM, XEN, EVE = range(4)


def everything(records: list[bytes]) -> list[bytes]:
    return records


def is_wrong(
    made: ProtocolInfo, seed: int, kept: Callable[[list[bytes]], list[bytes]] = everything
) -> bool:
    """Whether something is lost, doubled or out of order in the schedule of this seed."""
    try:
        return not check_log(run(made, seed, kept).log).ok
    except (EndlessError, AssertionError, KeyError, IndexError, LocalError):
        return True


@pytest.mark.parametrize("options", CONFIGURATIONS)
def test_nothing_is_lost_doubled_or_out_of_order(options: dict[str, int]) -> None:
    assert [seed for seed in range(4) if is_wrong(info(options), seed)] == []


@pytest.mark.long
@pytest.mark.parametrize("options", CONFIGURATIONS)
def test_nothing_is_lost_in_a_long_campaign(options: dict[str, int]) -> None:
    assert [seed for seed in range(300) if is_wrong(info(options), seed)] == []


@pytest.mark.parametrize("kind", [SUBMITTED, RESUMED])
def test_what_is_left_out_is_noticed(kind: int) -> None:
    def kept(records: list[bytes]) -> list[bytes]:
        return [written for written in records if written[0] != kind]

    made = info({"facts": 1, "exceptions": 2})
    assert any(is_wrong(made, seed, kept) for seed in range(40))


def test_a_crash_at_any_step_leads_back_to_the_same_state() -> None:
    """After each of many steps: a twin from the records has the fingerprint of the process, but
    for what came too early and who is suspected."""
    random = Random(1)
    names = [ANN, KIM, XEN, EVE]
    running = [process(me, facts=2) for me in names]
    journals = [one.snapshot() for one in running]
    flights: list[tuple[int, int, object]] = []
    for step in range(120):
        me = random.choice(names)
        if flights and random.random() < 0.7:
            source, me, packet = flights.pop(0)
            effects = running[me].arrive(source, packet, step)  # type: ignore[arg-type] # a packet
        else:
            others = [name for name in names if name != me]
            effects = running[me].submit(random.sample(others, random.choice([1, 2])), b"x", step)
        flights += [(me, e.target, e.packet) for e in effects if isinstance(e, Transmit)]
        journals[me] += running[me].changes()
        twin = process(me, facts=2)
        twin.restore(journals[me], step)
        assert twin.fingerprint() == running[me].fingerprint(), step


def test_who_was_expelled_stays_expelled() -> None:
    ann, xen = process(ANN), process(XEN)
    journal = xen.snapshot()
    xen.submit([KIM], b"lost", 0)
    xen.expel(KIM, 1)
    journal += xen.changes()
    assert [written[0] for written in journal[1:]] == [SUBMITTED, DECIDED]

    again = process(XEN)
    effects = again.restore(journal, 5)

    assert again.fingerprint() == xen.fingerprint()
    assert again.arrive(KIM, packet_to(XEN, ann.submit([XEN], b"", 0)), 6) != []
    assert not [e for e in effects if isinstance(e, Transmit) and e.target == KIM]


def test_what_was_said_first_is_said_again() -> None:
    ann = process(ANN)
    journal = ann.snapshot()
    ann.submit([EVE], b"slow", 0)
    first = message_to(XEN, ann.submit([XEN], b"a", 0))
    journal += ann.changes()

    again = process(ANN)
    said = message_to(XEN, again.restore(journal, 9))

    assert (said.must, said.report, said.carried) == (first.must, first.report, first.carried)


def test_payloads_that_were_delivered_are_not_written_down() -> None:
    ann, xen = process(ANN), process(XEN)
    xen.snapshot()
    packet = packet_to(XEN, ann.submit([XEN], b"secret" * 100, 0))
    assert any(isinstance(effect, Deliver) for effect in xen.arrive(ANN, packet, 0))

    assert sum(len(written) for written in xen.changes()) < 40


MARKS = [Watermark(-1, 3), Watermark(7, 5, 9, (2, 1 << 40))]

PACKETS = [
    FactsMessage(Message(KIM, 1, b""), 0, [], None),
    FactsMessage(Message(KIM, 9, b""), 8, [Mark(1, 2), Mark(3, 1 << 50)], None, MARKS),
    FactsMessage(Message(KIM, 9, b""), 8, [], Report(0, (), [Fact(1, 2, 3)], 1)),
    *(
        FactsMessage(Message(KIM, 9, b""), 8, [], Report(bits, (4, 5), [], 2), MARKS)
        for bits in (1, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63), -1)
    ),
    FactsAck(3),
    FactsAck(1 << 60, MARKS),
    FactsPermit(3),
    FactsPermit(3, (1, 2), MARKS),
    FactsAsk(1, 2, 3, MARKS),
]


@pytest.mark.parametrize("packet", PACKETS, ids=repr)
def test_a_packet_that_has_come_is_the_same_in_its_record(packet: Packet) -> None:
    came = arrival_record(KIM, packet, 1 << 50)
    assert came is not None
    reader = RecordReader(came)
    assert (reader.number(), reader.number()) == (1 << 50, KIM)
    assert read_arrival(reader) == packet
    assert reader.rest() == b""
    cut = RecordReader(came[:-1])
    assert (cut.number(), cut.number()) == (1 << 50, KIM)
    with pytest.raises(LocalError, match="cut short"):
        read_arrival(cut)


def test_arrivals_of_former_versions_are_understood() -> None:
    """They were written in JSON, as news of expulsions still is."""
    ann, xen, old = process(ANN), process(XEN), process(XEN)
    journal = xen.snapshot()
    packet = packet_to(XEN, ann.submit([XEN], b"", 0))
    xen.arrive(ANN, packet, 7)
    old.restore([*journal, record(ARRIVED, [7, ANN], written(packet))], 8)
    assert old.fingerprint() == xen.fingerprint()


@pytest.mark.parametrize("bad", [b"", b"\x63", record(10, [], b"{"), record(1, [])])
def test_records_that_make_no_sense_are_refused(bad: bytes) -> None:
    with pytest.raises(LocalError):
        process(ANN).restore([bad], 0)


def test_only_a_fresh_process_is_restored() -> None:
    ann = process(ANN)
    journal = ann.snapshot()
    ann.submit([XEN], b"", 0)
    with pytest.raises(LocalError, match="only a fresh process"):
        ann.restore(journal, 0)


def test_numbers_and_names_survive() -> None:
    """Whom a number means is the driver's to keep; that it may not be told yet is ours."""
    xen = process(XEN)
    journal = xen.snapshot()
    xen.introduce(EVE, 77)
    assert xen.submit([EVE], b"later", 0) == []
    xen.identify_into(EVE, -1, 1, EffectList())
    journal += xen.changes()

    again = FactsProcess(XEN, [ANN, KIM, XEN, EVE], hops=1, covering=False)
    assert message_to(EVE, again.restore(journal, 2)).carried.payload == b"later"
