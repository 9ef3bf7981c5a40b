"""Which copies the kernel has to watch, and which it need not."""

from collections.abc import Callable

import pytest

from antecede_audit.judging.kernel_input import could_be_late
from antecede_audit.judging.slices import SliceJudge
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, DAVE, Story
from tests.antecede_audit.spark.rows_of_events import rows_of


def strangers(story: Story) -> None:
    """Bob's message overtakes Alice's on the way to Carol; they have never heard of each other."""
    slow = story.send(ALICE, CAROL)
    quick = story.send(BOB, CAROL)
    story.deliver(CAROL, quick, slow)


def old_news(story: Story) -> None:
    """Bob had heard from Alice, but only of what she had said before."""
    before = story.send(ALICE, BOB)
    slow = story.send(ALICE, CAROL)
    story.deliver(BOB, before)
    quick = story.send(BOB, CAROL)
    story.deliver(CAROL, quick, slow)


def same_sender(story: Story) -> None:
    """Alice's second message overtakes her first."""
    first = story.send(ALICE, CAROL)
    second = story.send(ALICE, CAROL)
    story.deliver(CAROL, second, first)


def answer(story: Story) -> None:
    """Bob's message overtakes the one that Alice had sent before she wrote to him."""
    slow = story.send(ALICE, CAROL)
    relay = story.send(ALICE, BOB)
    story.deliver(BOB, relay)
    quick = story.send(BOB, CAROL)
    story.deliver(CAROL, quick, slow)


def somebody_else(story: Story) -> None:
    """Bob had heard of something newer than Alice's message, which it had nothing to do with."""
    slow = story.send(ALICE, CAROL)
    other = story.send(DAVE, BOB)
    story.deliver(BOB, other)
    quick = story.send(BOB, CAROL)
    story.deliver(CAROL, quick, slow)


@pytest.mark.parametrize(
    ("tell", "late"),
    [(strangers, 0), (old_news, 0), (same_sender, 1), (answer, 1), (somebody_else, 1)],
)
def test_only_what_somebody_may_have_heard_of_is_watched(
    tell: Callable[[Story], None], late: int
) -> None:
    """`somebody_else` shows that it is a question of times only: the kernel finds nothing there."""
    story = Story()
    tell(story)
    judge = SliceJudge(rows_of(list(story.log)), 0, None, ("process",))

    flagged = could_be_late(judge._events, judge._messages, len(judge._copies))

    assert flagged.sum() == late
    for copy in flagged.nonzero()[0].tolist():
        assert (judge._copies.sender[copy], judge._copies.process[copy]) == (ALICE, CAROL)
