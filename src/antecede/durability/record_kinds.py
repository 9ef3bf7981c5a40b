"""The kinds of records that a node writes beside its core, whose own are below `LINK`."""

from typing import Final

LINK: Final = 64

LIFE: Final = 64
PEER: Final = 65
OVER: Final = 66
FORGOTTEN: Final = 67
EXPULSION: Final = 68
COUNTS: Final = 69
FRAGMENT_SENT: Final = 70
LARGE_PAYLOAD: Final = 71
UNFINISHED_PAYLOAD: Final = 72
LARGE_GONE: Final = 73
FRAGMENT_RECEIVED: Final = 74
DROPPED: Final = 75
INBOUND: Final = 76
CONFIRMED: Final = 77
PUT: Final = 78
REMOVED: Final = 79
ENDED: Final = 80
NUMBERED: Final = 81
LOSS: Final = 82
LOSSES_REPORTED: Final = 83
SENT_BEFORE: Final = 85
LEFT_OUT: Final = 86

FORMER: Final = (84,)
"""Kinds of earlier versions, not to be used again: 84 said whom a number meant that packets name.
Only journals of an order that nodes do not have any more hold it, and those are refused."""
