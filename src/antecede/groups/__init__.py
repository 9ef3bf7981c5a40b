"""Groups whose members change without a pause: the words that members say, and the rule.

`Room` is one room at one node. It is told what has come and answers with what to do; it has no
socket, no clock and no queue. Whoever drives it does what `antecede.groups.effects` says.
"""

from antecede.groups.effects import (
    AskLater,
    Completed,
    Dropped,
    Effect,
    FetchSnapshot,
    ForgetSnapshot,
    Joined,
    Left,
    MakeSnapshot,
    NobodyToAsk,
    Over,
    Refused,
    RestoreSnapshot,
    Send,
    Show,
    SplitSeen,
)
from antecede.groups.names import Contact, MemberId, RoomId
from antecede.groups.room import Room, answer_outside
from antecede.groups.state import RoomState
from antecede.groups.words import (
    Ask,
    Complete,
    Gone,
    Join,
    Leave,
    Mark,
    Pass,
    Publication,
    Refuse,
    Snapshot,
    Word,
    decode_word,
    encode_word,
)

__all__ = [
    "Ask",
    "AskLater",
    "Complete",
    "Completed",
    "Contact",
    "Dropped",
    "Effect",
    "FetchSnapshot",
    "ForgetSnapshot",
    "Gone",
    "Join",
    "Joined",
    "Leave",
    "Left",
    "MakeSnapshot",
    "Mark",
    "MemberId",
    "NobodyToAsk",
    "Over",
    "Pass",
    "Publication",
    "Refuse",
    "Refused",
    "RestoreSnapshot",
    "Room",
    "RoomId",
    "RoomState",
    "Send",
    "Show",
    "Snapshot",
    "SplitSeen",
    "Word",
    "answer_outside",
    "decode_word",
    "encode_word",
]
