"""Protocols with one thing wrong each are caught, and their failures are small and readable."""

from collections.abc import Sequence

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede.core.effects import Effect, Transmit
from antecede.core.errors import LocalError
from antecede.core.packets import Message, Packet
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.check import check, minimised
from antecede_lab.checker.failure_story import Failure, confirmed
from antecede_lab.checker.interleavings import World
from antecede_lab.checker.programs import PROGRAMS, parse
from antecede_lab.checker.search import Budgets, explore
from antecede_lab.checker.verdicts import CheckVerdict
from tests.antecede_lab.checker.careless import (
    AcknowledgingTooEarly,
    Breaking,
    CountingRefusals,
    Eager,
    Echoing,
    Forgetful,
    ForgettingInClones,
    FullAfterOne,
    Garbling,
    GivingUp,
    Gossiping,
    Outbidding,
    Refusing,
    SharingItsState,
    SilentAboutDuplicates,
    Thanking,
    ThankingTwice,
    TrustingTheFirstAck,
    UnclonableAtTheEnd,
    WaitingForAcks,
    WithoutFingerprint,
    info_of,
)

NONE = (0, 0, 0)
LOSS = (1, 0, 0)
DUPLICATE = (0, 1, 0)
BOTH = (1, 1, 0)
TIMERS = (0, 0, 1)


def failure_of(info: ProtocolInfo, program: str, faults: tuple[int, int, int] = NONE) -> Failure:
    result = check(info, PROGRAMS[program], *faults, 50_000)
    assert not result.complete
    assert result.failure is not None
    return result.failure


def promising(name: str, ordering: str) -> ProtocolInfo:
    """A protocol of the catalogue that promises more than it does."""
    return ProtocolInfo(
        name,
        PROTOCOLS[name].create,
        ordering="causal" if ordering == "causal" else "fifo",
        multicast=True,
        network="lossy",
        paper="none",
    )


@pytest.mark.parametrize(
    ("info", "program", "faults", "kind"),
    [
        (info_of(Eager, ordering="causal"), "triangle", NONE, "order"),
        (info_of(Eager, ordering="causal", network="fifo"), "multicast-triangle", NONE, "order"),
        (info_of(Eager, ordering="fifo"), "stream", NONE, "order"),
        (promising("fifo", "causal"), "relay", NONE, "order"),
        (promising("fifo", "causal"), "broadcast-race", DUPLICATE, "order"),
        (promising("none", "fifo"), "two-senders", LOSS, "order"),
        (
            info_of(WaitingForAcks, ordering="causal", network="lossy"),
            "multicast-mix",
            NONE,
            "order",
        ),
        (info_of(AcknowledgingTooEarly, ordering="causal"), "triangle", TIMERS, "order"),
        (info_of(Echoing), "fan", NONE, "twice"),
        (info_of(Eager, network="lossy"), "fan", DUPLICATE, "twice"),
        (info_of(Garbling), "fan", NONE, "invented"),
        (info_of(Gossiping), "fan", NONE, "misaddressed"),
        (info_of(Forgetful), "fan", NONE, "stuck"),
        (info_of(Eager, network="lossy"), "ping-pong", LOSS, "stuck"),
        (info_of(GivingUp, network="lossy"), "ping-pong", LOSS, "stuck"),
        (info_of(TrustingTheFirstAck, network="lossy"), "multicast-self", LOSS, "stuck"),
        (info_of(SilentAboutDuplicates, network="lossy"), "triangle", LOSS, "restless"),
        (info_of(Thanking, network="lossy"), "triangle", NONE, "restless"),
        (info_of(ThankingTwice, network="lossy"), "triangle", DUPLICATE, "restless"),
        (info_of(Outbidding, network="lossy"), "triangle", NONE, "restless"),
        (info_of(Breaking), "fan", NONE, "crashed"),
        (info_of(Refusing), "stream", NONE, "refused"),
        (info_of(SharingItsState), "fan", NONE, "unfaithful"),
        (info_of(ForgettingInClones), "fan", NONE, "unfaithful"),
        (info_of(UnclonableAtTheEnd), "fan", NONE, "unfaithful"),
        (info_of(WithoutFingerprint), "fan", NONE, "unfaithful"),
    ],
    ids=lambda value: value.name if isinstance(value, ProtocolInfo) else None,
)
def test_what_is_wrong_is_found(
    info: ProtocolInfo, program: str, faults: tuple[int, int, int], kind: str
) -> None:
    assert failure_of(info, program, faults).verdict.kind == kind


@pytest.mark.parametrize(
    ("info", "program", "faults"),
    [
        (info_of(Eager), "triangle", NONE),
        (info_of(Eager, ordering="fifo"), "triangle", NONE),
        (info_of(WaitingForAcks, ordering="causal", network="lossy"), "triangle", BOTH),
        (promising("none", "fifo"), "relay", BOTH),
        (info_of(Eager, network="lossy"), "triangle", NONE),
        (info_of(GivingUp, network="lossy"), "triangle", DUPLICATE),
        (info_of(SilentAboutDuplicates, network="lossy"), "triangle", DUPLICATE),
        (info_of(ThankingTwice, network="lossy"), "triangle", LOSS),
    ],
    ids=lambda value: value.name if isinstance(value, ProtocolInfo) else None,
)
def test_what_does_not_show_is_not_made_up(
    info: ProtocolInfo, program: str, faults: tuple[int, int, int]
) -> None:
    assert check(info, PROGRAMS[program], *faults).complete


def test_a_violation_is_told_as_the_smallest_story_that_shows_it() -> None:
    """What 0 tells itself, what 2 answers and when timers fire have nothing to do with it."""
    info = info_of(Eager, ordering="causal", network="lossy")
    text = "0 sends e to 0, a to 2, b to 1; 1 sends c to 2 after b; 2 sends d to 0 after c"
    failure = check(info, parse(text), *TIMERS).failure
    assert failure is not None
    assert failure.story() == [
        "eager runs: 0 sends a to 2, b to 1; 1 sends c to 2 after b",
        "1. Process 0 submits a to 2, and transmits a to 2.",
        "2. Process 0 submits b to 1, and transmits b to 1.",
        "3. b from 0 arrives at process 1, which delivers b.",
        "4. Process 1 submits c to 2 after b, and transmits c to 2.",
        "5. c from 1 arrives at process 2, which delivers c.",
        "Verdict: process 2 delivers c before a, although a happened before c: "
        "0 submitted a before it submitted b and 1 delivered b before it submitted c.",
    ]
    assert failure.budgets == Budgets(0, 0, 0)


def test_a_loss_that_matters_stays_in_the_story() -> None:
    info = info_of(GivingUp, network="lossy")
    assert failure_of(info, "multicast-self", BOTH).story() == [
        "givingup runs: 2 sends c to 1",
        "1. Process 2 submits c to 1, and transmits c to 1.",
        "2. The network loses c on its way from 2 to 1.",
        "Verdict: process 1 never delivers c: nothing is in flight any more, and no timer helps.",
    ]


def test_a_duplicate_that_matters_stays_in_the_story() -> None:
    assert failure_of(info_of(Eager, network="lossy"), "stream", DUPLICATE).story() == [
        "eager runs: 0 sends d to 1",
        "1. Process 0 submits d to 1, and transmits d to 1.",
        "2. The network duplicates d on its way from 0 to 1.",
        "3. d from 0 arrives at process 1, which delivers d.",
        "4. d from 0 arrives at process 1, which delivers d.",
        "Verdict: process 1 delivers d twice.",
    ]


def test_timers_and_held_back_messages_stay_in_the_story() -> None:
    info = info_of(AcknowledgingTooEarly, ordering="causal", network="lossy")
    assert failure_of(info, "triangle-back", TIMERS).story() == [
        "acknowledgingtooearly runs: 0 sends a to 2, b to 1; 1 sends c to 2 after b",
        "1. Process 0 submits a to 2, and transmits a to 2.",
        "2. Process 0 submits b to 1, and holds it back.",
        "3. a from 0 arrives at process 2, which transmits Ack(1) to 0.",
        "4. Ack(1) from 2 arrives at process 0, which transmits b to 1.",
        "5. b from 0 arrives at process 1, which transmits Ack(2) to 0.",
        "6. The timer of process 1 fires, and it delivers b.",
        "7. Process 1 submits c to 2 after b, and transmits c to 2.",
        "8. c from 1 arrives at process 2, which transmits Ack(1) to 1.",
        "9. The timer of process 2 fires, and it delivers c and delivers a.",
        "Verdict: process 2 delivers c before a, although a happened before c: "
        "0 submitted a before it submitted b and 1 delivered b before it submitted c.",
    ]


def test_a_multicast_loses_the_targets_that_do_not_matter() -> None:
    info = info_of(WaitingForAcks, ordering="causal", network="lossy")
    program = parse("0 sends a to 0+1+2+3; 1 sends b to 0+2+3 after a")
    failure = check(info, program).failure
    assert failure is not None
    assert failure.program.text in (
        "0 sends a to 1+2; 1 sends b to 2 after a",
        "0 sends a to 1+3; 1 sends b to 3 after a",
    )


def test_a_story_without_an_end_is_cut_short() -> None:
    story = failure_of(info_of(Thanking, network="lossy"), "stream").story()
    assert len(story) == 15
    assert story[-2:] == [
        "And so on.",
        "Verdict: process 1 never comes to rest: there is always one more packet.",
    ]


def test_an_endless_exchange_that_a_duplicate_starts_is_found() -> None:
    failure = failure_of(info_of(ThankingTwice, network="lossy"), "fan", DUPLICATE)
    assert failure.story()[:6] == [
        "thankingtwice runs: 2 sends d to 0",
        "1. Process 2 submits d to 0, and transmits d to 0.",
        "2. The network duplicates d on its way from 2 to 0.",
        "3. d from 2 arrives at process 0, which delivers d and transmits Ack(1) to 2.",
        "4. d from 2 arrives at process 0, which transmits Ack(1) to 2.",
        "5. Ack(1) from 0 arrives at process 2, and nothing follows.",
    ]
    assert failure.verdict.kind == "restless"


def test_what_is_missing_is_what_was_submitted() -> None:
    """Process 0 misses c, but it is b that went astray."""
    program = parse("0 sends a to 2, b to 2; 2 sends c to 0 after a+b")
    finding = explore(World(info_of(Forgetful, network="fifo"), program), Budgets(), 1000).finding
    assert finding is not None
    assert finding.verdict == CheckVerdict("stuck", 2, missing="b")


def test_a_smaller_failure_of_another_kind_does_not_take_its_place() -> None:
    """A lost message would need one message, and no order."""
    info = info_of(Eager, ordering="fifo", network="lossy")
    program = parse("0 sends a to 1, b to 1; 1 sends c to 0 after a")
    found = explore(World(info, program), Budgets(1, 0, 0), 1000, kind="order").finding
    assert found is not None
    failure = minimised(info, program, Budgets(1, 0, 0), found)
    assert failure.verdict == CheckVerdict("order", 1, "b", "a")
    assert failure.program.text == "0 sends a to 1, b to 1"
    assert failure.budgets == Budgets(0, 0, 0)


class Moody(Eager):
    """Goes by how much all processes of all runs have heard together."""

    heard_by_all = 0

    def on_message(self, source: int, message: Message) -> list[Effect]:
        Moody.heard_by_all += 1
        effects = super().on_message(source, message)
        return effects * 2 if Moody.heard_by_all == 5 else effects


def test_a_failure_that_does_not_repeat_is_reported_as_that() -> None:
    Moody.heard_by_all = 0
    failure = failure_of(info_of(Moody), "crossing")
    assert failure.verdict.kind == "unfaithful"


def test_a_story_must_hold_for_fresh_processes() -> None:
    """What Eager does wrong, told of a protocol that does not do it."""
    told = failure_of(info_of(Eager, ordering="causal", network="lossy"), "triangle")
    hybrid = PROTOCOLS["hybrid"]
    slander = Failure(hybrid, told.program, told.budgets, told.steps, told.verdict)
    assert confirmed(told) is told
    assert confirmed(slander).verdict.kind == "unfaithful"


def test_a_stuck_message_must_not_be_in_flight() -> None:
    told = failure_of(info_of(Eager, network="lossy"), "triangle", LOSS)
    kept = Failure(told.info, told.program, told.budgets, told.steps[:-1], told.verdict)
    assert confirmed(told).verdict.kind == "stuck"
    assert confirmed(kept).verdict.kind == "unfaithful"


def test_a_breakdown_says_what_broke() -> None:
    assert failure_of(info_of(Breaking), "two-senders").story()[-2:] == [
        "4. c from 1 arrives at process 2, and it breaks down.",
        "Verdict: process 2 breaks down: IndexError('outside the window').",
    ]


class Opaque(Packet):
    """A packet that does not show what is in it."""


class Mumbling(Eager):
    """Transmits packets that look all alike."""

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        super().submit(targets, payload, now_ns)
        return [Transmit(target, Opaque()) for target in targets]


def test_packets_must_show_what_is_in_them() -> None:
    with pytest.raises(LocalError, match="packets of type Opaque need a __repr__"):
        check(info_of(Mumbling), PROGRAMS["triangle"])


class ForgettingTheOrder(Eager):
    """Its fingerprint leaves out what it heard first, though it goes by that."""

    def clone(self) -> "ForgettingTheOrder":
        twin = ForgettingTheOrder(self.me, self.processes)
        twin.submitted = self.submitted
        twin.heard = self.heard.copy()
        return twin

    def submit(self, targets: Sequence[int], payload: bytes, now_ns: int) -> list[Effect]:
        effects = super().submit(targets, payload, now_ns)
        return effects if self.heard == sorted(self.heard) else list(reversed(effects))


def test_equal_fingerprints_of_objects_that_differ_are_found_out() -> None:
    program = parse("0 sends a to 2; 1 sends b to 2; 2 sends c to 0+1 after a+b")
    failure = check(info_of(ForgettingTheOrder), program).failure
    assert failure is not None
    assert failure.verdict.detail == "two objects with equal fingerprints do different things"


# No room.


def test_a_message_that_never_finds_room_is_a_failure() -> None:
    failure = failure_of(info_of(FullAfterOne, ordering="none", network="reliable"), "stream")

    assert failure.verdict.kind == "stuck"
    assert failure.story()[-1].startswith("Verdict: process 0 never has room for d: nothing is")


def test_a_refusal_that_changes_something_is_a_failure() -> None:
    failure = failure_of(info_of(CountingRefusals, ordering="none", network="reliable"), "stream")

    assert (failure.verdict.kind, failure.verdict.process) == ("crashed", 0)
    assert "BufferFull" in failure.verdict.detail
