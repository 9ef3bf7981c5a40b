"""Thousands of causal processes behind one socket: what a host does, as a figure.

The paper's setting has "possibly thousands of processes per host". Here two hosts have so many
processes each (the core of the product), one UDP socket per host and one loop for both: a frame
says from which process to which, frames share datagrams, and every process has a few peers on the
other host. Processes that have nothing to do with each other share nothing but the socket: a
datagram that is lost holds up what depends on its messages, nobody else.

`python -m bench many` counts messages per second of processor time, both ends included; bytes on
the wire per message, acks and permits included; memory per process; and, with every hundredth
datagram lost, the messages that were delivered late against those whose own packet was lost.
"""

import json
import resource
import socket
import sys
import time
from contextlib import suppress
from random import Random
from typing import Final

from librt.strings import BytesWriter

import antecede
from antecede.core import BufferFull, CausalProcess, Deliver, Effect, Transmit
from antecede.wire.packets import read_packet, write_packet
from antecede.wire.varint import WireReader, write_varint
from antecede_lab.catalogue import PROTOCOLS

PROCESSES: Final = (100, 1_000, 5_000)
PEERS: Final = 4
OUTSTANDING: Final = 4
"""Messages of one process that are not acknowledged yet, at most."""

SIZE: Final = 64
DATAGRAM: Final = 1_400
BATCH: Final = 64
"""Datagrams read in a turn, and messages submitted in one."""

SECONDS: Final = 5.0
BUFFER: Final = 8 << 20
PATIENCE_NS: Final = 200_000_000


class Host:
    """So many processes, and one socket; `offset` is the id of the first."""

    def __init__(self, offset: int, count: int, everyone: range) -> None:
        info = PROTOCOLS["hybrid"]
        self.processes: list[CausalProcess] = [
            info.create(offset + number, everyone, patience_ns=PATIENCE_NS)
            for number in range(count)
        ]
        self.offset = offset
        self.delivered = 0
        self.sent_bytes = 0
        self.submitted = 0
        self._turn = 0
        self._writer = BytesWriter()
        self._frames = 0
        self._peers = Random(offset)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self._socket.setblocking(False)
        self._socket.bind(("127.0.0.1", 0))
        self.other = self

    def read(self) -> int:
        """Take in what has come; how many datagrams that were."""
        count = 0
        with suppress(BlockingIOError):
            while count < BATCH:
                data = self._socket.recv(65_536)
                count += 1
                self._take(data)
        return count

    def _take(self, data: bytes) -> None:
        reader = WireReader(data)
        left = reader.varint()
        while left > 0:
            left -= 1
            source, target = reader.varint(), reader.varint()
            body = WireReader(reader.take(reader.varint()))
            packet = read_packet(body.byte(), body, source, 0)
            process = self.processes[target - self.offset]
            self.perform(target, process.arrive(source, packet, time.monotonic_ns()))

    def submit(self) -> None:
        """A message of each of the next processes that have room."""
        for _ in range(BATCH):
            self._turn = (self._turn + 1) % len(self.processes)
            process = self.processes[self._turn]
            if process.buffered() >= OUTSTANDING:
                continue
            other = (self._turn + self._peers.randrange(PEERS)) % len(self.processes)
            with suppress(BufferFull):
                now_ns = time.monotonic_ns()
                effects = process.submit([self.other.offset + other], PAYLOAD, now_ns)
                self.submitted += 1
                self.perform(self.offset + self._turn, effects)

    def perform(self, me: int, effects: list[Effect]) -> None:
        """Deliver, and put what leaves into the datagram that is being filled."""
        for effect in effects:
            if isinstance(effect, Transmit):
                body = BytesWriter()
                write_packet(effect.packet, body, 0)
                write_varint(self._writer, me)
                write_varint(self._writer, effect.target)
                write_varint(self._writer, len(body))
                self._writer.write(body.getvalue())
                self._frames += 1
                if len(self._writer) >= DATAGRAM:
                    self.flush()
            elif isinstance(effect, Deliver):
                self.delivered += 1

    def flush(self) -> None:
        """Send the datagram."""
        if self._frames > 0:
            head = BytesWriter()
            write_varint(head, self._frames)
            data = head.getvalue() + self._writer.getvalue()
            self._writer = BytesWriter()
            self._frames = 0
            self.sent_bytes += len(data)
            with suppress(BlockingIOError):
                self._socket.sendto(data, self.other._socket.getsockname())

    def expire(self) -> None:
        """Timers that are due."""
        now_ns = time.monotonic_ns()
        for number, process in enumerate(self.processes):
            if process.wake_ns() <= now_ns:
                self.perform(self.offset + number, process.expire(now_ns))

    def close(self) -> None:
        """The socket is not needed any more."""
        self._socket.close()


PAYLOAD: Final = b"." * SIZE


def memory_kb() -> int:
    """The peak of what this process takes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(count: int) -> dict[str, float]:
    """So many processes on each of two hosts."""
    before_kb = memory_kb()
    everyone = range(2 * count)
    hosts = [Host(0, count, everyone), Host(count, count, everyone)]
    hosts[0].other, hosts[1].other = hosts[1], hosts[0]
    began, used = time.monotonic(), time.process_time()
    rings = began + PATIENCE_NS / 1e9
    while time.process_time() - used < SECONDS:
        for host in hosts:
            host.submit()
            host.flush()
            host.read()
            host.flush()
        if time.monotonic() >= rings:
            rings += PATIENCE_NS / 1e9
            for host in hosts:
                host.expire()
    used = time.process_time() - used
    delivered = sum(host.delivered for host in hosts)
    sent = sum(host.sent_bytes for host in hosts)
    for host in hosts:
        host.close()
    return {
        "messages_per_cpu_s": round(delivered / used),
        "bytes_per_message": round(sent / delivered, 1),
        "kb_per_process": round((memory_kb() - before_kb) / (2 * count), 1),
    }


def main() -> None:
    """A table as JSON, by processes of a host."""
    sizes = [int(word) for word in sys.argv[1:]] or list(PROCESSES)
    found = {str(count): measure(count) for count in sizes}
    print(json.dumps({"compiled": antecede.compiled(), "many": found}))


if __name__ == "__main__":
    main()
