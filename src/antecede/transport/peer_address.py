"""Where a peer is, and whether it has answered from there.

Datagrams say where a peer is now, and anybody can send some with a made-up address. So to an
address from which the peer has not answered goes little, until it repeats a number that went there.
"""

from typing import Final, final

from mypy_extensions import i64

UNLIMITED: Final = 1 << 62
AMPLIFICATION_FACTOR: Final = 3
"""An address where a peer has not answered yet gets at most 3 times the bytes that came from it."""


@final
class PeerAddress:
    """The address of one peer, and its validation in both directions."""

    __slots__ = (
        "_fixed",
        "_response",
        "allowance",
        "challenge",
        "current",
        "proven",
        "response_due",
    )

    def __init__(self, address: object, fixed: bool) -> None:
        self.current: object = address
        # Where the peer has answered from.
        self.proven: object = address
        # A configured address stays.
        self._fixed = fixed
        # To another address this many bytes may go until the peer has repeated the challenge that
        # went there; UNLIMITED: it is there.
        self.allowance: i64 = UNLIMITED
        self.challenge: i64 = 0
        # The last challenge of the peer, and whether the response to it is to leave.
        self._response: i64 = 0
        self.response_due = False

    def try_migrate(self, address: object) -> bool:
        """The newest datagram came from this address; whether the peer has moved there."""
        if self._fixed:
            return False
        self.current = address
        self.challenge = 0
        self.allowance = UNLIMITED if address == self.proven else 0
        return True

    def is_unproven(self) -> bool:
        """Whether the peer seems to be where it has not answered from."""
        return self.allowance != UNLIMITED

    def on_received(self, address: object, size: i64) -> None:
        """A datagram has come: more may go to where the peer says it is now."""
        if self.allowance != UNLIMITED and address == self.current:
            self.allowance += AMPLIFICATION_FACTOR * size

    def spend(self, size: i64) -> None:
        """A datagram has left for an address that is not proven."""
        self.allowance -= size

    def challenge_with(self, number: i64) -> None:
        """Only who receives at the peer's address can repeat this number, which nobody knows.

        Acknowledgements are no proof: numbers of datagrams can be guessed.
        """
        self.challenge = number

    def on_challenge(self, number: i64) -> None:
        """The peer wants this number repeated, to know that we are where we seem to be."""
        self._response = number
        self.response_due = True

    def on_response(self, number: i64) -> None:
        """The peer repeats a number: it is where it seems to be, if that is the right one."""
        if number == self.challenge != 0:
            self.challenge = 0
            self.allowance = UNLIMITED
            self.proven = self.current

    def take_response(self) -> i64:
        """The response is written."""
        self.response_due = False
        return self._response

    def repeat_response(self) -> None:
        """The response may be lost: it is to leave again."""
        self.response_due = True
