"""How large datagrams may be: what is lost in a burst says nothing about its size."""

from antecede.transport.recovery.path_mtu import NARROW, SUSPECT_LOSSES, PathMtu

MOST = 60_000
MS = 1_000_000


def lose(sizes: PathMtu, count: int, size: int, sent_ns: int) -> None:
    for number in range(count):
        sizes.on_lost(size, False, sent_ns + number, sent_ns + 10 * MS)


def test_large_ones_that_vanish_make_it_narrow() -> None:
    sizes = PathMtu(MOST)
    sizes.on_acked(900, False, 5 * MS, 10 * MS)  # Small ones come through.
    lose(sizes, SUSPECT_LOSSES, MOST, 0)
    assert int(sizes.size) == NARROW


def test_what_was_lost_before_one_as_large_came_was_not_too_large() -> None:
    sizes = PathMtu(MOST)
    sizes.on_acked(MOST, False, 1 * MS, 10 * MS)
    lose(sizes, 10 * SUSPECT_LOSSES, MOST, 0)
    assert int(sizes.size) == MOST


def test_one_that_came_says_nothing_of_larger_ones() -> None:
    sizes = PathMtu(MOST)
    for round_ns in range(0, SUSPECT_LOSSES * MS, MS):
        sizes.on_acked(1_400, False, round_ns + 100, round_ns + MS)
        lose(sizes, 1, 1_500, round_ns)
    assert int(sizes.size) == NARROW


def test_nor_of_what_is_sent_later() -> None:
    """A way can become narrower."""
    sizes = PathMtu(MOST)
    sizes.on_acked(MOST, False, 1 * MS, 2 * MS)
    lose(sizes, SUSPECT_LOSSES, MOST, 3 * MS)
    assert int(sizes.size) == NARROW
