"""Two hosts on one machine with a bad wire between them: loss below IP, so TCP meets it as well.

A host is a network namespace with one TUN device. What the kernel of one host sends there, the
relay reads as IP packets, loses some of them by chance, holds the others for the delay and writes
them into the other host's device. Nothing is segmented or checked by hardware on the way, so a
packet lost is one segment or one datagram lost. Needs root, iproute2 and /dev/net/tun.

`python -m bench.lossy_wire CONFIGURATION` is the relay itself, a process that is told in JSON
lines. It runs ahead of other work on the machine, whose bursts would look like a slow wire.
"""

import ctypes
import fcntl
import json
import os
import select
import shutil
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from functools import cache
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Self

from antecede_lab.child import Child

TUN: Final = Path("/dev/net/tun")
TUNSETIFF: Final = 0x400454CA
IFF_TUN_NO_PI: Final = 0x1001
CLONE_NEWNET: Final = 0x40000000
PACKET_MAX: Final = 65_536

AHEAD: Final = 10
"""The real-time priority of what is measured: it takes little, but when it is due."""

DEVICE: Final = "wire"
ADDRESSES: Final = {"left": "192.0.2.1", "right": "192.0.2.2"}
"""Of the block that is reserved for examples; they exist in these namespaces only."""


class LossyWire:
    """Two hosts, `left` and `right`, and the wire between them, while the context lasts."""

    def __init__(self, *, delay_ms: float, seed: int = 1) -> None:
        self._prefix = f"antecede{os.getpid()}"
        self._configuration = {
            "spaces": [self.space(name) for name in ADDRESSES],
            "delay_ns": round(delay_ms * 1_000_000),
            "seed": seed,
        }
        self._stack = ExitStack()
        self._relay: Child | None = None

    def space(self, name: str) -> str:
        """The namespace that is this host."""
        return f"{self._prefix}-{name}"

    def within(self, name: str) -> list[str]:
        """The command that runs another one on this host."""
        return ["ip", "netns", "exec", self.space(name)]

    def lose(self, share: float) -> None:
        """From now on lose this share of the packets, in each direction."""
        assert self._relay is not None, "the wire is there while its context lasts"
        self._relay.ask({"loss": share})

    def counts(self) -> dict[str, int]:
        """How many packets were carried, and how many lost, so far."""
        assert self._relay is not None, "the wire is there while its context lasts"
        answer = self._relay.ask({"counts": True})
        return {what: int(answer[what]) for what in ("carried", "lost")}

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for name in ADDRESSES:
                ip("netns", "add", self.space(name))
                stack.callback(ip, "netns", "del", self.space(name))
            command = [sys.executable, "-m", "bench.lossy_wire", json.dumps(self._configuration)]
            self._relay = stack.enter_context(Child(command, name="wire"))
            self._relay.hear()
            for name, address in ADDRESSES.items():
                ip("-n", self.space(name), "addr", "add", f"{address}/30", "dev", DEVICE)
                ip("-n", self.space(name), "link", "set", DEVICE, "up")
                ip("-n", self.space(name), "link", "set", "lo", "up")
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._relay = None
        self._stack.close()


def ip(*arguments: str) -> None:
    """Run iproute2."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


@cache
def objection() -> str | None:
    """Why there can be no such wire here, or None."""
    if os.geteuid() != 0:
        return "network namespaces and TUN devices need root"
    if shutil.which("ip") is None:
        return "the program ip (iproute2) is not installed"
    if not TUN.exists():
        return f"there is no {TUN}: the kernel has no TUN devices"
    try:
        with LossyWire(delay_ms=0):
            return None
    except Exception as error:  # whatever it is, it is the reason
        return f"the wire cannot be made here: {error}"


# The relay.


class Relay:
    """Reads packets from either device, and writes them to the other one later, or never."""

    def __init__(self, left: int, right: int, delay_ns: int, seed: int) -> None:
        self._other = {left: right, right: left}
        self._delay_ns = delay_ns
        self._random = Random(seed)
        self._under_way: list[tuple[int, int, int, bytes]] = []
        self.loss = 0.0
        self.carried = 0
        self.lost = 0

    def run(self) -> None:
        """Until the input ends."""
        poll = select.poll()
        for source in (*self._other, sys.stdin.fileno()):
            poll.register(source, select.POLLIN)
        while True:
            for ready, _ in poll.poll(self._patience_ms()):
                if ready == sys.stdin.fileno():
                    line = sys.stdin.buffer.readline()
                    if not line:
                        return
                    self._obey(json.loads(line))
                else:
                    self.take(ready)
            self.put()

    def _obey(self, order: dict[str, float]) -> None:
        self.loss = order.get("loss", self.loss)
        print(json.dumps({"carried": self.carried, "lost": self.lost}), flush=True)

    def _patience_ms(self) -> float | None:
        if not self._under_way:
            return None
        return max(0.0, (self._under_way[0][0] - time.monotonic_ns()) / 1_000_000)

    def take(self, source: int) -> None:
        """A packet from this device: lose it, or let it be under way."""
        packet = os.read(source, PACKET_MAX)
        if packet[0] >> 4 != 4:
            return  # The kernel looks for IPv6 routers now and then.
        self.carried += 1
        if self._random.random() < self.loss:
            self.lost += 1
            return
        due_ns = time.monotonic_ns() + self._delay_ns
        heappush(self._under_way, (due_ns, self.carried, self._other[source], packet))

    def put(self) -> None:
        """What has been under way long enough goes into the other device."""
        now_ns = time.monotonic_ns()
        while self._under_way and self._under_way[0][0] <= now_ns:
            _, _, target, packet = heappop(self._under_way)
            os.write(target, packet)


def device_in(space: str) -> int:
    """A TUN device in that namespace, which this process leaves again with the next one."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(f"/run/netns/{space}").open("rb") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {space}")
    device = os.open(TUN, os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN_NO_PI))
    return device


def run_ahead() -> None:
    """Let this process go ahead of others on the machine, as far as that is allowed."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(AHEAD))


def main() -> None:
    """Be the relay."""
    run_ahead()
    configuration = json.loads(sys.argv[1])
    left, right = (device_in(space) for space in configuration["spaces"])
    relay = Relay(left, right, configuration["delay_ns"], configuration["seed"])
    print(json.dumps({"ready": True}), flush=True)
    relay.run()


if __name__ == "__main__":
    main()
