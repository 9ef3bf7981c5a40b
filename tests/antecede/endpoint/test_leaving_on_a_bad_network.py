"""Everybody leaves at once while the network loses a third: nobody is kept waiting for a ghost.

Whoever has what it needs stops answering, so the last words are said to somebody who may be gone.
"""

import pytest

from antecede.events import PeerRestarted, Report
from antecede.network_model.faults import Faults
from antecede.network_model.latency import Uniform
from antecede.transport.peer_lifecycle import LEAVE_AFTER_BYE, LEAVE_WHEN_RELEASED
from tests.antecede.endpoint.endpoints import MS, NAMES, SECOND, Group

AWFUL = Faults(
    latency=Uniform(MS, 6 * MS), loss=0.3, duplication=0.2, reordering=0.2, reordering_ns=30 * MS
)


@pytest.mark.parametrize("mode", [LEAVE_WHEN_RELEASED, LEAVE_AFTER_BYE], ids=["released", "bye"])
@pytest.mark.parametrize("seed", range(1, 13))
def test_all_can_leave_and_nobody_seems_to_have_come_back(seed: int, mode: int) -> None:
    group = Group(NAMES, AWFUL, seed=seed)
    for number in range(4):
        for source in NAMES:
            group.send(source, [name for name in NAMES if name != source], b"%d" % number)
    group.run_until(group.drained)
    for node in group.nodes.values():
        node.say_bye(mode, group.now_ns)

    reports: list[Report] = []

    def all_have_left() -> bool:
        for name, node in list(group.nodes.items()):
            reports.extend(group.reports(name))
            if not node.awaited():
                group.kill(name)
        return not group.nodes

    group.run_until(all_have_left, within_ns=60 * SECOND)
    assert [report for report in reports if isinstance(report, PeerRestarted)] == []
