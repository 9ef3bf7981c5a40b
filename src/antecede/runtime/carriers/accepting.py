"""Accepts connections, without a log line for each that there is no room for.

asyncio's own server tries a hundred times in a row to take a caller, logs every failure, and plans
to try again as often: in a process that has no file descriptors left that fills the log, and its
time.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Final, TypeAlias, final

from antecede.runtime.config.addresses import Address

AT_ONCE: Final = 16
"""At most 16 connections are accepted in one turn of the loop."""

RETRY_SECONDS: Final = 1.0
"""When the system had no room for a connection, accepting pauses for 1 s."""

CALLERS_WAITING: Final = 128
"""At most 128 connections wait in the kernel to be accepted."""

OnCaller: TypeAlias = Callable[[socket.socket, Address], None]
MakeRoom: TypeAlias = Callable[[OSError], bool]


@final
class Callers:
    """The sockets that one server listens at."""

    def __init__(
        self, listening: list[socket.socket], on_caller: OnCaller, make_room: MakeRoom
    ) -> None:
        """`make_room` is called when the system refuses a connection; False: it made none."""
        self._loop: Final = asyncio.get_running_loop()
        self._listening: Final = listening
        self._on_caller: Final = on_caller
        self._make_room: Final = make_room

    @property
    def address(self) -> Address:
        """The address that it listens on, or the first of several."""
        return Address(*self._listening[0].getsockname()[:2])

    def start(self) -> None:
        """Begin to accept connections."""
        for listener in self._listening:
            self._loop.add_reader(listener, self._take, listener)

    def close(self) -> None:
        """Accept no more."""
        for listener in self._listening:
            self._loop.remove_reader(listener)
            listener.close()
        self._listening.clear()

    def leave_to_parent(self) -> None:
        """This is a forked process: the sockets are the parent's, and so is what they wait in."""
        for listener in self._listening:
            listener.close()
        self._listening.clear()

    def _take(self, listener: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                caller, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                if not self._make_room(error):
                    self._pause()
                return
            caller.setblocking(False)
            self._on_caller(caller, Address(*address[:2]))

    def _pause(self) -> None:
        for listener in self._listening:
            self._loop.remove_reader(listener)
        self._loop.call_later(RETRY_SECONDS, self.start)


async def listen(bind: Address) -> list[socket.socket]:
    """Listening sockets at every address that `bind` resolves to."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        bind.host, bind.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    made: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((entry[0], entry[4]) for entry in found):
            listener = socket.socket(family, socket.SOCK_STREAM)
            made.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.setblocking(False)
            listener.bind(address)
            listener.listen(CALLERS_WAITING)
    except OSError:
        for listener in made:
            listener.close()
        raise
    return made
