"""Missing permits against a plain list, and their cost in counted steps."""

from dataclasses import dataclass
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from antecede.core.cloning import twin_of
from antecede.core.hybrid.permits import MissingPermits, PermitsOwedBy
from antecede.core.sliding import RING_SIZE_KEPT
from tests.papers.counting import LineCounter, assert_constant, interpreted_only


@dataclass
class Plain:
    """Missing permits by definition: a list of all that were ever missing."""

    ever: list[tuple[int, int, bool]]

    def missing(self) -> list[tuple[int, int, int]]:
        return [
            (sender, sequence, position)
            for position, (sender, sequence, granted) in enumerate(self.ever, start=1)
            if not granted
        ]

    def next(self) -> int:
        return len(self.ever) + 1

    def first(self) -> int:
        return min((position for _, _, position in self.missing()), default=self.next())

    def second(self) -> int:
        if not self.missing():
            return self.next()
        owing = self.missing()[0][0]
        return min((p for sender, _, p in self.missing() if sender != owing), default=self.next())

    def lowest(self, sender: int) -> int:
        return min((number for s, number, _ in self.missing() if s == sender), default=0)

    def grant(self, sender: int, sequence: int) -> bool:
        had = [number for s, number, _ in self.missing() if s == sender and number <= sequence]
        self.ever = [(s, n, g or (s == sender and n <= sequence)) for s, n, g in self.ever]
        return had != []


def agree(permits: MissingPermits, owing: list[PermitsOwedBy], plain: Plain) -> bool:
    listed = [(p.sender, p.sequence, p.position) for p in permits.missing()]
    if plain.missing():
        assert permits.first_sender() == plain.missing()[0][0]
    return (
        listed == plain.missing()
        and (permits.first, permits.second, permits.next)
        == (plain.first(), plain.second(), plain.next())
        and all(owed.lowest == plain.lowest(int(owed.sender)) for owed in owing)
    )


# Somebody's next message turns out to need a permit (True), or permits up to some id come.
happenings = st.lists(
    st.tuples(st.integers(0, 3), st.one_of(st.just(True), st.integers(0, 30))), max_size=80
)


@given(steps=happenings)
def test_positions_are_those_of_the_list_of_all_that_were_ever_missing(
    steps: list[tuple[int, bool | int]],
) -> None:
    permits = MissingPermits()
    owing = [PermitsOwedBy(sender) for sender in range(4)]
    plain = Plain([])
    highest = [0] * 4
    for sender, step in steps:
        if step is True:
            highest[sender] += 1 + sender % 2
            permits.add(owing[sender], highest[sender])
            plain.ever.append((sender, highest[sender], False))
        else:
            assert permits.grant(owing[sender], step) == plain.grant(sender, step)
        assert agree(permits, owing, plain)
        twin, twins = twin_of((permits, owing))
        assert agree(twin, twins, plain)


def test_a_copy_goes_its_own_way() -> None:
    permits = MissingPermits()
    one, two = PermitsOwedBy(1), PermitsOwedBy(2)
    permits.add(one, 5)
    permits.add(two, 3)
    twin, twin_one, twin_two = twin_of((permits, one, two))
    twin.grant(twin_one, 5)
    twin.add(twin_two, 4)
    assert (twin.first, twin.second, twin.next) == (2, 4, 4)
    assert (permits.first, permits.second, permits.next) == (1, 2, 3)


def test_a_permit_covers_all_earlier_ones_of_its_sender_and_of_nobody_else() -> None:
    permits = MissingPermits()
    one, two, three = PermitsOwedBy(1), PermitsOwedBy(2), PermitsOwedBy(3)
    for owed, sequence in ((one, 1), (two, 1), (one, 2), (one, 4)):
        permits.add(owed, sequence)
    assert permits.grant(one, 3)
    assert [(p.sender, p.sequence) for p in permits.missing()] == [(2, 1), (1, 4)]
    assert not permits.grant(one, 3)
    assert not permits.grant(three, 100)


def test_many_missing_permits_give_their_memory_back() -> None:
    permits = MissingPermits()
    one, two = PermitsOwedBy(1), PermitsOwedBy(2)
    for sequence in range(1, 10_001):
        permits.add(one, sequence)
    permits.add(two, 7)
    assert len(permits._senders) >= 10_001
    permits.grant(one, 9_999)
    assert len(permits._senders) <= RING_SIZE_KEPT
    listed = [(p.sender, p.sequence, p.position) for p in permits.missing()]
    assert listed == [(1, 10_000, 10_000), (2, 7, 10_001)]
    permits.grant(one, 10_000)
    assert (permits.first, permits.second, permits.next) == (10_001, 10_002, 10_002)


def come_and_go(count: int, order: list[int]) -> None:
    """Permits of `count` senders go missing, and come in the given order of senders."""
    permits = MissingPermits()
    owing = [PermitsOwedBy(sender) for sender in range(count)]
    for owed in owing:
        permits.add(owed, 1)
    for sender in order:
        permits.grant(owing[sender], 1)
    assert permits.first == permits.next


@interpreted_only
def test_the_cost_of_a_permit_does_not_depend_on_how_many_are_missing() -> None:
    for name in ("in order", "newest first", "oldest last", "shuffled"):
        steps = {}
        for count in (100, 400, 1_600):
            order = list(range(count))
            if name == "newest first":
                order.reverse()
            elif name == "oldest last":
                order.append(order.pop(0))
            elif name == "shuffled":
                Random(count).shuffle(order)
            counter = LineCounter("permits.py", "sliding.py", "sliding_maps.py")
            steps[count] = counter.run(come_and_go, count, order) / count
        assert_constant(steps, 1.5)
