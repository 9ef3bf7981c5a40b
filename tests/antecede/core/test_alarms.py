"""Alarms against an obvious model: look at every alarm, ring those whose time has come."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from antecede.core.cloning import twin_of
from antecede.core.process import NEVER_NS
from antecede.core.retransmission import DOUBLINGS_MAX, RetransmissionTimer, RetransmissionTimers
from tests.papers.counting import LineCounter, assert_constant, interpreted_only

PATIENCE_NS = 10


@dataclass
class Plain:
    """What an alarm is, without a queue."""

    since_ns: int = 0
    doublings: int = 0
    on: bool = False

    def due_ns(self) -> int:
        return self.since_ns + (PATIENCE_NS << self.doublings)


# What happens to which of five alarms, and how much time passes before it.
happenings = st.lists(
    st.tuples(
        st.sampled_from(["start", "progress", "stop", "tick"]),
        st.integers(0, 4),
        st.integers(0, 40),
    ),
    max_size=80,
)


@given(steps=happenings)
def test_alarms_ring_exactly_when_a_look_at_each_of_them_would_say(
    steps: list[tuple[str, int, int]],
) -> None:
    alarms = RetransmissionTimers(PATIENCE_NS)
    real = [RetransmissionTimer(owner) for owner in range(5)]
    plain = [Plain() for _ in range(5)]
    now_ns = 0
    for what, owner, passed_ns in steps:
        now_ns += passed_ns
        if what == "start":
            alarms.start(real[owner], now_ns)
            if not plain[owner].on:
                plain[owner] = Plain(now_ns, 0, on=True)
        elif what == "progress":
            real[owner].progress(now_ns)
            plain[owner].since_ns, plain[owner].doublings = now_ns, 0
        elif what == "stop":
            real[owner].on = plain[owner].on = False
        else:
            expected = [i for i, p in enumerate(plain) if p.on and p.due_ns() <= now_ns]
            ringing = alarms.expired(now_ns)
            assert [alarm.owner for alarm in ringing] == expected
            for alarm in ringing:
                alarms.restart_with_backoff(alarm, now_ns)
                model = plain[alarm.owner]
                model.since_ns = now_ns
                model.doublings = min(model.doublings + 1, DOUBLINGS_MAX)
        soonest_ns = min((p.due_ns() for p in plain if p.on), default=NEVER_NS)
        assert alarms.next_ns() <= soonest_ns, "a driver would sleep too long"


def rings(alarms: RetransmissionTimers, until_ns: int) -> list[int]:
    """When a driver that sleeps until `next_ns` sees something ring, and lets it wait again."""
    times = []
    while alarms.next_ns() <= until_ns:
        now_ns = alarms.next_ns()
        for alarm in alarms.expired(now_ns):
            times.append(now_ns)
            alarms.restart_with_backoff(alarm, now_ns)
    return times


def test_patience_doubles_up_to_a_limit() -> None:
    alarms = RetransmissionTimers(PATIENCE_NS)
    alarms.start(RetransmissionTimer(7), 0)
    times = rings(alarms, 2_000)
    gaps = [later - sooner for sooner, later in zip([0, *times], times, strict=False)]
    longest = PATIENCE_NS * 2**DOUBLINGS_MAX
    assert gaps[: DOUBLINGS_MAX + 1] == [PATIENCE_NS * 2**d for d in range(DOUBLINGS_MAX + 1)]
    assert set(gaps[DOUBLINGS_MAX:]) == {longest}


def test_after_progress_an_alarm_that_had_become_slow_is_quick_again() -> None:
    """Its place in the queue was far ahead; the next loss must not wait for that place."""
    alarms = RetransmissionTimers(PATIENCE_NS)
    alarm = RetransmissionTimer(7)
    alarms.start(alarm, 0)
    assert rings(alarms, 400)[-1] == 310
    alarm.progress(401)
    assert rings(alarms, 10_000)[0] == 401 + PATIENCE_NS


def test_an_alarm_that_is_off_is_forgotten_when_its_place_comes_up() -> None:
    alarms = RetransmissionTimers(PATIENCE_NS)
    alarm = RetransmissionTimer(7)
    alarms.start(alarm, 0)
    alarm.on = False
    assert alarms.expired(PATIENCE_NS) == []
    assert alarms.next_ns() == NEVER_NS


def test_a_copy_rings_as_its_original_does() -> None:
    alarms, alarm = RetransmissionTimers(PATIENCE_NS), RetransmissionTimer(7)
    alarms.start(alarm, 0)
    rings(alarms, 100)
    twins, twin = twin_of((alarms, alarm))
    twin.on = False
    assert rings(alarms, 1_000) != rings(twins, 1_000) == []


@interpreted_only
def test_a_tick_costs_what_is_due_however_many_alarms_there_are() -> None:
    steps = {}
    for count in (10, 100, 10_000):
        alarms = RetransmissionTimers(PATIENCE_NS)
        for owner in range(count):
            alarms.start(RetransmissionTimer(owner), owner)
        steps[count] = LineCounter("core/retransmission.py").run(alarms.expired, PATIENCE_NS + 4)
    assert_constant(steps, 1)


@interpreted_only
def test_progress_costs_the_same_however_many_alarms_there_are() -> None:
    steps = {}
    for count in (10, 10_000):
        alarms = RetransmissionTimers(PATIENCE_NS)
        everyone = [RetransmissionTimer(owner) for owner in range(count)]
        for alarm in everyone:
            alarms.start(alarm, 0)
        steps[count] = LineCounter("core/retransmission.py").run(everyone[5].progress, 5)
    assert_constant(steps, 1)
