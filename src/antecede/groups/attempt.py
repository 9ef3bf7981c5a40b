"""One attempt of a joiner with one sponsor: what each of the two keeps of it."""

from typing import Final, final

from mypy_extensions import i64

from antecede.groups.names import MemberId
from antecede.groups.words import Publication, Snapshot

HELD_BYTES_MAX: Final = 256 << 20
"""A joiner keeps at most 256 MiB until it is complete; with more it begins again."""

PUBLICATION_COST: Final = 200
"""What a publication that is kept counts for beside its payload, in bytes."""


@final
class Job:
    """What a sponsor does for one attempt of a joiner."""

    __slots__ = ("attempt", "missing")

    def __init__(self, attempt: i64, missing: dict[MemberId, None]) -> None:
        self.attempt: Final[i64] = attempt
        self.missing: Final = missing


@final
class Attempt:
    """What a joiner has of its present attempt; with the next one all of it is thrown away."""

    __slots__ = (
        "cnt",
        "gone",
        "has_bytes",
        "held",
        "is_marked",
        "kept_bytes",
        "passed",
        "snapshot",
    )

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self.has_bytes = False
        # Whether the sponsor has said that all have marked.
        self.is_marked = False
        self.cnt: dict[MemberId, int] = {}
        self.passed: list[Publication] = []
        self.held: list[Publication] = []
        # Those of whom the sponsor says that they are out, beside those in its snapshot.
        self.gone: dict[MemberId, None] = {}
        self.kept_bytes: i64 = 0

    def clone(self) -> "Attempt":
        """The same, to go another way."""
        copy = Attempt()
        copy._copy(self)
        return copy

    def _copy(self, other: "Attempt") -> None:
        self.snapshot = other.snapshot
        self.has_bytes = other.has_bytes
        self.is_marked = other.is_marked
        self.cnt = dict(other.cnt)
        self.passed = list(other.passed)
        self.held = list(other.held)
        self.gone = dict(other.gone)
        self.kept_bytes = other.kept_bytes

    def on_bytes(self) -> None:
        """The bytes of the state are here."""
        self.has_bytes = True

    def on_all_marked(self) -> None:
        """complete: the sponsor says that all have marked."""
        self.is_marked = True

    def hold(self, publication: Publication) -> None:
        """It came directly."""
        self.kept_bytes += len(publication.payload) + PUBLICATION_COST
        self.held.append(publication)

    def begin(self, snapshot: Snapshot) -> None:
        """The sponsor's counts replace ours, and what it counts as gone is not held."""
        self.snapshot = snapshot
        self.cnt = dict(snapshot.cnt)
        self.held = [one for one in self.held if not self.has_out(one.sender)]

    def drop(self, member: MemberId) -> None:
        """gone M: what it sent directly is not wanted."""
        self.gone[member] = None
        self.held = [one for one in self.held if not self.has_out(one.sender)]

    def has_out(self, member: MemberId) -> bool:
        """Whether the sponsor counts this one out, so that nothing direct of it is held.

        Not even what comes later: something that happened after it may have been passed on.
        """
        snapshot = self.snapshot
        return member in self.gone or (snapshot is not None and snapshot.has_out(member))

    def take(self, publication: Publication) -> None:
        """take(M, n): it follows on what is there of its publisher, or it is dropped."""
        member = publication.sender
        if publication.number == self.cnt.get(member, 0) + 1:
            self.cnt[member] = int(publication.number)
            self.kept_bytes += len(publication.payload) + PUBLICATION_COST
            self.passed.append(publication)
