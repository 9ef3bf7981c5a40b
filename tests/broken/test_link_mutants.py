"""Expulsion at the level of the link: each of its rules left out is noticed by the judge."""

from importlib import import_module

import pytest

from antecede import compiled
from antecede_lab.chaos.simulated import fault_plan, run_plan
from tests.broken.broken_link import Change, broken_link
from tests.broken.link_stories import STORIES

pytestmark = pytest.mark.skipif(
    compiled(), reason="the link is compiled as one; its mutants run interpreted"
)

MUTANTS: dict[str, tuple[Change, ...]] = {
    "nothing waits for a notice to be noted": (
        (
            "antecede/transport/send_queue.py",
            'wait, or leave again."""\n        self.blocked = blocked\n',
            'wait, or leave again."""\n        self.blocked = False\n',
        ),
    ),
    "messages do not wait for a notice to be noted": (
        (
            "antecede/transport/send_queue.py",
            "        if self.blocked:\n            return False\n",
            "",
        ),
    ),
    "that a notice was noted is not believed": (
        (
            "antecede/endpoint/protocol_driver.py",
            "on_packet(session, acked, now_ns)\n        self._follow_notices(session)\n",
            "on_packet(session, acked, now_ns)\n",
        ),
    ),
    "who tells of an expulsion is told of it": (
        (
            "antecede/endpoint/protocol_driver.py",
            "may be the only one that comes.\n        self._follow_notices(session)\n",
            "may be the only one that comes.\n",
        ),
    ),
    "an expelled incarnation is met again": (
        (
            "antecede/membership/expulsions.py",
            "newest is not None and incarnation <= newest",
            "newest is not None and incarnation < 0",
        ),
    ),
    "the expelled are never told": (
        (
            "antecede/endpoint/expulsion_news.py",
            "            self._writer.write_expulsion(session, record, address, size, now_ns)\n",
            "",
        ),
    ),
    "a notice does not count for earlier incarnations": (
        (
            "antecede/membership/expulsions.py",
            "0 < session.incarnation < record.incarnation",
            "session.incarnation < 0",
        ),
    ),
    "the former incarnation of one that is back is forgotten, not expelled": (
        (
            "antecede/endpoint/endpoint.py",
            "            self._endings.expel(former, self._me.name, RESTARTED, now_ns)\n",
            "            self._endings.give_up(former, now_ns)\n",
        ),
    ),
    "those met later are not told": (
        ("antecede/endpoint/endpoint.py", "        self._core.meet(session, now_ns)\n", ""),
    ),
    "what an expelled one may have missed is not reported": (
        (
            "antecede/endpoint/endings.py",
            "        whole = self._sending.withdraw_target(session, unconfirmed)\n",
            "        whole = self._sending.withdraw_target(session, unconfirmed)[:0]\n",
        ),
    ),
}
WORLDS = 40


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_well(name: str) -> None:
    assert STORIES[name]()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_rule_left_out_is_noticed(name: str) -> None:
    with broken_link(*MUTANTS[name]) as ordeals:
        stories = import_module("tests.broken.link_stories").STORIES
        noticed = not all(story() for story in stories.values())
        for seed in range(0 if noticed else WORLDS):
            found = ordeals.run_plan("hybrid", ordeals.fault_plan(seed)).findings()
            if found and not run_plan("hybrid", fault_plan(seed)).findings():
                noticed = True
                break

    assert noticed
