"""An envelope is written once for all messages in a row that have it: what arrives is as before."""

from collections.abc import Sequence
from random import Random

import pytest

from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.wire.envelope import MARK, Envelope, seal_envelope
from tests.antecede.endpoint.endpoints import ANN, BOB, CAT, DAN, MS, SECOND, Group, session_of

LONG_NAMES = tuple(f"a-receiver-with-a-long-name-{number}" for number in range(8))


def to_several(targets: Sequence[str], payload: bytes) -> bytes:
    """A payload as `send` makes it."""
    return seal_envelope(Envelope(targets=tuple(targets)), payload)


def bytes_sent(group: Group, source: str, targets: Sequence[str], payloads: list[bytes]) -> int:
    """How many bytes carry these messages from one node."""
    node = group.nodes[source]
    contacts = [node.directory.by_name[name] for name in targets]
    for payload in payloads:
        node.sending.send(contacts, False, payload, group.now_ns)
    node.write(group.now_ns)
    return sum(len(datagram.data) for datagram in node.out)


def test_the_names_of_the_targets_leave_once_in_a_datagram() -> None:
    group = Group([ANN, BOB, CAT], log=False, mtu=60_000)
    group.run_for(SECOND)
    one, other = (to_several(LONG_NAMES, b"%d" % number) for number in range(2))
    sent = bytes_sent(group, ANN, [BOB, CAT], [one] * 50 + [other] * 50)

    assert sent < 2 * (len(one) + 100 * 4 + 100)


def test_whoever_runs_an_earlier_version_gets_them_whole() -> None:
    group = Group([ANN, BOB], log=False, mtu=60_000)
    group.run_for(SECOND)
    session_of(group.nodes[ANN], BOB).version = 3
    payload = to_several(LONG_NAMES, b"x")

    assert bytes_sent(group, ANN, [BOB], [payload] * 50) > 50 * len(payload)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_follows_what_all_arrives_in_order_on_a_bad_network(seed: int) -> None:
    names = [ANN, BOB, CAT, DAN]
    faults = Faults(loss=0.1, duplication=0.1, latency=Uniform(MS, 5 * MS))
    group = Group(names, faults, seed=seed, log=bool(seed % 2))
    group.run_for(2 * SECOND)
    random = Random(seed)
    sent: dict[tuple[str, str], list[bytes]] = {}
    for number in range(400):
        source = random.choice(names[:2])
        others = [name for name in names if name != source]
        targets = random.choice([others[:2], others[:2], others, others[1:2]])
        payload = b"%d" % number + bytes(random.choice([0, 10, 2_000]))
        plain = len(targets) == 1
        data = payload if plain else to_several(random.choice([targets, LONG_NAMES]), payload)
        if random.random() < 0.05:
            data = payload = MARK[: random.randrange(5)] + b"\xff"
        group.send(source, targets, data)
        for target in targets:
            sent.setdefault((source, target), []).append(payload)
        if random.random() < 0.1:
            group.run_for(MS)
    group.run_until(group.drained)
    for (source, target), payloads in sent.items():
        got = [one.payload for one in group.got[target] if one.sender == source]
        assert got == payloads, (source, target)
    if group.log is not None:
        group.assert_all_is_well()
