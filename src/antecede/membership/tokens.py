"""Tokens: numbers that nobody can guess who was not told."""

from abc import abstractmethod
from hashlib import blake2b
from typing import Final, final

from mypy_extensions import i64, mypyc_attr


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
