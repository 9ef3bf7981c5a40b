"""Which copies can be late at all: a few comparisons for each event, before the kernel runs.

A copy is late if something that it caused was delivered before it, at the same process. So one of
these must have been delivered there before it: a later message of the same sender, or a message
whose sender had heard, when it submitted it, of something that was submitted no earlier than the
copy. Most messages that overtake another on their way are neither, and the fewer copies the kernel
has to watch, the narrower are the sets that it carries along.
"""

import numpy as np

from antecede_audit.judging.copies import LATEST, Flags, Integers, dense_ranks, stable_order
from antecede_audit.judging.kernel import NONE
from antecede_audit.judging.kernel_input import KernelEvents, MessageIndex


def could_be_late(events: KernelEvents, messages: MessageIndex, copies: int) -> Flags:
    """Which of so many copies may be late, as far as these events tell.

    In: events by place and position, whose times never go back along a place.
    """
    is_delivery = events.copy != NONE
    begun = starts_of(events, messages, int(events.place.max(initial=0)) + 1)
    # What a place has heard of: the latest start among what was delivered so far.
    heard = highest_so_far(events.place, np.where(is_delivery, begun[events.message], 0))
    known = np.zeros(len(begun), np.int64)
    known[events.message[~is_delivery]] = heard[~is_delivery]
    place, message = events.place[is_delivery], events.message[is_delivery]
    start = begun[message]
    flagged = is_passed(place, known[message], start)
    channel, _ = dense_ranks(
        place * (int(messages.place.max(initial=0)) + 1) + messages.place[message]
    )
    order = stable_order(channel)
    flagged[order] |= is_passed(channel[order], start[order], start[order])
    late = np.zeros(copies, np.bool_)
    late[events.copy[is_delivery]] = flagged
    return late


def starts_of(events: KernelEvents, messages: MessageIndex, places: int) -> Integers:
    """When each message was submitted, from 1 on, as a small number; 0 if nobody knows."""
    begun: Integers = np.full(len(messages.position), LATEST)
    is_submission = events.copy == NONE
    begun[events.message[is_submission]] = events.clock_ns[is_submission]
    known = begun != LATEST
    if not known.any():
        return np.zeros(len(begun), np.int64)
    low = int(begun[known].min())
    if float(begun[known].max()) - low >= float(LATEST) / (places + 1) - 2:
        begun[known] = np.unique(begun[known], return_inverse=True)[1]
        low = 0
    return np.where(known, begun - low + 1, 0)


def highest_so_far(group: Integers, value: Integers) -> Integers:
    """The greatest value of each group up to each of its members; groups stand in order."""
    width = int(value.max(initial=0)) + 1
    highest: Integers = np.maximum.accumulate(group * width + value) - group * width
    return highest


def is_passed(group: Integers, value: Integers, start: Integers) -> Flags:
    """Whether an earlier member of the same group has a value no less than one's own start."""
    width = max(int(value.max(initial=0)), int(start.max(initial=0))) + 1
    passed = np.zeros(len(group), np.bool_)
    highest = np.maximum.accumulate(group * width + value)[:-1]
    passed[1:] = highest >= (group * width + start)[1:]
    # What nobody saw submitted is not looked at.
    passed &= start > 0
    return passed
