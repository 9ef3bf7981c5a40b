"""The words of rooms on their way into the core: at once if there is room, else in their order."""

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.groups import Word, encode_word
from antecede.membership.contact import Contact
from antecede.runtime.notifier import Notifier, yield_to_loop
from antecede.runtime.room_contacts import RoomContacts
from antecede.runtime.turn import Turn
from antecede.wire.envelope import ROOM, Envelope, seal_envelope


class RoomOutbox:
    """What the rooms of one node have to say, and found no room for."""

    def __init__(
        self,
        endpoint: Endpoint,
        contacts: RoomContacts,
        progress: Notifier,
        turn: Turn,
        now: Callable[[], int],
        run: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        self._endpoint: Final = endpoint
        self._contacts: Final = contacts
        self._progress: Final = progress
        self._turn: Final = turn
        self._now: Final = now
        # Does something beside everything else; the rooms go on when it is done.
        self._run: Final = run
        self._waiting: Final[deque[tuple[bytes, tuple[str, ...]]]] = deque()

    def is_waiting(self) -> bool:
        """Whether something has found no room: until it has, no word is taken, nothing said."""
        return bool(self._waiting)

    def here(self, names: Sequence[str]) -> list[Contact]:
        """Those of them that get what is sent now."""
        by_name = self._endpoint.directory.by_name
        return [by_name[name] for name in names if name in by_name and by_name[name].is_here]

    def submit(self, word: Word, to: Sequence[str]) -> None:
        """Send a word; what is submitted later leaves later."""
        body = encode_word(self._contacts.with_addresses(word))
        data = seal_envelope(Envelope(ROOM), body)
        if self._waiting or not self._endpoint.sending.has_room():
            if not self._waiting:
                self._run(self._drain())
            self._waiting.append((data, tuple(to)))
        else:
            self._submit(data, to)

    def _submit(self, data: bytes, to: Sequence[str]) -> None:
        contacts = self.here(to)
        if contacts and self._endpoint.fenced is None:
            self._endpoint.sending.send(contacts, False, data, self._now())
            self._turn.soon()

    async def _drain(self) -> None:
        await yield_to_loop()
        while self._waiting:
            if self._endpoint.sending.has_room():
                self._submit(*self._waiting.popleft())
            else:
                await self._progress.wait()
