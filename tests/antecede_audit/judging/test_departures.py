"""What may be missing when somebody is gone, and what may not: each finding by hand."""

from antecede_audit.judging.departures import (
    Departures,
    ExpulsionRow,
    LateFromExpelled,
    judge_departures,
)
from antecede_audit.judging.findings import Loss, MessageId
from tests.antecede_audit.judging.stories import ALICE, BOB, CAROL, DAVE, Story


def gone(*processes: int, **news: object) -> Departures:
    departures = Departures(gone=set(processes))
    for name, value in news.items():
        setattr(departures, name, value)
    return departures


def test_who_is_there_must_get_what_others_who_are_there_have_sent() -> None:
    story = Story()
    story.send(ALICE, BOB, at=1)
    assert judge_departures(story.log, gone(CAROL)).lost == [
        Loss(target=BOB, message=MessageId(ALICE, 1), submitted_ns=1_000)
    ]
    assert judge_departures(story.log, gone(CAROL)).findings() == {"lost": 1}


def test_of_a_process_that_is_gone_anything_may_be_missing() -> None:
    story = Story()
    story.send(ALICE, BOB, CAROL, at=1)
    assert judge_departures(story.log, gone(ALICE)).ok


def test_what_one_that_is_gone_may_have_missed_must_be_reported_to_its_sender() -> None:
    story = Story()
    story.send(ALICE, BOB, at=1)
    second = story.send(ALICE, BOB, at=2)
    story.deliver(BOB, second, at=3)
    assert judge_departures(story.log, gone(BOB)).findings() == {"unreported": 1}
    assert judge_departures(story.log, gone(BOB, undelivered={(ALICE, 1, BOB)})).ok
    assert not judge_departures(story.log, gone(BOB, undelivered={(ALICE, 2, BOB)})).ok


def test_who_goes_on_without_somebody_takes_nothing_more_of_it() -> None:
    story = Story()
    slow = story.send(BOB, ALICE, at=1)
    story.deliver(ALICE, slow, at=9)
    fences = [ExpulsionRow(at=ALICE, gone=BOB, time_ns=5_000)]
    judgement = judge_departures(story.log, gone(BOB, fences=fences))
    assert judgement.stale == [LateFromExpelled(process=ALICE, message=MessageId(BOB, 1), gone=BOB)]
    assert judge_departures(
        story.log, gone(BOB, fences=[ExpulsionRow(at=ALICE, gone=BOB, time_ns=9_000)])
    ).ok


def test_nor_does_anybody_who_has_what_was_sent_after_that() -> None:
    """Alice expels Bob and writes to Carol, Carol to Dave: he may not take Bob's any more."""
    story = Story()
    slow = story.send(BOB, DAVE, at=1)
    after = story.send(ALICE, CAROL, at=6)
    story.deliver(CAROL, after, at=7)
    passed_on = story.send(CAROL, DAVE, at=8)
    story.deliver(DAVE, passed_on, at=9)
    story.deliver(DAVE, slow, at=10)
    fences = [ExpulsionRow(at=ALICE, gone=BOB, time_ns=5_000)]
    judgement = judge_departures(story.log, gone(BOB, fences=fences))
    assert judgement.stale == [LateFromExpelled(process=DAVE, message=MessageId(BOB, 1), gone=BOB)]


def test_what_was_sent_before_binds_nobody() -> None:
    story = Story()
    slow = story.send(BOB, CAROL, at=1)
    before = story.send(ALICE, CAROL, at=4)
    story.deliver(CAROL, before, at=7)
    story.deliver(CAROL, slow, at=10)
    assert judge_departures(
        story.log, gone(BOB, fences=[ExpulsionRow(at=ALICE, gone=BOB, time_ns=5_000)])
    ).ok


def test_nothing_sent_after_an_expulsion_is_delivered_at_the_expelled() -> None:
    story = Story()
    after = story.send(ALICE, BOB, at=6)
    story.deliver(BOB, after, at=7)
    fences = [ExpulsionRow(at=ALICE, gone=BOB, time_ns=5_000)]
    judgement = judge_departures(story.log, gone(BOB, fences=fences))
    assert judgement.findings() == {"stale": 1}


def test_order_counts_also_among_those_who_are_gone() -> None:
    story = Story()
    slow = story.send(ALICE, CAROL, at=1)
    relay = story.send(ALICE, BOB, at=2)
    story.deliver(BOB, relay, at=3)
    answer = story.send(BOB, CAROL, at=4)
    story.deliver(CAROL, answer, at=5)
    story.deliver(CAROL, slow, at=9)
    assert judge_departures(story.log, gone(ALICE, BOB, CAROL)).findings() == {"violations": 1}
