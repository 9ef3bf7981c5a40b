"""The stage that tells for every message where it stands among its causes and effects.

Chains of causes may be as long as the run, so no fixed number of joins finds their length. Instead
one task takes a whole run, as columns. Everything is worked out for all messages at once, a level
of the graph at a time: a message's level is the length of the longest chain of causes that leads to
it. A *conversation* is everything that causes connect, at all processes. A task needs about
250 bytes of memory a message and 90 a cause, in a Python worker; runs are independent tasks. What
single messages, conversations and errands look like is counted there and then, as columns.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.eventlog.parquet import ArrowArray, ArrowBatch, ArrowTable
from antecede_audit.columns.arrow_rows import DataType
from antecede_audit.eventlog.workload import WORKLOAD_COLUMNS
from antecede_audit.measure.instants import open_at_once

ArrowField: TypeAlias = Any
"""A `pyarrow.Field`; pyarrow has no types."""
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

NEVER: Final = -1
"""The depth of a message that can never leave: it waits for itself, or for what never comes."""

TIME_NS_MAX: Final = 1 << 62
"""Where times stop growing instead of overflowing."""

INDEX_BITS: Final = 31
"""Messages, copies and processes have indices of 31 bits: two of them fit an integer."""

FEW: Final = 24
"""Up to 24 messages of a level are quicker one by one than as arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTable:
    """The messages of one run in the order of their ids; lists are cut out of flat arrays."""

    ids: Integers
    senders: Integers
    target_counts: Integers
    targets: Integers
    """The targets of the first message, of the second, and so on."""
    cause_counts: Integers
    causes: Integers
    delays_ns: Integers

    @property
    def sources(self) -> Integers:
        """For each copy, the message it is a copy of."""
        return np.repeat(np.arange(len(self.ids)), self.target_counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Who waits for which delivery: one entry per cause, by index of message and of copy."""

    effects: Integers
    causes: Integers
    copies: Integers
    """Which copy of the cause it is whose delivery is awaited."""
    stranded: Flags
    """The messages with a cause that is not there, or is never delivered at the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """Where each message stands in the chains of causes."""

    depths: Integers
    """The longest chain of causes before it; `NEVER` if it can never leave."""
    ready_ns: Integers
    """When it leaves over a network that takes no time."""


def linked(messages: MessageTable) -> Links:
    """Find every cause, and the copy of it that is delivered at the sender."""
    effects = np.repeat(np.arange(len(messages.ids)), messages.cause_counts)
    causes = found(messages.ids, messages.causes)
    copies = copy_index(messages, causes, messages.senders[effects])
    known = copies >= 0
    stranded = np.zeros(len(messages.ids), np.bool_)
    stranded[effects[~known]] = True
    # A cause that stands twice counts once.
    pairs = np.unique((effects[known] << INDEX_BITS) | copies[known])
    copies = pairs & ((1 << INDEX_BITS) - 1)
    return Links(
        effects=pairs >> INDEX_BITS,
        causes=messages.sources[copies],
        copies=copies,
        stranded=stranded,
    )


def found(ordered: Integers, wanted: Integers) -> Integers:
    """Where each wanted value stands in an ordered array, or -1."""
    if len(ordered) == 0:
        return np.full(len(wanted), -1, np.int64)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[places] == wanted, places, -1)


def copy_index(messages: MessageTable, sources: Integers, targets: Integers) -> Integers:
    """Which copy goes from each source (-1: none) to the target beside it, or -1."""
    keys = (messages.sources << INDEX_BITS) | messages.targets
    order = np.argsort(keys, kind="stable")
    wanted = np.where(sources < 0, -1, (sources << INDEX_BITS) | targets)
    places = found(keys[order], wanted)
    return np.where(places < 0, -1, order[places] if len(order) else -1)


def chains(messages: MessageTable, links: Links) -> Chains:
    """Depths and times of all messages, level by level."""
    return DepthPass(messages, links).run()


class DepthPass:
    """Takes the messages level by level: the next level is whatever has no missing cause left."""

    def __init__(self, messages: MessageTable, links: Links) -> None:
        count = len(messages.ids)
        order = np.argsort(links.causes, kind="stable")
        self._effects = links.effects[order]
        self._ends = np.cumsum(np.bincount(links.causes, minlength=count))
        self._starts = self._ends - np.bincount(links.causes, minlength=count)
        self._missing = np.bincount(links.effects, minlength=count)
        self._missing[links.stranded] += 1
        self._delays_ns = messages.delays_ns
        self._depths = np.full(count, NEVER, np.int64)
        self._ready_ns = np.zeros(count, np.int64)

    def run(self) -> Chains:
        """Where each message stands."""
        level = np.flatnonzero(self._missing == 0)
        depth = 0
        while len(level):
            level = self._few(level, depth) if len(level) <= FEW else self._many(level, depth)
            depth += 1
        self._ready_ns[self._depths == NEVER] = 0
        return Chains(depths=self._depths, ready_ns=self._ready_ns)

    def _many(self, level: Integers, depth: int) -> Integers:
        self._depths[level] = depth
        begun = self._ready_ns[level]
        ready = begun + np.minimum(self._delays_ns[level], TIME_NS_MAX - begun)
        self._ready_ns[level] = ready
        counts = self._ends[level] - self._starts[level]
        effects = self._effects[spans(self._starts[level], counts)]
        np.maximum.at(self._ready_ns, effects, np.repeat(ready, counts))
        np.subtract.at(self._missing, effects, 1)
        return np.unique(effects[self._missing[effects] == 0])

    def _few(self, level: Integers, depth: int) -> Integers:
        complete = []
        for message in level.tolist():
            self._depths[message] = depth
            begun = int(self._ready_ns[message])
            ready = min(begun + int(self._delays_ns[message]), TIME_NS_MAX)
            self._ready_ns[message] = ready
            for effect in self._effects[self._starts[message] : self._ends[message]].tolist():
                self._missing[effect] -= 1
                if self._ready_ns[effect] < ready:
                    self._ready_ns[effect] = ready
                if self._missing[effect] == 0:
                    complete.append(effect)
        return np.array(sorted(complete), np.int64)


def spans(starts: Integers, counts: Integers) -> Integers:
    """The whole numbers of all the ranges that begin at `starts` and have `counts` members."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


def conversations(messages: MessageTable, links: Links) -> Integers:
    """For each message the first message of its conversation."""
    return components(len(messages.ids), links.effects, links.causes)


def components(count: int, some: Integers, others: Integers) -> Integers:
    """For each of `count` nodes the smallest node that the edges connect it with.

    Every round each root that has a smaller neighbour is hung below it, and all paths are cut to
    length one; there are few rounds, since most roots have one.
    """
    parents = np.arange(count)
    while len(some):
        low = np.minimum(parents[some], parents[others])
        high = np.maximum(parents[some], parents[others])
        apart = low != high
        some, others = some[apart], others[apart]
        np.minimum.at(parents, high[apart], low[apart])
        parents = shortened(parents)
    return parents


def shortened(parents: Integers) -> Integers:
    """Every node directly below its root."""
    while True:
        nearer = parents[parents]
        if np.array_equal(nearer, parents):
            return parents
        parents = nearer


def least_of(groups: Integers, values: Integers) -> Integers:
    """For each member the smallest value in its group; groups go by one of their members."""
    least = np.full(len(groups), TIME_NS_MAX, np.int64)
    np.minimum.at(least, groups, values)
    return least[groups]


def ranks(messages: MessageTable, chains: Chains) -> Integers:
    """The place of each message in the order of times, causes before effects whatever the times."""
    late = np.where(chains.depths == NEVER, TIME_NS_MAX, chains.ready_ns)
    order = np.lexsort((messages.ids, chains.depths, late))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


NOBODY: Final = -1
CHUNK: Final = 1 << 16
"""65,536 messages at a time become Python integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTrees:
    """Which errand each message is sent on, and each copy is delivered to, by smallest member."""

    sent: Integers
    """Messages are numbered first, then copies."""
    received: Integers
    answered: Integers
    """The message of its target that each copy answers, or -1."""


def errands(messages: MessageTable, links: Links, ranks: Integers) -> CallTrees:
    """The errands of a run; `ranks` is the order of its messages."""
    return CallTreeFinder(messages, links, ranks).run()


class CallTreeFinder:
    """Finds errands, what one process does in one go, by going through the messages in order.

    An errand has messages that a process sends and copies that are delivered to it. Whatever a
    message waits for is on its errand. A copy *answers* if the errand it was sent on had been asked
    by its target: the last message from there that was no answer itself is what it answers, and it
    is delivered to the errand on which that was sent. Any other copy opens an errand. So a reply
    ends up with the call, however many others were called in between.
    """

    def __init__(self, messages: MessageTable, links: Links, ranks: Integers) -> None:
        self._count = len(messages.ids)
        nodes = self._count + len(messages.targets)
        self._messages = messages
        self._links = links
        self._ranks = ranks
        self._parents = array("q", range(nodes))
        # Who opened an errand, and with which message; most are opened by one process only.
        self._opener = array("q", [NOBODY]) * nodes
        self._opening = array("q", [NOBODY]) * nodes
        self._openings: dict[int, dict[int, int]] = {}
        self._answered = array("q", [NOBODY]) * len(messages.targets)

    def run(self) -> CallTrees:
        """All errands."""
        for message, sender, causes, first, targets in self._in_order():
            root = message
            for copy in causes:
                root = self._join(root, self._count + copy)
            for copy, target in enumerate(targets, start=first):
                self._deliver(message, sender, copy, target, root)
        labels = shortened(np.array(self._parents, np.int64))
        return CallTrees(
            sent=labels[: self._count],
            received=labels[self._count :],
            answered=np.array(self._answered, np.int64),
        )

    def _in_order(self) -> Iterator[tuple[int, int, list[int], int, list[int]]]:
        """Each message, its sender, the copies it waits for, its first copy, and its targets."""
        targets = self._messages.targets
        ends = np.cumsum(self._messages.target_counts)
        starts = ends - self._messages.target_counts
        waits = np.bincount(self._links.effects, minlength=self._count)
        wait_ends = np.cumsum(waits)
        order = np.argsort(self._ranks)
        for place in range(0, self._count, CHUNK):
            chunk = order[place : place + CHUNK]
            columns = (
                chunk,
                self._messages.senders[chunk],
                wait_ends[chunk] - waits[chunk],
                wait_ends[chunk],
                starts[chunk],
                ends[chunk],
            )
            for message, sender, wait, wait_end, start, end in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                causes = self._links.copies[wait:wait_end].tolist()
                yield message, sender, causes, start, targets[start:end].tolist()

    def _deliver(self, message: int, sender: int, copy: int, target: int, root: int) -> None:
        """Put a copy where it belongs: to what it answers, or else it opens something."""
        asked = self._asked_by(target, self._root(root))
        if asked != NOBODY:
            self._answered[copy] = asked
            self._join(asked, self._count + copy)
        else:
            self._open(self._root(self._count + copy), sender, message)

    def _root(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def _join(self, one: int, other: int) -> int:
        """Make two errands one, under the smaller root, which is returned."""
        low, high = self._root(one), self._root(other)
        if low == high:
            return low
        if low > high:
            low, high = high, low
        self._parents[high] = low
        several = self._openings.pop(high, None)
        if several is not None:
            for sender, message in several.items():
                self._open(low, sender, message)
        elif self._opener[high] != NOBODY:
            self._open(low, self._opener[high], self._opening[high])
        return low

    def _open(self, root: int, sender: int, message: int) -> None:
        """Note that a process has asked an errand; of several times the last counts."""
        several = self._openings.get(root)
        if several is not None:
            before = several.get(sender, NOBODY)
            if before == NOBODY or self._ranks[before] < self._ranks[message]:
                several[sender] = message
        elif self._opener[root] == NOBODY:
            self._opener[root] = sender
            self._opening[root] = message
        elif self._opener[root] == sender:
            if self._ranks[self._opening[root]] < self._ranks[message]:
                self._opening[root] = message
        else:
            self._openings[root] = {self._opener[root]: self._opening[root], sender: message}

    def _asked_by(self, process: int, root: int) -> int:
        """The last message with which a process has asked an errand, or -1."""
        several = self._openings.get(root)
        if several is not None:
            return several.get(process, NOBODY)
        return self._opening[root] if self._opener[root] == process else NOBODY


COLUMNS: Final = ("run_id", *WORKLOAD_COLUMNS)
BATCH_ROWS: Final = 1 << 16


def required(**columns: DataType) -> list[ArrowField]:
    """Columns that are never null."""
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


def list_of(kind: DataType) -> DataType:
    """Lists whose members are never null."""
    return pa.list_(pa.field("element", kind, nullable=False))


STRUCTURE: Final = pa.schema(
    [
        *required(
            run_id=pa.string(),
            message_id=pa.int64(),
            rank=pa.int64(),
            sender=pa.int32(),
            targets=list_of(pa.int32()),
            cause_ranks=list_of(pa.int64()),
            delay_ns=pa.int64(),
            payload_bytes=pa.int32(),
        ),
        ("depth", pa.int32()),
        ("ready_ns", pa.int64()),
        *required(
            conversation=pa.int64(),
            begun_ns=pa.int64(),
            errand=pa.int64(),
            target_errands=list_of(pa.int64()),
            target_answers=pa.list_(pa.field("element", pa.int64())),
            target_effects=list_of(pa.int32()),
        ),
    ]
)


def structured_batches(batches: Iterable[ArrowBatch]) -> Iterator[ArrowBatch]:
    """The structure of every run of a partition, which comes ordered by run and message."""
    for run_id, table in runs_in(batches):
        yield from structured(run_id, table).to_batches(max_chunksize=BATCH_ROWS)


def runs_in(batches: Iterable[ArrowBatch]) -> Iterator[tuple[str, ArrowTable]]:
    """The rows of one run after the other."""
    run_id = ""
    pieces: list[ArrowBatch] = []
    for batch in batches:
        for piece in cut_by_run(batch):
            name = piece.column("run_id")[0].as_py()
            if pieces and name != run_id:
                yield run_id, pa.Table.from_batches(pieces)
                pieces = []
            run_id = name
            pieces.append(piece)
    if pieces:
        yield run_id, pa.Table.from_batches(pieces)


def cut_by_run(batch: ArrowBatch) -> Iterator[ArrowBatch]:
    """A batch as slices of equal run id."""
    codes = batch.column("run_id").dictionary_encode().indices.to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(cuts):
        if end > start:
            yield batch.slice(start, end - start)


def structured(run_id: str, table: ArrowTable) -> ArrowTable:
    """The structure of one run."""
    rows = table.combine_chunks()
    messages = messages_of(rows)
    links = linked(messages)
    standing = chains(messages, links)
    groups = conversations(messages, links)
    places = ranks(messages, standing)
    tasks = errands(messages, links, places)
    never = standing.depths == NEVER
    answers = pa.array(places[tasks.answered], mask=tasks.answered < 0)
    columns = {
        "run_id": pa.repeat(run_id, len(messages.ids)),
        "message_id": messages.ids,
        "rank": places,
        "sender": messages.senders,
        "targets": rows.column("targets").combine_chunks(),
        "cause_ranks": cause_ranks(links, places),
        "delay_ns": messages.delays_ns,
        "payload_bytes": rows.column("payload_bytes"),
        "depth": pa.array(standing.depths, mask=never),
        "ready_ns": pa.array(standing.ready_ns, mask=never),
        "conversation": places[groups],
        "begun_ns": least_of(groups, standing.ready_ns),
        "errand": tasks.sent,
        "target_errands": lists(messages.target_counts, tasks.received),
        "target_answers": lists(messages.target_counts, answers),
        "target_effects": lists(
            messages.target_counts, np.bincount(links.copies, minlength=len(messages.targets))
        ),
    }
    return pa.table(columns).cast(STRUCTURE)


def messages_of(rows: ArrowTable) -> MessageTable:
    """The columns of a run as arrays."""
    targets = rows.column("targets").combine_chunks()
    causes = rows.column("causes").combine_chunks()
    return MessageTable(
        ids=integers(rows.column("message_id")),
        senders=integers(rows.column("sender")),
        target_counts=integers(targets.value_lengths()),
        targets=integers(targets.flatten()),
        cause_counts=integers(causes.value_lengths()),
        causes=integers(causes.flatten()),
        delays_ns=integers(rows.column("delay_ns")),
    )


def integers(column: ArrowArray) -> Integers:
    """An Arrow column without nulls as an array of 64-bit integers."""
    array: Integers = column.to_numpy().astype(np.int64, copy=False)
    return array


def cause_ranks(links: Links, places: Integers) -> ArrowArray:
    """The causes of each message by rank, in ascending order."""
    causes = places[links.causes]
    order = np.lexsort((causes, links.effects))
    return lists(np.bincount(links.effects, minlength=len(places)), causes[order])


def lists(counts: Integers, values: Any) -> ArrowArray:  # noqa: ANN401 an array of any type
    """An Arrow column of lists with `counts` members each, taken from `values` in order."""
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def values_of(structure: ArrowTable) -> dict[str, ArrowArray]:
    """By measure, the values in one run; a message without causes has no think time."""
    structure = structure.combine_chunks()
    causes = pc.list_value_length(structure["cause_ranks"])
    return {
        "targets": pc.list_value_length(structure["targets"]),
        "causes": causes,
        "depth": structure["depth"],
        "think_ns": structure["delay_ns"].filter(pc.greater(causes, 0)),
        "payload_bytes": structure["payload_bytes"],
        "effects": pc.list_flatten(structure["target_effects"]),
        **conversation_values(structure),
        "errands_at_once": errands_at_once(structure),
    }


def conversation_values(structure: ArrowTable) -> dict[str, ArrowArray]:
    """What conversations have: messages, processes, and how long they take with no network."""
    places = structure["conversation"].to_numpy()
    ready_ns = pc.fill_null(structure["ready_ns"], NEVER).to_numpy()
    first_ns, last_ns = extremes(places[ready_ns >= 0], ready_ns[ready_ns >= 0], len(places))
    sizes = np.bincount(places)
    everywhere = np.concatenate([places, places[sources(structure)]])
    pairs = np.unique((everywhere << INDEX_BITS) | at_processes(structure))
    people = np.bincount(pairs >> INDEX_BITS)
    return {
        "conversation_messages": pa.array(sizes[sizes > 0]),
        "conversation_processes": pa.array(people[people > 0]),
        "conversation_ns": pa.array((last_ns - first_ns)[last_ns >= 0]),
    }


def errands_at_once(structure: ArrowTable) -> ArrowArray:
    """How many errands a process is on whenever one begins, over a network that takes no time."""
    errands = both(structure, "errand", "target_errands")
    ready_ns = pc.fill_null(structure["ready_ns"], NEVER).to_numpy()
    ready_ns = np.concatenate([ready_ns, ready_ns[sources(structure)]])
    known = ready_ns >= 0
    first_ns, last_ns = extremes(errands[known], ready_ns[known], len(errands))
    # An errand stays at one process, and goes by the number of one of its members.
    owners = np.zeros(len(errands), np.int32)
    owners[errands] = at_processes(structure)
    lasting = last_ns >= 0
    spans = (owners[lasting], first_ns[lasting], last_ns[lasting] + 1)
    levels = open_at_once(*map(pa.array, spans))
    return as_often(levels["level"], levels["opened"])


def extremes(groups: Integers, values: Integers, count: int) -> tuple[Integers, Integers]:
    """The least and the greatest value of each of `count` groups; `NEVER` where there is none."""
    least, greatest = np.full(count, TIME_NS_MAX + 1), np.full(count, NEVER)
    np.minimum.at(least, groups, values)
    np.maximum.at(greatest, groups, values)
    return least, greatest


def sources(structure: ArrowTable) -> Integers:
    """For each copy, the row of its message."""
    rows: Integers = pc.list_parent_indices(structure["targets"]).to_numpy()
    return rows


def at_processes(structure: ArrowTable) -> Integers:
    """Where messages are sent and then where copies are delivered."""
    return both(structure, "sender", "targets")


def both(structure: ArrowTable, own: str, of_targets: str) -> Integers:
    """A column of messages and then one of their copies."""
    flat = pc.list_flatten(structure[of_targets])
    return np.concatenate([structure[own].to_numpy(), flat.to_numpy()])


def as_often(values: ArrowArray, counts: ArrowArray) -> ArrowArray:
    """Each value as often as it is counted."""
    return pa.array(np.repeat(values.to_numpy(), counts.to_numpy()))
