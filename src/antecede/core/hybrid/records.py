"""The records of a hybrid process: what happened to it, as far as it must survive a crash."""

from typing import Final

from mypy_extensions import i64

from antecede.core.packets import Message
from antecede.core.records import encode_record

NUMBERED: Final = 1
SUBMITTED: Final = 2
DELIVERED: Final = 3
ACKED: Final = 4
PERMITTED: Final = 5
EXPELLED: Final = 6
PEER: Final = 7
MISSING: Final = 8
POSITION: Final = 9
"""Kinds of records. The last three occur in snapshots only: they stand for what is long past."""


def submission_record(message: Message, permits_before: i64, targets: list[int]) -> bytes:
    """A message of our own that these have not acknowledged."""
    numbers = [int(message.sequence), int(permits_before), len(targets), *targets]
    return encode_record(SUBMITTED, numbers, message.payload)
