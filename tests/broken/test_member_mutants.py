"""The rules of membership: each left out is noticed by a story or by a random world."""

from importlib import import_module

import pytest

from antecede import compiled
from tests.broken.broken_link import Change, broken_link

pytestmark = pytest.mark.skipif(
    compiled(), reason="the link is compiled as one; its mutants run interpreted"
)

CONTACT = "antecede/membership/contact.py"
ENDPOINT = "antecede/endpoint/endpoint.py"
LOSSES = "antecede/endpoint/loss_reporter.py"
DETECTOR = "antecede/membership/failure_detector.py"

MUTANTS: dict[str, tuple[tuple[Change, ...], tuple[str, ...]]] = {
    "who is left out is not named": (
        ((LOSSES, "why=LEFT_OUT)\n        self._reports.append(report)\n",
          "why=LEFT_OUT)\n"),),
        (),
    ),
    "messages are submitted to who is away": (
        ((CONTACT, "            self.is_here = state in (ContactState.HERE, ContactState.SILENT)\n",
          "            self.is_here = True\n"),),
        (),
    ),
    "who does not come is waited for": (
        ((CONTACT, "        if self.state == ContactState.NEW:\n",
          "        if self.state == ContactState.SILENT:\n"),),
        (),
    ),
    "a majority is whoever was heard lately": (
        ((DETECTOR, "if session.channel.path.answered_ns >= self._round_ns:",
          "if self._round_ns - session.lifecycle.heard_ns < self._silence_ns:"),),
        ("split 2|2", "split 3|3"),
    ),
    "nobody waits for further answers when a split heals": (
        ((DETECTOR,
          "        if now_ns - self._changed_ns < self._round_took_ns // ROUNDS_SETTLE:\n",
          "        if now_ns < self._changed_ns:\n"),),
        ("split 2|2 that heals", "split 3|3 that heals"),
    ),
    "half is enough": (
        ((DETECTOR, "return 2 * self.answered > self.members",
          "return 2 * self.answered >= self.members"),),
        ("split 2|2",),
    ),
    "who reaches fewer does not wait longer": (
        ((DETECTOR, "FEWER_FACTOR: Final = 2", "FEWER_FACTOR: Final = 1"),),
        ("cut from the hub",),
    ),
    "the idle dead stay members": (
        ((DETECTOR, "        return self.silent_ns >= needed_ns",
          "        return self.owes and self.silent_ns >= needed_ns"),),
        ("idle dead",),
    ),
    "sleep counts as the silence of others": (
        (("antecede/transport/peer_lifecycle.py", "        heard_ns = self.heard_ns + slept_ns\n",
          "        heard_ns = self.heard_ns\n"),),
        ("everybody pauses for 30 s, and wakes up one by one",),
    ),
    "silence begins before a restart": (
        ((ENDPOINT, "                session.lifecycle.begin_waiting(now_ns)\n", ""),),
        ("one pauses for 8 s, and another restarts",),
    ),
    "who leaves and owes a permit is waited for": (
        (("antecede/endpoint/endings.py",
          "            self.expel(session, self._me, LEFT_OWING, now_ns)\n"
          "            return\n", "            pass\n"),),
        ("leaves owing",),
    ),
}  # fmt: skip
"""What is changed, and the stories in which it is looked for first."""

WORLDS = 120
SEEDS = 6


def is_noticed(stories: tuple[str, ...]) -> bool:
    """Whether something goes wrong, on the link as it has been changed."""
    told = import_module("tests.members.stories").STORIES
    for seed in range(SEEDS):
        for name in stories:
            if told[name](seed, (0.4, 1.0, 0.0)[seed % 3]):
                return True
    worlds = import_module("tests.members.worlds")
    for seed in range(0 if stories else WORLDS):
        try:
            world = worlds.world_of(seed)
            if worlds.wrong_with(world, world.run()):
                return True
        except Exception:
            return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_a_rule_of_membership_left_out_is_noticed(name: str) -> None:
    changes, stories = MUTANTS[name]
    with broken_link(*changes):
        assert is_noticed(stories)
