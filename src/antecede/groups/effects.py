"""What a room asks its driver to do, in the order in which it answers."""

from typing import ClassVar, Final, TypeAlias, final

from mypy_extensions import i64, mypyc_attr

from antecede.core.packets import Value
from antecede.groups.names import MemberId, RoomId
from antecede.groups.words import Publication, Word


@final
@mypyc_attr(acyclic=True)
class Send(Value):
    """Submit `word` as one causal multicast to the nodes `to`.

    Who is expelled or away at this very moment is left out.
    """

    __slots__ = ("to", "word")

    FIELDS: ClassVar = ("word", "to")

    def __init__(self, word: Word, to: tuple[str, ...]) -> None:
        self.word: Final = word
        self.to: Final = to


@final
@mypyc_attr(acyclic=True)
class Show(Value):
    """Hand this to the application; when it has finished with it, call `finished`.

    It is the last of the effects that it stands in.
    """

    __slots__ = ("publication",)

    FIELDS: ClassVar = ("publication",)

    def __init__(self, publication: Publication) -> None:
        self.publication: Final = publication


@final
@mypyc_attr(acyclic=True)
class MakeSnapshot(Value):
    """Ask the application for its state; then call `snapshot_made` or `snapshot_failed`.

    Until then no word is taken and nothing is published.
    """

    __slots__ = ("attempt", "joiner")

    FIELDS: ClassVar = ("joiner", "attempt")

    def __init__(self, joiner: MemberId, attempt: i64) -> None:
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class ForgetSnapshot(Value):
    """The bytes for this attempt of `joiner` are wanted no more."""

    __slots__ = ("attempt", "joiner")

    FIELDS: ClassVar = ("joiner", "attempt")

    def __init__(self, joiner: MemberId, attempt: i64) -> None:
        self.joiner: Final = joiner
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class FetchSnapshot(Value):
    """Fetch the bytes of a state from `sponsor`, beside causal order; drop those of other attempts.

    They are named by sponsor, member id (the joiner's own) and attempt. When they are here, and
    are what `digest` says, call `snapshot_fetched`; if they cannot be had, `snapshot_lost`.
    """

    __slots__ = ("attempt", "digest", "length", "sponsor")

    FIELDS: ClassVar = ("sponsor", "attempt", "length", "digest")

    def __init__(self, sponsor: MemberId, attempt: i64, length: i64, digest: bytes) -> None:
        self.sponsor: Final = sponsor
        self.attempt: Final[i64] = attempt
        self.length: Final[i64] = length
        self.digest: Final = digest


@final
@mypyc_attr(acyclic=True)
class RestoreSnapshot(Value):
    """Give the application the state that was fetched for this attempt."""

    __slots__ = ("attempt",)

    FIELDS: ClassVar = ("attempt",)

    def __init__(self, attempt: i64) -> None:
        self.attempt: Final[i64] = attempt


@final
@mypyc_attr(acyclic=True)
class Completed(Value):
    """The join is complete: `members` are there, oneself included.

    `backlog` will be shown first, one after the other. With a journal it is written in the same
    record as the room's state, and given back to a room that is restored.
    """

    __slots__ = ("backlog", "members")

    FIELDS: ClassVar = ("members", "backlog")

    def __init__(self, members: tuple[MemberId, ...], backlog: tuple[Publication, ...]) -> None:
        self.members: Final = members
        self.backlog: Final = backlog


@final
@mypyc_attr(acyclic=True)
class Joined(Value):
    """Tell the application that `member` is in the view."""

    __slots__ = ("member",)

    FIELDS: ClassVar = ("member",)

    def __init__(self, member: MemberId) -> None:
        self.member: Final = member


@final
@mypyc_attr(acyclic=True)
class Left(Value):
    """Tell the application that `member` is in the view no more; `why`: left or expelled."""

    __slots__ = ("member", "why")

    FIELDS: ClassVar = ("member", "why")

    def __init__(self, member: MemberId, why: str) -> None:
        self.member: Final = member
        self.why: Final = why


@final
@mypyc_attr(acyclic=True)
class Refused(Value):
    """`sponsor` does not take us in, or could not finish it; the join goes on with another."""

    __slots__ = ("sponsor", "why")

    FIELDS: ClassVar = ("sponsor", "why")

    def __init__(self, sponsor: str, why: str) -> None:
        self.sponsor: Final = sponsor
        self.why: Final = why


@final
@mypyc_attr(acyclic=True)
class AskLater(Value):
    """Call `ask` after a back-off that grows with `refusals`, how many came in a row."""

    __slots__ = ("refusals",)

    FIELDS: ClassVar = ("refusals",)

    def __init__(self, refusals: i64) -> None:
        self.refusals: Final[i64] = refusals


@final
@mypyc_attr(acyclic=True)
class NobodyToAsk(Value):
    """No member is known that could sponsor us: call `ask` with a name learned outside."""

    __slots__ = ()

    FIELDS: ClassVar = ()


@final
@mypyc_attr(acyclic=True)
class Dropped(Value):
    """A publication of somebody who is no member for us was dropped; said once per sender."""

    __slots__ = ("sender",)

    FIELDS: ClassVar = ("sender",)

    def __init__(self, sender: MemberId) -> None:
        self.sender: Final = sender


@final
@mypyc_attr(acyclic=True)
class SplitSeen(Value):
    """There is another room of this name: `peer` is in `other`. Said once per room."""

    __slots__ = ("other", "peer")

    FIELDS: ClassVar = ("peer", "other")

    def __init__(self, peer: str, other: RoomId) -> None:
        self.peer: Final = peer
        self.other: Final = other


@final
@mypyc_attr(acyclic=True)
class Over(Value):
    """We have left; the room says nothing more of its own, and refuses those who ask."""

    __slots__ = ()

    FIELDS: ClassVar = ()


Effect: TypeAlias = (
    Send
    | Show
    | MakeSnapshot
    | ForgetSnapshot
    | FetchSnapshot
    | RestoreSnapshot
    | Completed
    | Joined
    | Left
    | Refused
    | AskLater
    | NobodyToAsk
    | Dropped
    | SplitSeen
    | Over
)
