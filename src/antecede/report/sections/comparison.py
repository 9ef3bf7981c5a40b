"""The comparison table: what the paper says, what was seen, and the figures behind every word."""

from collections.abc import Iterator, Sequence
from typing import Final

from antecede.lab.comparison.claims import COLUMNS, FOOTNOTES, TABLE
from antecede.lab.comparison.documents import omission_table, series_tables
from antecede.lab.comparison.verdicts import CONFIRMED, QUALIFIED, REFUTED, Observation, Verdict
from antecede.report.page.markup import Markup, element, joined
from antecede.report.readers.comparison import Comparison
from antecede.report.sections.section import Section, code, folded, paragraph, table
from antecede.report.sections.short_figures import MEANINGS, short_figure

MARKS: Final = {CONFIRMED: "✓", QUALIFIED: "~", REFUTED: "✗"}


def comparison_section(comparison: Comparison, number: int) -> Section:
    """The table, its legend, and every figure that was measured."""
    ours = [protocol for protocol in COLUMNS if protocol in comparison.protocols]
    others = [protocol for protocol in comparison.protocols if protocol not in COLUMNS]
    cells = Cells(comparison, f"cell-{number}")
    tables = [cells.table(names) for names in (ours, others) if names]
    body = joined(
        [
            paragraph(tally(comparison), class_="tally"),
            *tables,
            footnotes(),
            folded("All figures, with what each of them means", *figure_tables(comparison)),
            left_out(comparison),
        ]
    )
    seeds = f"{comparison.seeds} seeds" if comparison.seeds > 1 else "1 seed"
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
    """Makes the tables; every cell has a place of its own where its figures are told."""

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
        figure = short_figure(aspect, protocol, self._comparison.readings)
        button = element(
            "button",
            *self._words(observation, verdict),
            element("small", figure),
            type="button",
            popovertarget=identity,
            class_=verdict.outcome if verdict else None,
        )
        return joined([button, self._story(identity, aspect, protocol, observation, verdict)])

    def _words(self, observation: Observation, verdict: Verdict | None) -> list[Markup | str]:
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
        verdict: Verdict | None,
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
