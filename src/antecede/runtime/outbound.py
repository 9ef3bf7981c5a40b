"""Sending what is not an ordinary message to one peer with room for it.

Targets may have to be met, or are away; there may be no room, or others stand in front. Whatever is
waited for, everything is looked at again afterwards, and then the message is submitted in one step.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Final

from antecede.endpoint.endpoint import Endpoint
from antecede.membership.contact import ContactState
from antecede.runtime.backpressure import Backpressure
from antecede.runtime.config.settings import Settings
from antecede.runtime.content import Content
from antecede.runtime.errors import TimedOut, UnknownPeer
from antecede.runtime.notifier import Notifier
from antecede.runtime.targets import Targets, chosen_targets
from antecede.runtime.turn import Turn
from antecede.units import listing


class Outbound:
    """The slow path of one node's messages into its core."""

    def __init__(
        self,
        settings: Settings,
        endpoint: Endpoint,
        backpressure: Backpressure,
        progress: Notifier,
        now: Callable[[], int],
        turn: Turn,
        check: Callable[[], None],
        obstacles: Callable[[Sequence[str]], list[str]],
    ) -> None:
        self._settings: Final = settings
        self._endpoint: Final = endpoint
        self._backpressure: Final = backpressure
        self._progress: Final = progress
        self._now: Final = now
        self._turn: Final = turn
        # Raises if nothing may be sent: the node is closed or expelled, or its disk is full.
        self._check: Final = check
        # Why these peers are not talked to.
        self._obstacles: Final = obstacles

    async def send(
        self,
        target: str | Sequence[str],
        content: Content,
        timeout: float | None,
        submitted: Callable[[int], None] | None = None,
    ) -> tuple[int, list[str]]:
        """The message's id, and who was left out; waits for targets, for room, and for its turn.

        `submitted` is called with the id in the step that submits it: with a journal what it does
        is written with the message, or neither is.
        """
        sending = self._endpoint.sending
        if isinstance(target, Iterable) and not isinstance(target, str):
            target = list(target)  # It is looked at again after every wait.
        targets = self._resolve(target, content)
        paced = sending.wants_flush()
        if paced:
            self._turn.end()
        if paced or self._backpressure.must_wait(targets):
            wait = self._backpressure.wait(partial(self._resolve, target, content), paced)
            targets = await self._in_time(wait, timeout, targets)
            if sending.wants_flush():
                self._turn.end()
        sequence = self._submit(targets)
        if submitted is not None:
            submitted(sequence)
        self._turn.soon()
        if not sending.large_is_done():
            await self._backpressure.wait_for_large()
        return sequence, targets.left_out

    def try_send(self, target: str | Sequence[str], content: Content) -> int:
        """The message's id; `BufferFull` where `send` would wait."""
        targets = self._resolve(target, content)
        self._backpressure.check(targets)
        sequence = self._submit(targets)
        if self._endpoint.sending.wants_flush():
            self._turn.write_early()
        self._turn.soon()
        return sequence

    async def meet(self, names: Sequence[str], timeout: float | None) -> None:
        """Wait until none of these peers, or of all if none is named, is new any more.

        `TimedOut` says why it still is, as far as is known.
        """
        contacts = self._endpoint.directory.by_name
        for name in names:
            if name not in contacts:
                raise UnknownPeer(name, tuple(contacts))

        def new() -> list[str]:
            known = [contacts[name] for name in names or contacts if name in contacts]
            return [contact.name for contact in known if contact.state == ContactState.NEW]

        backpressure = self._backpressure
        await self._progress.wait_until(
            lambda: backpressure.closing or backpressure.closed or not new(),
            timeout,
            "meet",
            lambda: "; ".join(self._obstacles(new())),
        )
        self._check()

    def _resolve(self, target: object, content: Content) -> Targets:
        """Whom a message is for, if it can be sent."""
        self._check()
        return chosen_targets(self._endpoint.directory, target, content, self._settings)

    def _submit(self, targets: Targets) -> int:
        """Submit it, and report who is left out: they do not keep it from the others."""
        endpoint, now_ns = self._endpoint, self._now()
        sequence = endpoint.sending.send(targets.contacts, targets.to_self, targets.data, now_ns)
        for name in targets.left_out:
            endpoint.losses.leave_out(name, sequence)
        if targets.left_out:
            self._turn.changed()
        return sequence

    async def _in_time(
        self, wait: Coroutine[None, None, Targets], timeout: float | None, targets: Targets
    ) -> Targets:
        """What `wait` answers; `TimedOut`, with who is in the way, if that takes too long."""
        if timeout is None:
            return await wait
        try:
            async with asyncio.timeout(timeout):
                return await wait
        except TimeoutError:
            names = targets.awaited or [contact.name for contact in targets.contacts]
            known = "; ".join(self._obstacles(names)) or f"waiting for {listing(names)}"
            raise TimedOut("send", timeout, known) from None
