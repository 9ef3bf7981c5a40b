"""The summary of an audit: what is counted of violations, in parts that can be put together."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import Final, Self, TypeAlias

import numpy as np

from antecede_audit.columns.arrays import dense_ranks
from antecede_audit.columns.arrow_rows import Integers
from antecede_audit.judging.definition import Order
from antecede_audit.judging.event_columns import RunSize
from antecede_audit.judging.finding_tables import Columns, joint_key
from antecede_audit.judging.raw_findings import (
    CAUSED,
    DUPLICATE,
    INVENTION,
    LOSS,
    MESSAGES,
    ORDER_CODES,
)
from antecede_audit.judging.summary import (
    CHANNELS,
    GRADES,
    KINDS,
    QUANTILES,
    AuditSummary,
    ChannelCount,
    JudgingMethod,
)

VALUES_MAX: Final = 1 << 14
"""Of each part up to 16,384 durations are remembered; of more, that number at equal distances."""

Counts: TypeAlias = Mapping[tuple[int, int], tuple[int, int]]
"""By kind of finding and order: how many there are, and the sum of their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationFigures:
    """What is counted of violations."""

    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    grades: dict[str, int] = field(default_factory=lambda: dict.fromkeys(GRADES, 0))
    held_back_ns: list[int] = field(default_factory=list)
    """How long causal delivery would have held messages back, in order, or some of that."""
    weights: list[int] = field(default_factory=list)
    """How many messages each of these stands for."""
    channels: list[ChannelCount] = field(default_factory=list)
    """Those with most violations, by number and then by name."""

    @property
    def violations(self) -> int:
        """How many there are."""
        return sum(self.kinds.values())

    @classmethod
    def of(cls, early: Columns, names: Sequence[str]) -> Self:
        """What is to be counted of these violations. In: what `latest_cause_of_each` returns."""
        ordered = np.sort(early["held_back_ns"])
        kept = min(len(ordered), VALUES_MAX)
        ends = np.arange(1, kept + 1) * len(ordered) // max(1, kept)
        return cls(
            kinds={kind: int((early["kind"] == n).sum()) for n, kind in enumerate(KINDS)},
            grades={grade: int((early["grade"] == n).sum()) for n, grade in enumerate(GRADES)},
            held_back_ns=ordered[ends - 1].tolist(),
            weights=np.diff(ends, prepend=0).tolist(),
            channels=channels_of(early, names),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All parts together; no channel is in two of them."""
        ordered = sorted(
            pair for part in parts for pair in zip(part.held_back_ns, part.weights, strict=True)
        )
        return cls(
            kinds={kind: sum(part.kinds[kind] for part in parts) for kind in KINDS},
            grades={grade: sum(part.grades[grade] for part in parts) for grade in GRADES},
            held_back_ns=[value for value, _ in ordered],
            weights=[weight for _, weight in ordered],
            channels=sorted((one for part in parts for one in part.channels), key=rank_of)[
                :CHANNELS
            ],
        )

    def quantiles(self) -> dict[str, int] | None:
        """Quantiles of how long messages would have been held back; None if there are none."""
        if not self.weights:
            return None
        counted = np.cumsum(self.weights)
        return {
            name: self.held_back_ns[int(np.searchsorted(counted, np.ceil(share * counted[-1])))]
            for name, share in QUANTILES.items()
        }

    def packed(self) -> bytes:
        """As `unpacked` takes it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """What was packed."""
        fields = json.loads(data)
        channels = [ChannelCount(**one) for one in fields.pop("channels")]
        return cls(**fields, channels=channels)


def rank_of(channel: ChannelCount) -> tuple[int | str, ...]:
    """What channels are listed by."""
    return -channel.violations, *astuple(channel)[:4]


def channels_of(early: Columns, names: Sequence[str]) -> list[ChannelCount]:
    """The channels with most violations."""
    keys = ("run", "process", "early_sender", "late_sender")
    ranks: Integers = np.argsort(np.argsort(names))[early["run"]] if len(names) else early["run"]
    number, _ = dense_ranks(joint_key([ranks, *(early[name] for name in keys[1:])]))
    counts = np.bincount(number)
    found = []
    for place in np.argsort(-counts, kind="stable")[:CHANNELS].tolist():
        ours = np.flatnonzero(number == place)
        held_back_ns = np.sort(early["held_back_ns"][ours])
        count = len(ours)
        run, process, early_sender, late_sender = (int(early[name][ours[0]]) for name in keys)
        found.append(
            ChannelCount(
                run_id=names[run],
                process=process,
                early_sender=early_sender,
                late_sender=late_sender,
                violations=count,
                held_back_ns=int(held_back_ns[(count + 1) // 2 - 1]),
                held_back_ns_max=int(held_back_ns[-1]),
            )
        )
    return found


def summary_of(
    runs: Sequence[RunSize],
    counts: Counts,
    figures: Mapping[Order, ViolationFigures],
    order: Order,
    judged: Order,
    method: JudgingMethod,
) -> AuditSummary:
    """The counts of everything.

    `order` is what was asked for; `judged` the one that violations are shown by, which is another
    only if there are no traces.
    """
    shown = figures[judged]
    return AuditSummary(
        events=sum(run.events for run in runs),
        messages=counts.get((MESSAGES, 0), (0, 0))[1],
        deliveries=sum(run.deliveries for run in runs),
        processes=max((run.processes for run in runs), default=0),
        runs=len(runs),
        violations=shown.kinds,
        order=order,
        violations_by_order={each: figures.get(each, shown).violations for each in ORDER_CODES},
        duplicates=counts.get((DUPLICATE, 0), (0, 0))[0],
        losses=counts.get((LOSS, 0), (0, 0))[0],
        inventions=counts.get((INVENTION, 0), (0, 0))[0],
        self_caused=counts.get((CAUSED, ORDER_CODES[judged]), (0, 0))[1],
        cut_off={},
        unknown={"losses": 0, "inventions": 0},
        grades=shown.grades,
        held_back_ns=shown.quantiles(),
        channels=shown.channels,
        method=method,
    )
