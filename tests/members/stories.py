"""The named scenarios of membership: each says what is wrong with it, or nothing.

Two kinds of wrong are told apart. What the audit finds is never allowed. What a scenario expects of
the policy (who goes, who stays) is said in words.
"""

from collections.abc import Callable
from random import Random

from antecede_lab.simulator.nodes.faults import CRASH, PAUSE, POWER, NodeFault
from antecede_lab.simulator.run import RunResult
from tests.members.scenes import (
    SECOND,
    Knows,
    chain,
    cut_between,
    everybody,
    expulsions,
    hub,
    last_delivery_ns,
    mutual,
    played,
    split,
)
from tests.members.worlds import MS, findings

Story = Callable[[int, float], list[str]]
"""Told with a seed and with the share of multicasts; what is wrong."""


def audited(result: RunResult) -> list[str]:
    """What the audit finds."""
    return [f"{kind}: {count}" for kind, count in findings(result).items()]


def goes_on(result: RunResult, nodes: list[int], until_ns: int) -> list[str]:
    """Whether these nodes are here to the end, and deliver."""
    wrong = [f"{node} is gone" for node in nodes if node in result.departures.gone]
    late = [node for node in nodes if last_delivery_ns(result, node) < until_ns]
    return wrong + [f"{node} delivers nothing more" for node in late]


def nobody_expelled(result: RunResult) -> list[str]:
    """Whether nobody went on without anybody."""
    return [f"{at} has expelled {gone}" for at, gone in sorted(expulsions(result))]


def restarts(seed: int, nodes: int) -> list[NodeFault]:
    """Every node loses its power some time in the middle, for less than answers are waited for."""
    random = Random(f"restarts {seed}")
    return [
        NodeFault(
            kind=POWER,
            process=node,
            start_ns=0,
            end_ns=random.choice((1, 20)) * MS,
            write=random.randrange(20, 250),
        )
        for node in range(nodes)
    ]


def split_of(larger: int, smaller: int, *, heals: bool, journals: bool = False) -> Story:
    """A mesh in which all know all splits in two, and perhaps heals."""

    def story(seed: int, multicast: float) -> list[str]:
        nodes = larger + smaller
        end_ns = 5 * SECOND if heals else 1_000 * SECOND
        result = played(
            everybody(nodes),
            seed=seed,
            multicast=multicast,
            partitions=[split(range(larger, nodes), SECOND, end_ns)],
            faults=restarts(seed, nodes) if journals else (),
        )
        wrong = audited(result) + [f"{pair} have expelled each other" for pair in mutual(result)]
        if larger == smaller:
            return wrong + nobody_expelled(result)
        return wrong + goes_on(result, list(range(larger)), 7 * SECOND)

    return story


def hub_without_a_spoke(*, journals: bool) -> Story:
    """A hub with five spokes that know nobody else goes on when one of them dies."""

    def story(seed: int, multicast: float) -> list[str]:
        result = played(
            hub(5),
            seed=seed,
            multicast=multicast,
            faults=["crash:1s:3", *(restarts(seed, 3) if journals else ())],
        )
        return audited(result) + goes_on(result, [0, 1, 2, 4, 5], 7 * SECOND)

    return story


def cut_from_the_hub(seed: int, multicast: float) -> list[str]:
    """A client that cannot reach the hub, and reaches its neighbours, does not expel it."""
    result = played(
        hub(6, neighbours=1), seed=seed, multicast=multicast, cut_links=cut_between(0, 2, SECOND)
    )
    return audited(result) + goes_on(result, [0, 1, 3, 4, 5, 6], 7 * SECOND)


def idle_dead(seed: int, multicast: float) -> list[str]:
    """Four of seven clients die one by one, and nobody talks with them; then one that does."""
    result = played(
        hub(7),
        seed=seed,
        multicast=multicast,
        lasts_ns=26 * SECOND,
        interval_ns=300 * MS,
        idle=[4, 5, 6, 7],
        faults=["crash:1s:4", "crash:6s:5", "crash:11s:6", "crash:16s:7", "crash:21s:3"],
    )
    return audited(result) + goes_on(result, [0, 1, 2], 25 * SECOND)


def pair(seed: int, multicast: float) -> list[str]:
    """Of two nodes none is a majority: nobody is expelled, and the one that is left waits."""
    result = played(everybody(2), seed=seed, multicast=multicast, faults=["crash:1s:1"])
    return audited(result) + nobody_expelled(result)


def pair_that_is_cut(seed: int, multicast: float) -> list[str]:
    """Two nodes whose link is cut, and heals, have lost nothing."""
    result = played(
        everybody(2),
        seed=seed,
        multicast=multicast,
        cut_links=cut_between(0, 1, SECOND, 5 * SECOND),
    )
    return audited(result) + nobody_expelled(result) + goes_on(result, [0, 1], 7 * SECOND)


def everybody_pauses(pause_ns: int, spread_ns: int, *, journals: bool = False) -> Story:
    """All nodes stop at once, as on a machine that is suspended, and go on one after the other."""

    def story(seed: int, multicast: float) -> list[str]:
        random = Random(f"pauses {seed}")
        pauses = [
            NodeFault(
                kind=PAUSE,
                process=node,
                start_ns=SECOND + random.randrange(MS),
                end_ns=SECOND + pause_ns + random.randrange(spread_ns),
            )
            for node in range(5)
        ]
        faults = [*pauses, *(restarts(seed, 5) if journals else ())]
        result = played(everybody(5), seed=seed, multicast=multicast, faults=faults)
        return (
            audited(result) + nobody_expelled(result) + goes_on(result, [0, 1, 2, 3, 4], 7 * SECOND)
        )

    return story


def one_pauses(seed: int, multicast: float) -> list[str]:
    """A node that pauses for 0.8 of the policy's time stays."""
    result = played(
        everybody(5), seed=seed, multicast=multicast, faults=["pause:1s:1.8s:2"], loss=0.0
    )
    return audited(result) + nobody_expelled(result) + goes_on(result, [2], 7 * SECOND)


def pause_beside_a_restart(seed: int, multicast: float) -> list[str]:
    """A node that pauses for 0.8 of the policy's time stays, though another restarts meanwhile."""
    power = NodeFault(kind=POWER, process=0, start_ns=0, end_ns=MS, write=98 + 2 * (seed % 6))
    pause = NodeFault(kind=PAUSE, process=2, start_ns=SECOND, end_ns=1_800 * MS)
    result = played(everybody(5), seed=seed, multicast=multicast, faults=[pause, power], loss=0.0)
    return audited(result) + nobody_expelled(result) + goes_on(result, [2], 7 * SECOND)


def leaves_owing(seed: int, multicast: float) -> list[str]:
    """A node leaves, and cannot wait until the dead one that it had written to is expelled."""
    leaves = f"leave:{1_050 + 10 * (seed % 6)}ms:4"
    result = played(everybody(5), seed=seed, multicast=multicast, faults=["crash:1s:3", leaves])
    return audited(result) + goes_on(result, [0, 1, 2], 7 * SECOND)


def broken_link(*, journals: bool) -> Story:
    """One link between equals breaks: one of the two goes, and everybody else stays."""

    def story(seed: int, multicast: float) -> list[str]:
        result = played(
            everybody(5),
            seed=seed,
            multicast=multicast,
            cut_links=cut_between(1, 2, SECOND),
            faults=restarts(seed, 5) if journals else (),
        )
        wrong = audited(result) + goes_on(result, [0, 3, 4], 7 * SECOND)
        gone = result.departures.gone
        # With little traffic neither may owe the other anything for a while.
        return wrong if gone <= {1, 2} else [*wrong, f"{sorted(gone)} are gone"]

    return story


def cut_chain(*, heals: bool) -> Story:
    """A chain in which everybody knows its neighbours is cut in the middle: both halves go on."""

    def story(seed: int, multicast: float) -> list[str]:
        end_ns = 5 * SECOND if heals else 1_000 * SECOND
        knows: Knows = chain(6)
        result = played(
            knows, seed=seed, multicast=multicast, cut_links=cut_between(2, 3, SECOND, end_ns)
        )
        wrong = audited(result) + goes_on(result, [0, 1, 4, 5], 7 * SECOND)
        if heals and mutual(result) and not result.reports.get("Split"):
            wrong.append("nobody is told of the split")
        return wrong

    return story


def crash_of(count: int, nodes: int, *, journals: bool) -> Story:
    """Some nodes die at once, and fewer than half; the others go on."""

    def story(seed: int, multicast: float) -> list[str]:
        dead = [
            NodeFault(kind=CRASH, process=node, start_ns=SECOND, end_ns=SECOND)
            for node in range(nodes - count, nodes)
        ]
        faults = [*dead, *(restarts(seed, nodes - count) if journals else ())]
        result = played(everybody(nodes), seed=seed, multicast=multicast, faults=faults)
        return audited(result) + goes_on(result, list(range(nodes - count)), 7 * SECOND)

    return story


STORIES: dict[str, Story] = {
    "split 2|1": split_of(2, 1, heals=False),
    "split 2|1 that heals": split_of(2, 1, heals=True),
    "split 2|1 with journals": split_of(2, 1, heals=True, journals=True),
    "split 2|2": split_of(2, 2, heals=False),
    "split 2|2 that heals": split_of(2, 2, heals=True),
    "split 2|2 with journals": split_of(2, 2, heals=True, journals=True),
    "split 3|3": split_of(3, 3, heals=False),
    "split 3|3 that heals": split_of(3, 3, heals=True),
    "split 3|3 with journals": split_of(3, 3, heals=True, journals=True),
    "split 4|2": split_of(4, 2, heals=True),
    "hub without a spoke": hub_without_a_spoke(journals=False),
    "hub without a spoke, with journals": hub_without_a_spoke(journals=True),
    "cut from the hub": cut_from_the_hub,
    "idle dead": idle_dead,
    "pair": pair,
    "pair that is cut": pair_that_is_cut,
    "everybody pauses for 30 s": everybody_pauses(3 * SECOND, MS),
    "everybody pauses for 30 s, and wakes up one by one": everybody_pauses(3 * SECOND, 500 * MS),
    "everybody pauses for 8 s": everybody_pauses(800 * MS, 100 * MS),
    "everybody pauses for 30 s, with journals": everybody_pauses(
        3 * SECOND, 300 * MS, journals=True
    ),
    "one pauses for 8 s": one_pauses,
    "one pauses for 8 s, and another restarts": pause_beside_a_restart,
    "leaves owing": leaves_owing,
    "broken link": broken_link(journals=False),
    "broken link, with journals": broken_link(journals=True),
    "cut chain": cut_chain(heals=False),
    "cut chain that heals": cut_chain(heals=True),
    "two of five die": crash_of(2, 5, journals=False),
    "two of five die, with journals": crash_of(2, 5, journals=True),
}
