"""The comparison: the paper's table with what became of it, figures, and whatever is about them.

What `antecede lab compare` leaves is read as figures; the words of the table are worked out from
them again, by the same code that judged them, so that protocols of which the paper does not speak
have words too. It is JSON, so nothing but the standard library is needed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from antecede.core.errors import LocalError
from antecede.units import counted
from antecede_audit.report.charts.scale import plain
from antecede_audit.report.page.markup import Markup, element, joined
from antecede_audit.report.page.section import Section, code, folded, paragraph, table
from antecede_audit.report.parts import ReportContents
from antecede_audit.report.sources import file_kind, objects_in, read_json
from antecede_lab.comparison import claims
from antecede_lab.comparison import measurements as measured
from antecede_lab.comparison.claims import BESIDE, FOOTNOTES, IN_TABLE, TABLE
from antecede_lab.comparison.documents import omission_table, series_tables
from antecede_lab.comparison.long_runs import STREAM
from antecede_lab.comparison.measurements import (
    QUANTITIES,
    Estimate,
    Measurement,
    Measurements,
    Quantity,
)
from antecede_lab.comparison.traffic import BROADCASTS, UNIFORM
from antecede_lab.comparison.trials import LOSING, LOSSY, REORDERING
from antecede_lab.comparison.verdicts import (
    CONFIRMED,
    QUALIFIED,
    REFUTED,
    ClaimVerdict,
    Observation,
    is_starved,
    observe,
    verdicts_on,
)

COMPARISON_FILE: Final = "comparison.json"

KS_FILE: Final = "ks.json"

COMPARISON: Final = file_kind(
    "comparison", "a comparison of protocols", "lab compare", COMPARISON_FILE
)

KS: Final = file_kind("ks", "the metadata of KS", "lab compare", KS_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of protocols."""

    command: str
    effort: str
    seeds: int
    protocols: tuple[str, ...]
    readings: Measurements
    commands: dict[tuple[str, str], str]
    """By protocol and aspect: the command that shows it."""

    def verdicts(self, protocol: str) -> dict[str, ClaimVerdict]:
        """What became of the paper's claims about a protocol, by aspect."""
        return {one.claim.aspect: one for one in verdicts_on(protocol, self.readings)}

    def observations(self, protocol: str) -> dict[str, Observation]:
        """What was seen of a protocol, by aspect."""
        seen = {aspect: observe(aspect, protocol, self.readings) for aspect in TABLE}
        return {aspect: one for aspect, one in seen.items() if one is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class KsPoint:
    """How much metadata KS carries, as a percentage of n²."""

    processes: int
    rate: float
    share: float
    percent: float
    half_width: float | None


KNOWN: Final = {quantity.name: quantity for quantity in QUANTITIES}


def read_comparison(folder: Path) -> Comparison:
    """The comparison in this folder; `LocalError` if the file is not what it should be."""
    file = folder / COMPARISON_FILE
    content = read_json(file)
    readings = Measurements()
    try:
        for fields in listed(content, "readings"):
            readings.rows.append(reading_of(fields))
        for fields in listed(content, "left_out"):
            readings.leave_out(str(fields["protocol"]), str(fields["what"]), str(fields["why"]))
        commands = {
            (str(fields["protocol"]), str(fields["aspect"])): str(fields["run"])
            for fields in listed(content, "verdicts")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(f"{file} is not what `antecede lab compare` writes: {error!r}") from error
    return Comparison(
        command=str(content.get("run", "")),
        effort=str(content.get("effort", "")),
        seeds=int(str(content.get("seeds") or 1)),
        protocols=tuple(readings.protocols()),
        readings=readings,
        commands=commands,
    )


def listed(content: Mapping[str, object], key: str) -> list[dict[str, object]]:
    """A list of objects, which may be missing."""
    return objects_in(content.get(key, []), key)


def reading_of(fields: Mapping[str, object]) -> Measurement:
    """One figure; a quantity that is not known here still has a name and a unit."""
    name = str(fields["quantity"])
    quantity = KNOWN.get(name) or Quantity(
        name=name, unit=str(fields["unit"]), against=str(fields["against"]), meaning=""
    )
    return Measurement(
        protocol=str(fields["protocol"]),
        quantity=quantity,
        situation=str(fields["situation"]),
        at=number(fields["at"]),
        figure=Estimate(
            mean=number(fields["mean"]),
            half_width=optional(fields["half_width"]),
            samples=int(str(fields["samples"])),
        ),
        seed=int(str(fields["seed"])),
    )


def number(value: object) -> float:
    """A number, also if it is written as a text."""
    return float(str(value))


def optional(value: object) -> float | None:
    """The same, if there is one."""
    return None if value is None else number(value)


def read_ks(folder: Path) -> list[KsPoint]:
    """The experiment with the algorithm of Kshemkalyani and Singhal."""
    file = folder / KS_FILE
    try:
        return [
            KsPoint(
                processes=int(str(fields["processes"])),
                rate=number(fields["rate"]),
                share=number(fields["share"]),
                percent=number(fields["percent"]),
                half_width=optional(fields["half_width"]),
            )
            for fields in listed(read_json(file), "rows")
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise LocalError(
            f"{file} is not what `antecede lab compare --ks` writes: {error!r}"
        ) from error


Figure: TypeAlias = Callable[[str, Measurements], str]
"""The figures behind a word of the table, in a few letters; empty if there are none."""


def clean_in(trouble: str) -> Figure:
    """How many runs were clean in spite of this trouble."""

    def figure(protocol: str, readings: Measurements) -> str:
        clean, runs = readings.tally(protocol, measured.CLEAN, trouble)
        return f"{clean} of {runs} runs clean" if runs else ""

    return figure


def at_largest(quantity: Quantity, unit: str, also: Quantity | None = None) -> Figure:
    """A quantity where there are most processes, everybody talking to everybody."""

    def figure(protocol: str, readings: Measurements) -> str:
        situations = readings.situations(protocol, quantity)
        dense = BROADCASTS if BROADCASTS in situations else UNIFORM
        points = readings.series(protocol, quantity, dense)
        if not points:
            return ""
        size, value = points[-1]
        text = f"{plain(value)} {unit}"
        others = [] if also is None else readings.series(protocol, also, dense)
        if others:
            text += f", {plain(others[-1][1])} {also.unit if also else ''}"
        return f"{text} at n = {plain(size)}"

    return figure


def at_highest_load(quantity: Quantity, unit: str) -> Figure:
    """A quantity where the load was highest."""

    def figure(protocol: str, readings: Measurements) -> str:
        points = readings.series(protocol, quantity, "")
        if not points:
            return ""
        load, value = points[-1]
        return f"{plain(max(value, 0.0))} {unit} at load {plain(load)}"

    return figure


def share_at_sender(protocol: str, readings: Measurements) -> str:
    """How much of the waiting that causal order does not ask for is at the sender."""
    total = sum(late for _, late in readings.series(protocol, measured.LATE, ""))
    sender = sum(late for _, late in readings.series(protocol, measured.LATE_SENDER, ""))
    return f"{100 * sender / total:.0f} % at the sender" if total > 1e-9 else ""


def left_at_distance(protocol: str, readings: Measurements) -> str:
    """How much of the throughput is left where the way is longest."""
    points = readings.series(protocol, measured.RATE, STREAM)
    if len(points) < 2 or points[0][1] <= 0:
        return ""
    (near, fast), (far, slow) = points[0], points[-1]
    return f"{100 * slow / fast:.0f} % left at {plain(far / near)} times the distance"


def most_in_transit(protocol: str, readings: Measurements) -> str:
    """The most messages of one sender under way at once."""
    points = readings.series(protocol, measured.FLYING, STREAM)
    return f"{plain(max(count for _, count in points))} under way" if points else ""


def finished(protocol: str, readings: Measurements) -> str:
    """How many runs on a bad network came to an end, unless a message was starved."""
    starved = readings.series(protocol, measured.STARVED, "")
    if is_starved(starved):
        turns, waited = starved[-1]
        return f"starved for {plain(waited)} of {plain(turns)} turns"
    points = readings.series(protocol, measured.FINISHED, LOSSY)
    return f"{100 * points[0][1]:.0f} % of lossy runs ended" if points else ""


def control_packets(protocol: str, readings: Measurements) -> str:
    """Packets without a message, for each message."""
    situations = readings.situations(protocol, measured.CONTROL_PACKETS)
    counts = [
        readings.series(protocol, measured.CONTROL_PACKETS, situation)[-1][1]
        for situation in situations
        if not situation.startswith(LOSSY)
    ]
    return f"{plain(sum(counts))} per message" if counts else ""


FIGURES: Final[dict[str, Figure]] = {
    claims.FAILURES: clean_in(LOSING),
    claims.ORDER: clean_in(REORDERING),
    claims.MESSAGE_SPACE: at_largest(measured.INTEGERS, "integers", measured.BYTES),
    claims.PROCESS_SPACE: at_largest(measured.STATE, "integers"),
    claims.SENDER_STEPS: at_largest(measured.SENDER, "steps"),
    claims.RECEIVER_STEPS: at_largest(measured.RECEIVER, "steps"),
    claims.OPTIMAL: at_highest_load(measured.LATENCY, "delays"),
    claims.SIDE: share_at_sender,
    claims.MAGNITUDE: at_highest_load(measured.LATEST, "RTT"),
    claims.SCALABLE: left_at_distance,
    claims.IN_TRANSIT: most_in_transit,
    claims.LIVENESS: finished,
    claims.CONTROL: control_packets,
}
"""By aspect of the table."""

MEANINGS: Final = {
    claims.FAILURES: "May the network lose and repeat packets?",
    claims.ORDER: "May packets overtake each other, or must channels be first in, first out?",
    claims.MESSAGE_SPACE: "How much a message carries besides its payload, as n grows.",
    claims.PROCESS_SPACE: "How much every process keeps, as n grows.",
    claims.SENDER_STEPS: "Work at the sender for one copy of a message.",
    claims.RECEIVER_STEPS: "Work at the receiver for one copy of a message.",
    claims.OPTIMAL: "Is everything delivered as soon as causal order allows?",
    claims.SIDE: "Where messages wait for longer than causal order asks.",
    claims.MAGNITUDE: "How much longer, at worst. r: a round trip, b: messages in the buffer.",
    claims.SCALABLE: "Does throughput survive a longer way?",
    claims.IN_TRANSIT: "How many messages of one sender may be on their way at once.",
    claims.LIVENESS: "Is everything delivered in the end?",
    claims.CONTROL: "Packets that carry no message.",
}
"""What each row of the table is about, for somebody who has not read the paper."""

MARKS: Final = {CONFIRMED: "✓", QUALIFIED: "~", REFUTED: "✗"}


def comparison_sections(contents: ReportContents) -> Iterator[Section]:
    """All comparisons."""
    comparisons = contents.results.of(COMPARISON, read_comparison).values()
    for number, comparison in enumerate(comparisons, start=1):
        yield comparison_section(comparison, number)


def comparison_section(comparison: Comparison, number: int) -> Section:
    """The table, its legend, and every figure that was measured."""
    ours = [protocol for protocol in IN_TABLE if protocol in comparison.protocols]
    beside = [protocol for protocol in BESIDE if protocol in comparison.protocols]
    others = [one for one in comparison.protocols if one not in ours + beside]
    cells = Cells(comparison, f"cell-{number}")
    tables = [cells.table(names) for names in (ours, beside, others) if names]
    body = joined(
        [
            paragraph(tally(comparison), class_="tally"),
            *tables,
            footnotes(),
            folded("All figures, with what each of them means", *figure_tables(comparison)),
            left_out(comparison),
        ]
    )
    seeds = counted(comparison.seeds, "seed")
    return Section(
        identity=f"comparison-{number}",
        title="Comparison",
        lead="Every cell of the paper's Table 1 against runs of the protocols themselves. "
        f"Click a cell for its figures and the command that shows them. "
        f"Measured by {comparison.command} ({seeds}).",
        body=body,
    )


def tally(comparison: Comparison) -> Markup:
    """How many claims fared how."""
    outcomes = [
        verdict.outcome
        for protocol in comparison.protocols
        for verdict in comparison.verdicts(protocol).values()
    ]
    counts = [
        element("span", f"{MARKS[outcome]} {outcomes.count(outcome)} {outcome}", class_=outcome)
        for outcome in (CONFIRMED, QUALIFIED, REFUTED)
    ]
    return joined([f"{len(outcomes)} claims: ", *counts])


class Cells:
    """Makes the tables; every cell links to a row with its figures."""

    def __init__(self, comparison: Comparison, prefix: str) -> None:
        self._comparison: Final = comparison
        self._prefix: Final = prefix
        self._count = 0
        self._verdicts: Final = {name: comparison.verdicts(name) for name in comparison.protocols}
        self._seen: Final = {name: comparison.observations(name) for name in comparison.protocols}

    def table(self, protocols: Sequence[str]) -> Markup:
        """One row per aspect, one column per protocol."""
        return table(["", *protocols], self._rows(protocols), class_="compared")

    def _rows(self, protocols: Sequence[str]) -> Iterator[list[Markup]]:
        for aspect in TABLE:
            cells = [self._cell(aspect, protocol) for protocol in protocols]
            if any(cells):
                title = element("strong", aspect)
                yield [joined([title, element("small", MEANINGS[aspect])]), *cells]

    def _cell(self, aspect: str, protocol: str) -> Markup:
        observation = self._seen[protocol].get(aspect)
        if observation is None:
            return Markup()
        verdict = self._verdicts[protocol].get(aspect)
        self._count += 1
        identity = f"{self._prefix}-{self._count}"
        figure = FIGURES[aspect](protocol, self._comparison.readings)
        button = element(
            "button",
            *self._words(observation, verdict),
            element("small", figure),
            type="button",
            popovertarget=identity,
            class_=verdict.outcome if verdict else None,
        )
        return joined([button, self._story(identity, aspect, protocol, observation, verdict)])

    def _words(self, observation: Observation, verdict: ClaimVerdict | None) -> list[Markup | str]:
        if verdict is None:
            return [element("b", observation.word)]
        words: list[Markup | str] = [element("b", f"{MARKS[verdict.outcome]} {verdict.claim.cell}")]
        if observation.word != verdict.claim.says:
            words.append(element("span", f"→ {observation.word}"))
        return words

    def _story(
        self,
        identity: str,
        aspect: str,
        protocol: str,
        observation: Observation,
        verdict: ClaimVerdict | None,
    ) -> Markup:
        lines = [element("h4", f"{protocol}: {aspect}")]
        if verdict is not None:
            seen = f"seen here: {observation.word}"
            lines.append(
                paragraph(f"The paper says {verdict.claim.cell}; {seen}: {verdict.outcome}.")
            )
            if verdict.reason:
                lines.append(paragraph(f"Why: {verdict.reason}."))
        lines.append(paragraph(f"{observation.detail}."))
        command = self._comparison.commands.get((protocol, aspect))
        if command:
            lines.append(paragraph(code(command)))
        return element("div", *lines, id=identity, popover=True, class_="story")


def footnotes() -> Markup:
    """What the raised figures mean."""
    notes = [f"{mark} {text} " for mark, text in FOOTNOTES.items()]
    return paragraph(
        *notes,
        "Behind an arrow stands what was seen; "
        "n: processes, i and o: senders to and receivers from a process, b: messages buffered, "
        "p: permits missing, u: messages unacknowledged, r: round trips.",
        class_="quiet",
    )


def figure_tables(comparison: Comparison) -> list[Markup]:
    """A table for every quantity."""
    meanings = {row.quantity.name: row.quantity.meaning for row in comparison.readings.rows}
    pieces: list[Markup] = [
        paragraph("± is half of a 95 % interval (Student's t, over seeds).", class_="quiet")
    ]
    for one in series_tables(comparison.readings):
        name = one.title.partition(" (")[0]
        pieces += [
            element("h4", one.title),
            paragraph(f"{meanings.get(name, '')}.", class_="quiet"),
            table(one.head, one.rows, texts=2),
        ]
    return pieces


def left_out(comparison: Comparison) -> Markup:
    """What was not measured, and why."""
    omissions = omission_table(comparison.readings)
    if omissions is None:
        return Markup()
    return folded(omissions.title, table(omissions.head, omissions.rows, texts=3))
