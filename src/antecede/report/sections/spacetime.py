"""The spacetime diagram: a place for it on the page, and its data."""

from collections.abc import Sequence

from antecede.report.page.markup import Markup, element, joined, json_script
from antecede.report.sections.section import Section, paragraph
from antecede.report.spacetime.diagram import Diagram, diagram_object

LEAD = (
    "Processes are lines, time goes to the right, messages are arrows; a lost packet ends in a "
    "cross. "
    "Click a message to see what it depends on and what depends on it. "
    "Drag to move; pinch, or hold Ctrl and turn the wheel, to zoom."
)


def spacetime_section(
    diagrams: Sequence[Diagram], pair: Sequence[int] | None = None
) -> Section | None:
    """A viewer of all runs that were read: two at a time if there are several, or this pair."""
    if not diagrams:
        return None
    data = [
        json_script(f"run-{number}", diagram_object(one)) for number, one in enumerate(diagrams)
    ]
    shown = range(min(2, len(diagrams))) if pair is None else pair
    stage = element(
        "div",
        fallback(),
        id="viewer",
        data_runs=len(diagrams),
        data_pair=",".join(map(str, shown)),
    )
    return Section(
        identity="spacetime",
        title="Spacetime diagram",
        lead=LEAD,
        body=joined([stage, *data]),
    )


def fallback() -> Markup:
    """What is there until the script has drawn something."""
    return paragraph("The diagram is drawn by a script, which has not run.", class_="quiet")
