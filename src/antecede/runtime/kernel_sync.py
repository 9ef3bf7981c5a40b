"""Syncing a file without a thread, where the kernel offers that: Linux.

A thread that has waited for a disk needs the interpreter's lock to say so, and a busy loop gives
that away only every 5 ms: many times what the disk took. The kernel needs no lock. It is asked to
sync, and makes a descriptor readable, which the loop watches like any other, when it has.

These are the calls of `io_submit(2)`, for which Python has no names.
"""

import asyncio
import ctypes
import os
import platform
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class CallNumbers:
    """How the calls are numbered on one kind of processor."""

    setup: int
    destroy: int
    submit: int
    events: int


NUMBERS: Final = {
    "x86_64": CallNumbers(setup=206, destroy=207, submit=209, events=208),
    "aarch64": CallNumbers(setup=0, destroy=1, submit=2, events=4),
}

REQUEST: Final = struct.Struct("<QIIHhIQQqQII")
"""`struct iocb`: data, key, flags of the write, what to do, priority, descriptor, buffer, size,
offset, nothing, whether to tell a descriptor, which."""

FDSYNC: Final = 3
TELL_DESCRIPTOR: Final = 1

EVENT: Final = struct.Struct("<QQqq")
"""`struct io_event`: data, request, result, result."""


class KernelSync:
    """Has one sync at a time done by the kernel, and says so in the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """`OSError` where the kernel does not offer that."""
        self._numbers: Final = call_numbers()
        self._loop: Final = loop
        self._then: Callable[[int], None] | None = None
        # What the kernel reads and writes must stay where it is.
        self._request: Final = ctypes.create_string_buffer(REQUEST.size)
        self._requests: Final = (ctypes.c_void_p * 1)(ctypes.addressof(self._request))
        self._event: Final = ctypes.create_string_buffer(EVENT.size)
        self._told: Final = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._context = ctypes.c_ulong(0)
        try:
            call(self._numbers.setup, ctypes.c_long(1), ctypes.byref(self._context))
        except OSError:
            os.close(self._told)
            raise
        loop.add_reader(self._told, self._on_told)

    def sync(self, descriptor: int, then: Callable[[int], None]) -> None:
        """Call `then` when what was written would survive a power failure: with 0, or an errno.

        `OSError` if the kernel does not begin; then it has done nothing.
        """
        assert self._then is None, "one at a time"
        told = (TELL_DESCRIPTOR, self._told)
        REQUEST.pack_into(self._request, 0, 0, 0, 0, FDSYNC, 0, descriptor, 0, 0, 0, 0, *told)
        call(self._numbers.submit, self._context, ctypes.c_long(1), self._requests)
        self._then = then

    def stop(self) -> None:
        """Wait until what was asked for is done; nothing more may be asked for."""
        self._then = None
        with suppress(RuntimeError):  # The loop has ended: it watches nothing any more.
            self._loop.remove_reader(self._told)
        call(self._numbers.destroy, self._context)
        os.close(self._told)

    def _on_told(self) -> None:
        os.eventfd_read(self._told)
        none, one = ctypes.c_long(0), ctypes.c_long(1)
        found = call(self._numbers.events, self._context, none, one, self._event, None)
        then = self._then
        if found == 1 and then is not None:
            self._then = None
            result: int = EVENT.unpack(self._event.raw)[2]
            then(-result)


def call_numbers() -> CallNumbers:
    """The numbers of this machine's calls; `OSError` if they are not known."""
    numbers = NUMBERS.get(platform.machine())
    # A process of 32 bits on such a machine has other numbers.
    wide = sys.maxsize > 1 << 32 and sys.byteorder == "little"
    if sys.platform != "linux" or not wide or numbers is None:
        raise OSError("no calls to sync without a thread are known here")
    return numbers


@cache
def system_library() -> ctypes.CDLL:
    """The library through which calls are made; only asked for where they are known."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def call(number: int, *arguments: object) -> int:
    """One call into the kernel; `OSError` if it fails."""
    result: int = system_library().syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def kernel_sync(loop: asyncio.AbstractEventLoop) -> KernelSync | None:
    """One for this loop, if the kernel, and whoever confines this process, allow it."""
    try:
        return KernelSync(loop)
    except (OSError, AttributeError):  # A Python built for an old system has no eventfd.
        return None
