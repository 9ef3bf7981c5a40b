"""Topology: which counts a link carries, and that no other is ever missed."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from antecede.core import CausalProcess, Deliver, LocalError, Message, RemoteError, Transmit
from antecede_lab.protocols.topology import (
    Links,
    Topology,
    TopologyPacket,
    TopologyProcess,
    carried_counts,
    shaped,
)
from antecede_lab.wire import metadata_size
from tests.antecede.core.brute_force import (
    Arrival,
    Create,
    Schedule,
    Step,
    Submission,
    Traffic,
    differs,
    first_difference,
    random_schedule,
)
from tests.antecede.core.patched import patched

ONE_WAY: Links = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: [0]}
"""A diamond with a way back: links go one way only."""

SERVICES: Links = {
    0: [1, 2],  # the gateway asks two services, which answer it
    1: [0, 3, 4],
    2: [0, 4, 5],
    3: [1],
    4: [1, 2],
    5: [2],
}
"""A small service graph: requests go down, answers up; only service 4 is shared."""

LINKS: dict[str, Links] = {
    "ring": shaped(list(range(5)), "ring"),
    "star": shaped(list(range(5)), "star"),
    "tree": shaped(list(range(6)), "tree"),
    "one way": ONE_WAY,
    "services": SERVICES,
}


def sent(process: CausalProcess, targets: list[int]) -> dict[int, TopologyPacket]:
    found: dict[int, TopologyPacket] = {}
    for effect in process.submit(targets, b"", 0):
        assert isinstance(effect, Transmit)
        assert isinstance(effect.packet, TopologyPacket)
        found[effect.target] = effect.packet
    return found


# Which counts a link carries.


def sizes(links: Links) -> list[int]:
    """How many counts each link carries."""
    ids = sorted(links)
    return [
        sum(len(ends) for _, ends in carried_counts(ids, links, source, target))
        for source in ids
        for target in links[source]
    ]


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_a_tree_and_a_star_carry_one_count_and_a_ring_one_for_each_process(size: int) -> None:
    ids = list(range(size))
    assert set(sizes(shaped(ids, "tree"))) == {1}
    assert set(sizes(shaped(ids, "star"))) == {1}
    if size > 2:
        assert set(sizes(shaped(ids, "ring"))) == {size}


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_a_complete_graph_carries_nearly_the_whole_matrix(size: int) -> None:
    ids = list(range(size))
    links: Links = {me: [other for other in ids if other != me] for me in ids}
    shortcut = Topology(ids, None)

    assert set(sizes(links)) == {size * size - 3 * size + 3}
    for source in ids:
        for target in links[source]:
            assert shortcut.carried_on(source, target) == carried_counts(ids, links, source, target)


def on_a_simple_path(links: Links, ends: tuple[int, int], link: tuple[int, int]) -> bool:
    """Whether a path from one to the other that visits nobody twice takes this link: by trying."""
    paths = [[ends[0]]]
    for path in paths:
        if path[-1] == ends[1]:
            if link in pairwise(path):
                return True
            continue
        paths += [[*path, step] for step in links[path[-1]] if step not in path]
    return False


def random_links(random: Random, size: int) -> Links:
    share = random.choice([0.3, 0.5, 0.8])
    return {
        me: [other for other in range(size) if other != me and random.random() < share]
        for me in range(size)
    }


@pytest.mark.parametrize("seed", range(25))
def test_no_link_leaves_out_a_count_that_a_path_needs(seed: int) -> None:
    links = random_links(Random(seed), 5)
    for source in links:
        for target in links[source]:
            kept = dict(carried_counts(sorted(links), links, source, target))
            for sender in links:
                for end in links[sender]:
                    if on_a_simple_path(links, (sender, end), (source, target)):
                        assert end in kept.get(sender, [])


@pytest.mark.parametrize("name", ["ring", "star", "tree", "one way"])
def test_on_simple_shapes_a_link_carries_nothing_else(name: str) -> None:
    links = LINKS[name]
    for source in links:
        for target in links[source]:
            for sender, ends in carried_counts(sorted(links), links, source, target):
                for end in ends:
                    assert on_a_simple_path(links, (sender, end), (source, target))


def test_a_service_graph_carries_a_fraction_of_the_matrix() -> None:
    """The four that can be reached two ways form a ring; the others hang on it like leaves."""
    assert sorted(sizes(SERVICES)) == [1] * 4 + [4] * 8


# Delivery.


def schedule_along(links: Links, seed: int, messages: int = 40) -> Schedule:
    """Submissions along links only, copies arriving in any order."""
    random = Random(seed)
    counts = dict.fromkeys(links, 0)
    flying: list[Arrival] = []
    steps: list[Step] = []
    while messages or flying:
        if messages and (not flying or random.random() < 0.4):
            messages -= 1
            sender = random.choice([me for me in links if links[me]])
            count = random.randint(1, len(links[sender]))
            targets = random.sample(links[sender], count)
            counts[sender] += 1
            steps.append(Submission(sender=sender, targets=tuple(targets)))
            flying += [Arrival(message=(sender, counts[sender]), target=to) for to in targets]
        else:
            steps.append(flying.pop(random.randrange(len(flying))))
    return Schedule(processes=tuple(links), steps=tuple(steps))


def created(create: Callable[..., CausalProcess], links: Links) -> Create:
    return lambda me, processes: create(me, processes, topology=links)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", LINKS)
def test_along_links_it_delivers_as_early_as_causality_allows(name: str, seed: int) -> None:
    schedule = schedule_along(LINKS[name], seed)

    assert first_difference(created(TopologyProcess, LINKS[name]), schedule) is None


@pytest.mark.parametrize("seed", range(30))
def test_along_random_links_too(seed: int) -> None:
    links = random_links(Random(seed), 5)
    if any(links.values()):
        schedule = schedule_along(links, seed)
        assert first_difference(created(TopologyProcess, links), schedule) is None


@pytest.mark.parametrize("processes", [(0, 1, 2, 3), (3, 70, 9, 12)])
@pytest.mark.parametrize("seed", range(10))
def test_between_all_it_delivers_when_rst_does(seed: int, processes: tuple[int, ...]) -> None:
    assert (
        first_difference(TopologyProcess, random_schedule(seed, Traffic(processes=processes)))
        is None
    )


WRONG_ON_PURPOSE: dict[str, tuple[str, str]] = {
    "carries its own counts only": (
        "            if sender in informed[end]:\n",
        "            if sender == source:\n",
    ),
    "carries what concerns the target only": (
        "            if end not in concerned:\n",
        "            if end != target:\n",
    ),
    "does not count the message": ("own[target] = own.get(target, 0) + 1", "own[target] = 1"),
    "takes nothing in": (
        "                if count > row.get(end, 0):\n",
        "                if False:\n",
    ),
    "does not wait for third parties": (
        "            if me in ends:\n",
        "            if sender == source:\n",
    ),
}


@pytest.mark.parametrize("name", WRONG_ON_PURPOSE)
def test_a_wrong_rule_is_caught(name: str) -> None:
    wrong = patched(
        "antecede_lab/protocols/topology.py", WRONG_ON_PURPOSE[name], as_module="wrong_topology"
    )
    links: Links = {me: [other for other in range(4) if other != me] for me in range(4)}
    create = created(wrong.TopologyProcess, links)

    assert any(differs(create, schedule_along(links, seed)) for seed in range(20))


# Options and errors.


def test_a_message_along_no_link_is_refused() -> None:
    process = TopologyProcess(0, range(5), topology="ring")
    before = process.fingerprint()
    for targets in ([2], [1, 3]):
        with pytest.raises(LocalError, match="no link from 0 to"):
            process.submit(targets, b"", 0)
    assert process.fingerprint() == before
    assert list(sent(process, [1, 4])) == [1, 4]
    assert process.submit([0], b"me", 0) == [Deliver(Message(0, 2, b"me"))]


@pytest.mark.parametrize(
    "topology",
    ["circle", 3, [1], {0: [7]}, {7: [0]}, {0: [0]}, {0: [1, 1]}, {0: 1}, {"0": [1]}],
)
def test_a_topology_that_makes_no_sense_is_refused(topology: object) -> None:
    with pytest.raises(LocalError):
        TopologyProcess(0, range(3), topology=topology)


def test_a_packet_says_only_what_both_ends_do_not_know() -> None:
    """On a ring of twelve: an id, twelve counts of a byte each, and how many they are."""
    process = TopologyProcess(0, range(12), topology="ring")
    packet = sent(process, [1])[1]

    assert packet == TopologyPacket(Message(0, 1, b""), (1, *[0] * 11))
    assert packet.metadata_integers == 13
    assert metadata_size(packet) == 2 + 1 + 1 + 12


FORGERIES: dict[str, tuple[int, TopologyPacket]] = {
    "too few counts": (0, TopologyPacket(Message(0, 1, b""), (1, 0))),
    "too many counts": (0, TopologyPacket(Message(0, 1, b""), (1, 0, 0, 0, 0))),
    "no counts": (0, TopologyPacket(Message(0, 1, b""), ())),
    "a negative count": (0, TopologyPacket(Message(0, 1, b""), (1, 0, 0, -1))),
    "it does not count itself": (0, TopologyPacket(Message(0, 1, b""), (0, 0, 0, 0))),
    "somebody else's message": (0, TopologyPacket(Message(2, 1, b""), (1, 0, 0, 0))),
    "along no link": (3, TopologyPacket(Message(3, 1, b""), (1, 0, 0, 0))),
    "from a stranger": (9, TopologyPacket(Message(9, 1, b""), (1, 0, 0, 0))),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet_changes_nothing(name: str) -> None:
    process = TopologyProcess(1, range(4), topology="ring")
    before = process.fingerprint()
    source, packet = FORGERIES[name]

    with pytest.raises(RemoteError):
        process.arrive(source, packet, 0)
    assert process.fingerprint() == before


def test_a_packet_that_comes_again_is_refused_delivered_or_waiting() -> None:
    alice, bob = (TopologyProcess(me, range(4), topology="ring") for me in (0, 1))
    first, second = (sent(alice, [1])[1] for _ in range(2))
    for packet in (second, first):
        bob.arrive(0, packet, 0)
        with pytest.raises(RemoteError, match="came"):
            bob.arrive(0, packet, 0)
