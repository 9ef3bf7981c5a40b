"""Which datagrams leave in one call: the order stays, and a kernel can cut them again."""

from random import Random

import pytest

from antecede.transport.datagram import BATCH_BYTES, SEGMENTS_MAX, Datagram, batches


def sizes(*datagrams: tuple[str, int]) -> list[tuple[object, list[int]]]:
    found = batches([Datagram(address, bytes(size)) for address, size in datagrams])
    return [(batch.address, [len(data) for data in batch.contents]) for batch in found]


def test_neighbours_of_one_size_leave_together_and_a_smaller_one_is_the_last() -> None:
    assert sizes(("a", 9), ("a", 9), ("a", 4), ("a", 9)) == [("a", [9, 9, 4]), ("a", [9])]
    assert sizes(("a", 4), ("a", 9)) == [("a", [4]), ("a", [9])]
    assert sizes(("a", 9), ("b", 9), ("a", 9)) == [("a", [9]), ("b", [9]), ("a", [9])]
    assert sizes() == []


def test_no_call_has_more_than_a_kernel_takes() -> None:
    small = sizes(*[("a", 10)] * (2 * SEGMENTS_MAX + 1))
    assert [len(found) for _, found in small] == [SEGMENTS_MAX, SEGMENTS_MAX, 1]
    large = sizes(*[("a", 1400)] * 100)
    assert all(sum(found) <= BATCH_BYTES for _, found in large)
    assert sum(len(found) for _, found in large) == 100


@pytest.mark.parametrize("seed", range(20))
def test_cut_again_they_are_what_they_were(seed: int) -> None:
    random = Random(seed)
    datagrams = [
        Datagram(random.choice("aab"), random.randbytes(random.choice([3, 5, 5, 5, 700])))
        for _ in range(300)
    ]
    cut = [
        (batch.address, joined[start : start + int(batch.size)])
        for batch in batches(datagrams)
        for joined in [b"".join(batch.contents)]
        for start in range(0, len(joined), int(batch.size))
    ]
    assert cut == [(datagram.address, datagram.data) for datagram in datagrams]
