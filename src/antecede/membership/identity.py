"""Who a node is, as it tells its peers, and the tokens by which they are known.

Tokens are numbers that nobody can guess who was not told.
"""

from abc import abstractmethod
from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from antecede.wire.handshake import FORMER_IS_OVER, HAS_JOURNAL, Greeting


@final
class Identity:
    """What a node tells its peers about itself."""

    __slots__ = (
        "has_journal",
        "http",
        "incarnation",
        "name",
        "order",
        "payload_limit",
        "process",
        "socket_bytes",
        "window",
    )

    def __init__(
        self,
        name: str,
        *,
        incarnation: int,
        process: int,
        window: int,
        payload_limit: int,
        socket_bytes: int,
        order: str = "",
        has_journal: bool = False,
        http: str = "",
    ) -> None:
        # Where it serves HTTP, if peers are to know.
        self.http: Final = http
        # Whether it has a journal, and may come back as the same incarnation.
        self.has_journal: Final = has_journal
        self.name: Final = name
        # It may rise until the first peer is met.
        self.incarnation: i64 = incarnation
        self.process: Final[i64] = process
        self.window: Final[i64] = window
        self.payload_limit: Final[i64] = payload_limit
        self.socket_bytes: Final[i64] = socket_bytes
        self.order: Final = order

    def renumber(self, incarnation: i64) -> None:
        """It is another life than it took itself for; nobody has met it yet."""
        self.incarnation = incarnation

    def greeting(
        self,
        target: str,
        token: i64,
        echo: i64,
        met: i64,
        delivered: i64,
        former_is_over: bool = False,
    ) -> Greeting:
        """A hello or welcome to `target`, of which this incarnation was met here."""
        flags: i64 = HAS_JOURNAL if self.has_journal else 0
        if former_is_over:
            flags |= FORMER_IS_OVER
        return Greeting(
            self.name,
            target,
            self.incarnation,
            token,
            echo=echo,
            process=self.process,
            window=self.window,
            payload_limit=self.payload_limit,
            socket_bytes=self.socket_bytes,
            order=self.order,
            met=met,
            delivered=delivered,
            flags=flags,
            http=self.http,
        )


@mypyc_attr(allow_interpreted_subclasses=True)
class TokenSource:
    """Where numbers come from that nobody else can guess."""

    @abstractmethod
    def fresh(self) -> int:
        """A number, 0 < number < 2**62, that was never given out before."""

    def incarnation(self) -> int:
        """A number for a new life of a node: higher than those of its lives before."""
        return self.fresh()

    def above(self, lowest: int) -> int:
        """A number for a new life that is higher than this one, which a peer has named.

        0 if no clock can have been so far ahead: nobody may push numbers to the end of their range.
        """
        number = self.incarnation()
        return number if number > lowest else lowest + 1


@final
class DerivedTokens:
    """Tokens that need not be remembered: they follow from whom they are for, and a secret.

    So an incarnation that had to give way to made-up ones is known again by its token.
    """

    __slots__ = ("_secret", "_tokens")

    def __init__(self, tokens: TokenSource) -> None:
        self._tokens: Final = tokens
        # Made when it is first needed.
        self._secret = b""

    def token(self, session_id: i64, incarnation: i64, name: str) -> i64:
        """The token for one incarnation that would be met by a session of ours."""
        if not self._secret:
            self._secret = f"{self._tokens.fresh()} {self._tokens.fresh()}".encode()
        said = f"{session_id} {incarnation} {name}".encode()
        digest = blake2b(said, key=self._secret[:64], digest_size=8).digest()
        return 1 + (int.from_bytes(digest, "little") >> 3)
