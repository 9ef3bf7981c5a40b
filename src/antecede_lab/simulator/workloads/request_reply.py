"""Closed-loop request and reply: a client asks a server, waits for the answer, thinks, asks again.

The first processes are the servers, all others clients. A slow protocol slows this traffic down
instead of drowning in it. How often each client asks, and whom, does not depend on the protocol.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_traffic

REQUEST: Final = 0
REPLY: Final = 1
"""The tags of messages."""

THOUGHT: Final = 0
SERVER: Final = 1
"""What is drawn for a request: the time that its client thinks before it, and whom it asks."""


@final
class RequestReply(Workload):
    """`requests` in all, shared evenly by the clients, who think for `think_ns` on average."""

    def __init__(
        self,
        processes: int,
        *,
        requests: int,
        think_ns: int,
        seed: int,
        servers: int = 1,
        payload_bytes: int = 64,
        reply_bytes: int = 64,
    ) -> None:
        check_traffic(processes, requests, think_ns, payload_bytes)
        check_traffic(processes, requests, think_ns, reply_bytes)
        if not 1 <= servers < processes:
            raise LocalError(f"{servers} servers among {processes} processes leave no clients")
        super().__init__(processes)
        self._servers: Final[i64] = servers
        self._think_ns: Final = float(think_ns)
        self._payload_bytes: Final[i64] = payload_bytes
        self._reply_bytes: Final[i64] = reply_bytes
        self._chance: Final = KeyedRandom(seed, WORKLOAD)
        clients = processes - servers
        self._quota: Final = [0] * servers + [
            requests // clients + (1 if client < requests % clients else 0)
            for client in range(clients)
        ]

    @property
    def reacts(self) -> bool:
        return True

    def remaining(self) -> int:
        return sum(self._quota)

    def start(self, agenda: Agenda) -> None:
        client = self._servers
        while client < self.processes:
            self._think(client, 0, agenda)
            client += 1

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(token, self._quota[token], SERVER)
        self._quota[token] -= 1
        agenda.submit(token, [self._chance.below(self._servers)], self._payload_bytes, REQUEST)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        if tag == REQUEST:
            agenda.submit(process, [message.sender], self._reply_bytes, REPLY)
        elif tag == REPLY:
            self._think(process, now_ns, agenda)

    def _think(self, client: i64, now_ns: i64, agenda: Agenda) -> None:
        left = self._quota[client]
        if left > 0:
            self._chance.key(client, left, THOUGHT)
            agenda.wake(now_ns + i64(self._chance.exponential(self._think_ns)), client)
