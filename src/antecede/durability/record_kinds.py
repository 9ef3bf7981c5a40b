"""The kinds of records that a node writes beside its core, whose own are below `LINK`."""

from typing import Final

LINK: Final = 64

LIFE: Final = 64
PEER: Final = 65
OVER: Final = 66
FORGOTTEN: Final = 67
STONE: Final = 68
COUNTS: Final = 69
PART: Final = 70
WHOLE: Final = 71
LARGE: Final = 72
LARGE_GONE: Final = 73
PIECE: Final = 74
DROPPED: Final = 75
INBOUND: Final = 76
CONFIRMED: Final = 77
PUT: Final = 78
REMOVED: Final = 79
ENDED: Final = 80
NUMBERED: Final = 81
LOST: Final = 82
TOLD: Final = 83
SENT_BEFORE: Final = 85
LEFT_OUT: Final = 86

FORMER: Final = (84,)
"""Kinds of earlier versions, not to be used again: 84 said whom a number meant that packets name.
Only journals of an order that nodes do not have any more hold it, and those are refused."""
