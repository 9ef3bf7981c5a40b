"""A run of a hundred thousand messages in a real Chromium: what is not visible is not drawn."""

import random
from pathlib import Path

from antecede_audit.report.page.document import Report
from antecede_audit.report.page.markup import Markup
from antecede_audit.report.recordings_page import spacetime_section
from antecede_audit.report.spacetime.diagram import Diagram
from antecede_audit.report.spacetime.recording import (
    FIRST,
    MISSING,
    CopyColumns,
    Packets,
    Recording,
)
from tests.antecede_audit.report.chromium import Opened, chromium, write_page

MS = 1_000_000
MESSAGES = 100_000
PROCESSES = 40
SPAN_NS = 10_000 * MS

ARROWS_MAX = 1500
BARS_MAX = 2400


def long_copies() -> CopyColumns:
    """A message every tenth of a millisecond; half of them wait at their sender for a while."""
    chance = random.Random(7)
    copies = CopyColumns()
    for number in range(MESSAGES):
        sender, target = chance.sample(range(PROCESSES), 2)
        submitted_ns = number * SPAN_NS // MESSAGES
        transmitted_ns = submitted_ns + chance.choice([0, chance.randrange(40 * MS)])
        arrived_ns = transmitted_ns + chance.randrange(MS // 2, 2 * MS)
        copies.sender.append(sender)
        copies.sequence.append(number + 1)
        copies.target.append(target)
        copies.submitted_ns.append(submitted_ns)
        copies.transmitted_ns.append(transmitted_ns)
        copies.arrived_ns.append(arrived_ns)
        copies.delivered_ns.append(arrived_ns)
        copies.payload_bytes.append(64)
    # Positions that grow with time, whatever the process, are in order at each.
    copies.submitted_at.extend(2 * time_ns for time_ns in copies.submitted_ns)
    copies.delivered_at.extend(2 * time_ns + 1 for time_ns in copies.delivered_ns)
    return copies


def long_packets(copies: CopyColumns) -> Packets:
    """One packet for each copy, and an ack for each packet."""
    ends = list(zip(copies.sender, copies.target, strict=True))
    times = zip(copies.transmitted_ns, copies.arrived_ns, strict=True)
    rows: list[tuple[int, ...]] = []
    for copy, ((sender, target), (sent_ns, arrived_ns)) in enumerate(zip(ends, times, strict=True)):
        rows.append((sent_ns, 0, sender, target, arrived_ns, copy))
        rows.append((arrived_ns, 1, target, sender, arrived_ns + MS, MISSING))
    sent, kinds, sources, targets, arrived, carried = map(list, zip(*sorted(rows), strict=True))
    return Packets(
        kind=kinds,
        source=sources,
        target=targets,
        sent_ns=sent,
        arrived_ns=arrived,
        copy=carried,
        repeated=[FIRST] * len(rows),
        metadata_bytes=[4] * len(rows),
    )


def long_run() -> Recording:
    copies = long_copies()
    return Recording(
        name="long",
        start_ns=0,
        span_ns=SPAN_NS + 50 * MS,
        processes=tuple(range(PROCESSES)),
        names=tuple(f"P{row}" for row in range(PROCESSES)),
        packet_kinds=("message", "ack"),
        copies=copies,
        packets=long_packets(copies),
    )


ZOOM = """async () => {
  const panel = document.getElementById('viewer').viewer.panels[0];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  panel.show(0, panel.view.span, true);
  await frame();
  await frame();
  const steps = [];
  for (let step = 0; step < 22; step += 1) {
    const started = performance.now();
    panel.zoom(0.6);
    panel.drawNow();
    panel.canvas.getContext('2d').getImageData(0, 0, 1, 1);  // Waits until the pixels are there.
    const milliseconds = performance.now() - started;
    const { packets, packetsVisible, bars } = panel.scene.drawn;
    const profiles = panel.scene.profiles.length;
    steps.push({ milliseconds, packets, packetsVisible, bars, profiles });
    await frame();
  }
  return steps;
}"""


def test_a_hundred_thousand_messages_are_never_drawn_at_once(tmp_path: Path) -> None:
    section = spacetime_section([Diagram(run=long_run())])
    assert section is not None
    report = Report(title="long", subtitle="", opening=Markup(), sections=[section], sources=[])
    file = write_page(tmp_path, report)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        one = Opened(page, file).ready()
        # Later on Chromium itself has advice for those who read pixels back, as `ZOOM` does.
        assert one.complaints == []
        steps = page.evaluate(ZOOM)
        one.panel("panel.select(50000)")
        one.drawn()
        past = one.number("panel.causality.cone(50000).pastCount")
        focused = one.number("panel.scene.drawn.packets")

    slowest = max(step["milliseconds"] for step in steps)
    print(f"the slowest of {len(steps)} zoom steps took {slowest:.0f} ms")
    assert steps[0]["packetsVisible"] > 50_000
    assert steps[-1]["packetsVisible"] < 100
    for step in steps:
        assert step["packets"] <= ARROWS_MAX
        assert step["bars"] <= BARS_MAX
        assert step["profiles"] <= 2 * PROCESSES
        if step["packetsVisible"] <= ARROWS_MAX:
            assert step["packets"] == step["packetsVisible"]
    assert past > 1000
    assert focused <= ARROWS_MAX
