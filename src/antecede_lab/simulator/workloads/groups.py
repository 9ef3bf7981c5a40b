"""Multicast groups with overlapping membership: people post to their groups, and somebody answers.

The groups stand in a ring and each shares members with its neighbours, so what is said in one group
causes what is said in the next. Every message is answered, with a given probability, to the whole
group by one member, and so is the answer: conversations of geometric length. Who posts where, and
who answers whom, does not depend on the protocol.
"""

from typing import Final, final

from mypy_extensions import i64

from antecede.core.errors import LocalError
from antecede.core.packets import Message
from antecede.network_model.keyed_random import WORKLOAD, KeyedRandom
from antecede_lab.simulator.workloads.workload import Agenda, Workload, check_share, check_traffic

DEPTH_LIMIT: Final = 64
"""No conversation is longer than this."""

GROUPS_LIMIT: Final = 1 << 20

PAUSE: Final = 0
GROUP: Final = 1
ANSWER: Final = 2
"""What is drawn: the time before a post, the group it goes to, who answers a message."""


@final
class Groups(Workload):
    """`posts` begin a conversation each, every process one per `interval_ns` on average."""

    def __init__(
        self,
        processes: int,
        *,
        posts: int,
        interval_ns: int,
        seed: int,
        groups: int = 4,
        size: int = 4,
        reply: float = 0.5,
        payload_bytes: int = 64,
    ) -> None:
        check_traffic(processes, posts, interval_ns, payload_bytes)
        check_share("the probability of a reply", reply)
        if not 1 <= groups <= GROUPS_LIMIT or not 2 <= size <= processes:
            raise LocalError(
                f"{groups} groups of {size}: 1 to {GROUPS_LIMIT} groups of 2 to {processes} members"
            )
        super().__init__(processes)
        self._posts: Final[i64] = posts
        self._posted: i64 = 0
        self._mean_ns: Final = float(interval_ns)
        self._reply: Final = reply
        self._payload_bytes: Final[i64] = payload_bytes
        self._chance: Final = KeyedRandom(seed, WORKLOAD)
        self._members: Final = ring_of_groups(processes, groups, size)
        self._groups_of: Final = memberships(processes, self._members)
        self._counts: Final = [0] * processes

    @property
    def reacts(self) -> bool:
        return True

    @property
    def multicasts(self) -> bool:
        return len(self._members[0]) > 2

    @property
    def broadcasts(self) -> bool:
        return len(self._members[0]) == self.processes

    def remaining(self) -> int:
        return self._posts - self._posted

    def start(self, agenda: Agenda) -> None:
        process: i64 = 0
        while process < self.processes:
            if self._groups_of[process]:
                self._wait(process, 0, agenda)
            process += 1

    def woken(self, token: i64, now_ns: i64, agenda: Agenda) -> None:
        if self._posted >= self._posts:
            return
        self._counts[token] += 1
        self._chance.key(token, self._counts[token], GROUP)
        choices = self._groups_of[token]
        group = choices[self._chance.below(len(choices))]
        self._say(token, self._posted * DEPTH_LIMIT, group, agenda)
        self._posted += 1
        if self._posted < self._posts:
            self._wait(token, now_ns, agenda)

    def delivered(
        self, process: i64, message: Message, tag: i64, now_ns: i64, agenda: Agenda
    ) -> None:
        if tag < 0:
            return
        group = tag % len(self._members)
        place = tag // len(self._members)
        if place % DEPTH_LIMIT == DEPTH_LIMIT - 1:
            return
        self._chance.key(place, group, ANSWER)
        if self._chance.unit() < self._reply and self._answers(group, message.sender) == process:
            self._say(process, place + 1, group, agenda)

    def _say(self, process: i64, place: i64, group: i64, agenda: Agenda) -> None:
        """`place` numbers the messages of all conversations: each begins at a multiple."""
        others = [member for member in self._members[group] if member != process]
        tag = place * len(self._members) + group
        agenda.submit(process, others, self._payload_bytes, tag)

    def _answers(self, group: i64, sender: i64) -> i64:
        """Which of the others will answer."""
        others = [member for member in self._members[group] if member != sender]
        return others[self._chance.below(len(others))]

    def _wait(self, process: i64, now_ns: i64, agenda: Agenda) -> None:
        self._chance.key(process, self._counts[process], PAUSE)
        agenda.wake(now_ns + i64(self._chance.exponential(self._mean_ns)), process)


def ring_of_groups(processes: int, groups: int, size: int) -> list[list[int]]:
    """The members of each group: `size` neighbours on a ring, the groups evenly spread over it."""
    return [
        [(group * processes // groups + place) % processes for place in range(size)]
        for group in range(groups)
    ]


def memberships(processes: int, members: list[list[int]]) -> list[list[int]]:
    """The groups of each process."""
    groups_of: list[list[int]] = [[] for _ in range(processes)]
    for group, people in enumerate(members):
        for process in people:
            groups_of[process].append(group)
    return groups_of
