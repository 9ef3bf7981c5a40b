"""The paper's model: no assumption about the number or the identities; processes may be added.

`ANYBODY` in place of a list of processes makes a listing take whoever speaks or is spoken to.
"""

from random import Random

import pytest

from antecede.core import CausalProcess, Deliver, LocalError, RemoteError, Transmit
from antecede.core.checks import ID_LIMIT
from antecede.core.packets import Ack, DataPacket, Message
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.protocols.paper_node import ANYBODY
from tests.properties.schedule import ROUGH, Schedule, broken_promises, run_randomly

LISTINGS = ["paper-basic", "paper-sps", "paper-multicast"]
each_listing = pytest.mark.parametrize("protocol", LISTINGS)


def alone(protocol: str, me: int) -> CausalProcess:
    return PROTOCOLS[protocol].create(me, ANYBODY)


@each_listing
def test_somebody_unknown_speaks_and_is_answered(protocol: str) -> None:
    process = alone(protocol, 0)
    stranger = ID_LIMIT - 1
    effects = process.arrive(stranger, DataPacket(Message(stranger, 1, b"hello"), 0, False), 0)
    assert [type(effect) for effect in effects] == [Deliver, Transmit]
    assert effects[1] == Transmit(stranger, Ack(1))
    [answer] = process.submit([stranger], b"welcome", 0)
    assert isinstance(answer, Transmit)
    assert answer.target == stranger


@each_listing
def test_state_grows_with_those_who_were_met_and_not_with_those_who_might_be(protocol: str) -> None:
    process = alone(protocol, 0)
    before = len(process.fingerprint())
    for stranger in (7, 7_000, 7_000_000):
        process.arrive(stranger, DataPacket(Message(stranger, 1, b""), 0, False), 0)
    assert before < len(process.fingerprint()) < before + 200
    assert process.clone().fingerprint() == process.fingerprint()


@each_listing
def test_ids_that_nobody_can_have_are_still_refused(protocol: str) -> None:
    process = alone(protocol, 0)
    before = process.fingerprint()
    for nobody in (0, -1, ID_LIMIT):
        with pytest.raises(RemoteError):
            process.arrive(nobody, Ack(1), 0)
    with pytest.raises(LocalError, match="unknown target"):
        process.submit([ID_LIMIT], b"", 0)
    assert process.fingerprint() == before


class Growing(Schedule):
    """A schedule whose processes are told of nobody, and which begins with two of them."""

    def __init__(self, protocol: str) -> None:
        super().__init__(PROTOCOLS[protocol], 2)
        self.processes = [alone(protocol, me) for me in self.everyone]

    def join(self) -> None:
        """One more; nobody is told."""
        me = len(self.everyone)
        self.everyone.append(me)
        self.processes.append(alone(self.info.name, me))
        self.submitted.append(0)
        self.waiting.append(type(self.waiting[0])())


@each_listing
@pytest.mark.parametrize("seed", range(20))
def test_processes_that_join_while_others_talk_are_served_in_causal_order(
    protocol: str, seed: int
) -> None:
    schedule, random = Growing(protocol), Random(seed)
    for _ in range(4):
        run_randomly(schedule, random, messages=10, eagerness=0.7, trouble=ROUGH)
        schedule.join()
    run_randomly(schedule, random, messages=20, eagerness=0.7, trouble=ROUGH)

    assert broken_promises(PROTOCOLS[protocol], schedule) == []
    assert schedule.refused == 0
