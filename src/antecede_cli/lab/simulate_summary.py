"""What `antecede simulate` says about a run, for people and as JSON."""

from dataclasses import asdict

from antecede.core.catalogue import ProtocolInfo
from antecede.units import counted, duration_text, three_digits
from antecede_audit.judging.departures import DepartureVerdict
from antecede_audit.judging.explain import explain_verdict
from antecede_audit.judging.findings import OracleVerdict
from antecede_lab.simulator.histogram import Histogram
from antecede_lab.simulator.meter import PacketTotals, RunMeasures, per
from antecede_lab.simulator.run import (
    RunLeftovers,
    RunResult,
)

QUANTILES = (0.5, 0.9, 0.99)

COUNTED = (
    "protocol", "processes", "seed", "messages", "copies", "deliveries", "packets", "datagrams",
    "events", "refused", "blocked", "end_ns",
)  # fmt: skip
"""What a program is told of a run's result as it stands there."""


def summary_text(result: RunResult, title: str, promised: str | None) -> str:
    """The page for people; `promised` is what the audit said, or None if there was none."""
    measures = measured(result)
    lines = [
        title,
        f"{counted(result.messages, 'message')} in {duration_text(measures.makespan_ns)} "
        "of simulated time, "
        f"{three_digits(measures.throughput)} deliveries/s",
        "",
        *delay_lines(measures),
        "",
        *packet_lines(measures),
        "",
        *buffer_lines(result, measures),
        row("left over", left_text(result.leftovers)),
    ]
    if result.datagrams:
        per_message = three_digits(per(result.datagrams, result.messages))
        lines.append(row("datagrams", f"{result.datagrams:,}, {per_message} for each message"))
    if result.left_out:
        lines.append(
            row("left out", f"{counted(result.left_out, 'copy', 'copies')}, to who was away")
        )
    if result.refused:
        lines.append(row("refused", f"{counted(result.refused, 'packet')}, as a peer's fault"))
    if promised is not None:
        lines.append(row("audit", promised.replace("\n", "\n" + " " * 15)))
    return "\n".join(lines)


def measured(result: RunResult) -> RunMeasures:
    """The measures of a run that was measured."""
    assert result.measures is not None, "this command always measures"
    return result.measures


def row(name: str, text: str) -> str:
    """A line with its name in front."""
    return f"{name:<15}{text}"


def delay_lines(measures: RunMeasures) -> list[str]:
    """Where the time went, as a table."""
    heading = ("mean", *(f"p{100 * share:g}" for share in QUANTILES), "max")
    lines = [row("", "".join(f"{name:>11}" for name in heading))]
    for name, histogram in delays_of(measures).items():
        figures = [histogram.mean(), *map(histogram.quantile, QUANTILES), int(histogram.greatest)]
        lines.append(row(name, "".join(f"{duration_text(figure):>11}" for figure in figures)))
    return lines


def delays_of(measures: RunMeasures) -> dict[str, Histogram]:
    """The parts of a latency, and all of it."""
    delays = measures.delays
    return {
        "sender wait": delays.sender_wait,
        "channel": delays.channel,
        "receiver wait": delays.receiver_wait,
        "latency": delays.latency,
    }


def packet_lines(measures: RunMeasures) -> list[str]:
    """What was sent, by kind and for one message."""
    lines = [
        row(
            "per message",
            f"{three_digits(measures.packets_per_message)} packets, of them "
            f"{three_digits(measures.control_per_message)} control; "
            f"{three_digits(measures.metadata_bytes_per_message)} bytes of metadata",
        )
    ]
    name = "packets"
    for totals in sorted(measures.packets, key=lambda totals: (-totals.packets, totals.kind)):
        metadata = three_digits(per(totals.metadata_bytes, totals.packets))
        lines.append(
            row(name, f"{totals.packets:>9,} {totals.kind} with {metadata} bytes of metadata each")
        )
        name = ""
    return lines


def buffer_lines(result: RunResult, measures: RunMeasures) -> list[str]:
    """How full the buffers of the fullest process were."""
    occupancy = measures.occupancy
    mean = sum(occupancy.in_transit_mean) / len(occupancy.in_transit_mean)
    lines = [
        row(
            "buffers",
            f"at most {counted(max(occupancy.sender_buffer_max), 'copy', 'copies')} at a sender, "
            f"{max(occupancy.receiver_buffer_max):,} at a receiver",
        ),
        row(
            "in transit",
            f"at most {counted(max(occupancy.in_transit_max), 'copy', 'copies')} of one sender, "
            f"{three_digits(mean)} on average",
        ),
    ]
    if result.blocked:
        lines.append(row("no room", f"{counted(result.blocked, 'submission')} had to wait for it"))
    return lines


def left_text(leftovers: RunLeftovers) -> str:
    """What was not finished, in words."""
    if leftovers.empty:
        return "nothing: everything was delivered, all buffers are empty"
    counts = {
        "messages not yet sent": leftovers.unsent,
        "submissions without room": leftovers.blocked,
        "copies undelivered": leftovers.undelivered,
        "unhandled": leftovers.unhandled,
        "processes still waiting for an answer": leftovers.timers,
        "events cut off by the end": leftovers.pending,
    }
    text = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    if leftovers.oldest:
        sender, sequence, target = leftovers.oldest[0]
        text += f"; the oldest is message {sequence} of P{sender} to P{target}"
    return text


def summary_object(result: RunResult, verdict: OracleVerdict | None) -> dict[str, object]:
    """The same for programs; times are in nanoseconds."""
    measures = measured(result)
    return {
        **{name: getattr(result, name) for name in COUNTED},
        "makespan_ns": measures.makespan_ns,
        "throughput": measures.throughput,
        "delays_ns": {
            name.replace(" ", "_"): histogram_object(histogram)
            for name, histogram in delays_of(measures).items()
        },
        "per_message": {
            "packets": measures.packets_per_message,
            "control": measures.control_per_message,
            "metadata_bytes": measures.metadata_bytes_per_message,
        },
        "packet_kinds": {totals.kind: without(totals, "kind") for totals in measures.packets},
        "occupancy": asdict(measures.occupancy),
        "left_over": without(result.leftovers, "oldest"),
        "audit": None if verdict is None else verdict_object(verdict),
    }


def histogram_object(histogram: Histogram) -> dict[str, float]:
    """The figures of a distribution."""
    return {
        "count": int(histogram.count),
        "mean": histogram.mean(),
        **{f"p{100 * share:g}": histogram.quantile(share) for share in QUANTILES},
        "max": int(histogram.greatest),
    }


def without(figures: PacketTotals | RunLeftovers, name: str) -> dict[str, object]:
    """All fields but one."""
    return {key: value for key, value in asdict(figures).items() if key != name}


def verdict_object(verdict: OracleVerdict) -> dict[str, object]:
    """How many findings of each sort there are."""
    sorts = ("violations", "fifo_breaks", "duplicates", "losses", "inventions")
    return {"ok": verdict.ok, **{sort: len(getattr(verdict, sort)) for sort in sorts}}


def audit_text(verdict: OracleVerdict, info: ProtocolInfo) -> str:
    """What the audit found, and whether that was to be expected."""
    text = explain_verdict(verdict, shown=2)
    if verdict.violations and info.ordering != "causal":
        promise = "per pair only" if info.ordering == "fifo" else "of no kind"
        text += f"\n{info.name} promises order {promise}, so this is no fault of it"
    return text


def departures_text(judgement: DepartureVerdict, gone: int, finished: bool) -> str:
    """What those who are gone have left behind."""
    blamed = departures_blamed(judgement, finished)
    who = f"{gone} nodes are gone" if gone > 1 else "1 node is gone"
    if not blamed:
        return f"{who}, and nothing is missing that may not be" if finished else who
    return f"{who}; " + ", ".join(f"{count} {kind}" for kind, count in blamed.items())


def departures_blamed(judgement: DepartureVerdict, finished: bool) -> dict[str, int]:
    """What crashes and expulsions do not excuse; before the end messages may still be under way."""
    found = {"stale": len(judgement.stale)}
    if finished:
        found |= {"lost": len(judgement.lost), "unreported": len(judgement.unreported)}
    return {kind: count for kind, count in found.items() if count}


def promise_broken(verdict: OracleVerdict, info: ProtocolInfo, finished: bool) -> bool:
    """Whether something was found that this protocol rules out."""
    if verdict.duplicates or verdict.inventions or verdict.self_causes:
        return True
    if verdict.losses and finished:
        return True
    if info.ordering == "causal" and verdict.violations:
        return True
    return info.ordering != "none" and bool(verdict.fifo_breaks)
