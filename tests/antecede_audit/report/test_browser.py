"""The report in a real Chromium: it opens offline, and does what it is told."""

import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="the Python package playwright is not installed")

from playwright.sync_api import Browser, Page

from antecede.eventlog.log import EventLog
from antecede.eventlog.processes import write_processes
from antecede.eventlog.writers import write_events
from antecede_audit.judging import check_log
from antecede_audit.judging.definition import History
from antecede_audit.report.assemble import ReportOptions, make_report
from antecede_audit.report.page.section import table
from antecede_lab.report.scenario_page import story_report
from antecede_lab.scenarios.catalogue import SCENARIOS
from tests.antecede_audit.report.all_parts import PARTS
from tests.antecede_audit.report.chromium import Opened, chromium, write_page
from tests.antecede_audit.report.logs import Scribe, overtaken, simulated
from tests.antecede_audit.report.results import (
    swept_run,
    write_comparison,
    write_evaluation,
    write_sweep,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def wrong() -> EventLog:
    return simulated("none", messages=300)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, wrong: EventLog) -> Path:
    """A report with every part: two runs, a comparison, a sweep, an evaluation."""
    folder = tmp_path_factory.mktemp("everything")
    write_events(folder / "events", simulated("hybrid", messages=300), run_id="hybrid")
    write_events(folder / "events", wrong, run_id="none")
    write_comparison(folder / "table")
    write_evaluation(folder / "answers")
    write_sweep(folder / "swept", [swept_run("hybrid", 1), swept_run("rst", 1)])
    return write_page(folder, make_report([folder], ReportOptions(), PARTS))


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A tab for all who look at everything: a new one costs a process, and reports keep nothing."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def opened(tab: Page, everything: Path) -> Opened:
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.mouse.move(0, 0)
    return Opened(tab, everything).ready()


def test_the_page_opens_without_errors_and_asks_nothing_of_a_network(
    opened: Opened, everything: Path
) -> None:
    assert opened.complaints == []
    assert opened.requests == [everything.absolute().as_uri()]


def test_the_comparison_table_has_the_numbers_and_tells_more_on_request(opened: Opened) -> None:
    page = opened.page
    cell = page.get_by_role("button", name="✓ O(n²)")
    assert cell.inner_text().splitlines() == ["✓ O(n²)", "400 integers, 409 bytes at n = 20"]
    story = page.locator("[popover]").first
    assert not story.is_visible()

    cell.click()
    assert "25.0 integers at n = 5, 400.0 at n = 20: n^2.00" in story.inner_text()
    page.keyboard.press("Escape")
    assert not story.is_visible()


def test_a_panel_counts_messages_copies_and_violations(opened: Opened, wrong: EventLog) -> None:
    copies = sum(event.kind == "submitted" for event in wrong)
    early = len(check_log(wrong).violations)
    status = opened.page.locator(".status").nth(1).inner_text()
    faults = opened.page.locator(".faults").nth(1).inner_text()

    assert status.startswith(f"300 messages ({copies} copies), ")
    assert faults.split("\n")[1] == f"100 of {early} violations"


def test_names_too_long_for_their_place_keep_beginning_and_end(
    browser: Browser, tmp_path: Path
) -> None:
    log = overtaken().log
    write_events(tmp_path / "log.jsonl", log)
    long = "payment-service-of-the-northern-region-6f94c49ccd-4rdb2"
    write_processes(tmp_path / "log.processes.jsonl", {0: long, 1: "bob", 2: "🎉" * 40})
    file = write_page(tmp_path, make_report([tmp_path], ReportOptions(), PARTS))
    page = browser.new_page(viewport={"width": 390, "height": 800})
    opened = Opened(page, file).ready()

    names = opened.panel("panel.scene.rows.map(({ name }) => name)")
    assert isinstance(names, list)
    bob, first, party = names
    assert bob == "bob"
    beginning, ending = first.split("…")
    assert long.startswith(beginning)
    assert long.endswith(ending)
    assert min(len(beginning), len(ending)) > 2
    assert set(party) == {"🎉", "…"}
    page.close()


def test_a_chart_reads_out_its_values(opened: Opened) -> None:
    page = opened.page
    chart = page.locator("#growth svg[data-chart]").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.93, box["y"] + box["height"] / 2)

    tip = page.locator("#tip")
    lines = tip.inner_text().split()
    assert lines == ["processes", "(n):", "20", "rst", "400", "mine", "20", "hybrid", "2"]
    page.mouse.move(1, 1)
    assert not tip.is_visible()


def test_a_legend_lets_one_line_stand_out(opened: Opened) -> None:
    page = opened.page
    section = page.locator("#growth")
    section.locator(".legend button", has_text="rst").click()
    faded = section.locator(".line[data-series=mine]").first
    page.wait_for_function(
        "(node) => getComputedStyle(node).opacity < 0.2", arg=faded.element_handle()
    )

    assert section.locator(".line.chosen").count() > 0
    chosen = section.locator(".line[data-series=rst]").first
    assert chosen.evaluate("(node) => getComputedStyle(node).opacity") == "1"


def test_buttons_and_the_wheel_with_control_zoom_and_the_wheel_alone_scrolls(
    opened: Opened,
) -> None:
    page = opened.page
    length = opened.number("panel.view.to - panel.view.from")
    page.get_by_role("button", name="Zoom in").first.click()
    assert opened.number("panel.view.to - panel.view.from") == pytest.approx(length * 0.6)

    page.mouse.move(*opened.place(400, 100))
    under = opened.number("panel.view.time(400)")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    opened.drawn()
    closer = opened.number("panel.view.to - panel.view.from")
    assert closer < length * 0.5
    assert opened.number("panel.view.time(400)") == pytest.approx(under, rel=0.02)

    page.mouse.wheel(0, 200)
    opened.drawn()
    assert opened.number("panel.view.to - panel.view.from") == closer

    page.get_by_role("button", name="Show the whole run").first.click()
    assert opened.panel("panel.showsAll") is True


def test_dragging_moves_through_the_run_and_does_not_select(opened: Opened) -> None:
    page = opened.page
    opened.panel("panel.zoom(0.5)")
    before = opened.number("panel.view.from")
    grain = opened.number("panel.view.grain")
    x, y = opened.place(400, 60)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 100, y, steps=5)
    page.mouse.up()

    assert opened.number("panel.view.from") == pytest.approx(before + 100 * grain, rel=0.1)
    assert opened.panel("panel.focus") is None


def test_keys_do_the_same(opened: Opened) -> None:
    page = opened.page
    page.locator("canvas.spacetime").first.focus()
    length = opened.number("panel.view.to - panel.view.from")
    page.keyboard.press("+")
    assert opened.number("panel.view.to - panel.view.from") < length
    page.keyboard.press("0")
    assert opened.panel("panel.showsAll") is True
    page.locator("canvas.spacetime").nth(1).focus()
    page.keyboard.press("n")
    assert opened.number("panel.violation", 1) == 0
    page.keyboard.press("Escape")
    assert opened.number("panel.violation", 1) == -1


def test_what_is_under_the_pointer_is_told(opened: Opened) -> None:
    """The longest visible arrow of a message, in its middle."""
    place = opened.panel(LONGEST)
    assert isinstance(place, dict)
    opened.page.mouse.move(*opened.place(place["x"], place["y"]))

    text = opened.page.locator("#tip").inner_text()
    assert f"message {place['sequence']}, " in text
    assert "on the way for" in text


LONGEST = """(() => {
  const { hitArrows } = panel.scene;
  let best = null;
  for (let at = 0; at < hitArrows.length; at += 5) {
    const [packet, x1, y1, x2, y2] = hitArrows.slice(at, at + 5);
    const copy = panel.run.packets.copy[packet];
    const { gutter, width } = panel.view;
    const inside = Math.min(x1, x2) > gutter + 5 && Math.max(x1, x2) < width - 5;
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [x, y] = [x1 + 0.37 * (x2 - x1), y1 + 0.37 * (y2 - y1)];
    if (copy >= 0 && inside && (!best || length > best.length)) {
      best = { x, y, copy, length, sequence: panel.run.copies.sequence[copy] };
    }
  }
  return best;
})()"""


def test_a_click_on_a_message_shows_its_past_and_future_in_both_runs(opened: Opened) -> None:
    place = opened.panel(LONGEST)
    assert isinstance(place, dict)
    opened.page.mouse.click(*opened.place(place["x"], place["y"]))
    opened.drawn()

    story = opened.page.locator(".telling").first.inner_text()
    assert f"message {place['sequence']}, " in story
    assert "depends on" in story
    tones = opened.panel("[...panel.scene.arrows.keys()].map((style) => style.split(' ')[1])")
    assert isinstance(tones, list)
    assert {"self", "dim"} <= set(tones)
    assert opened.panel("panel.run.identity(panel.selected)") == opened.panel(
        "panel.run.identity(panel.selected)", 1
    )

    opened.page.get_by_role("button", name="Let nothing stand out").first.click()
    assert opened.panel("panel.focus", 0) is None
    assert opened.panel("panel.focus", 1) is None


def test_past_and_future_are_those_of_the_definition(opened: Opened, wrong: EventLog) -> None:
    history = History(wrong)
    past = history.past()
    messages = list(history.submitted)
    for message in random.Random(1).sample(messages, 25):
        before = past.of(message)
        after = [other for other in messages if past.of(other) & past.bit[message]]
        copy = opened.number(
            f"""(() => {{ const {{ sender, sequence }} = panel.run.copies;
            return sender.findIndex((row, copy) =>
            panel.run.names[row] === 'P{message.sender}' && sequence[copy] === {message.sequence});
            }})()""",
            1,
        )
        opened.panel(f"panel.select({copy})", 1)
        counts = opened.panel(
            f"(() => {{ const cone = panel.causality.cone({copy}); "
            "return [cone.pastCount, cone.futureCount]; })()",
            1,
        )
        assert counts == [before.bit_count(), len(after)]
        relations = opened.panel(
            f"""(() => {{ const cone = panel.causality.cone({copy}); const found = {{}};
            for (let other = 0; other < panel.run.copyCount; other += 1) {{
              const {{ sender, sequence }} = panel.run.copies;
              found[panel.run.names[sender[other]] + ':' + sequence[other]] =
                panel.causality.relation(other, cone);
            }} return JSON.stringify(found); }})()""",
            1,
        )
        assert isinstance(relations, str)
        expected = {
            f"P{other.sender}:{other.sequence}": "self"
            if other == message
            else "past"
            if before & past.bit[other]
            else "future"
            if other in after
            else ""
            for other in messages
        }
        assert json.loads(relations) == expected


def test_the_audit_leads_to_its_violations_in_the_diagram(opened: Opened) -> None:
    page = opened.page
    page.locator("button[data-violation]").nth(2).click()
    opened.drawn()

    assert opened.number("panel.violation", 1) == 2
    assert page.locator(".faults").nth(1).inner_text().split("\n")[1].startswith("violation 3 of ")
    styles = opened.panel(
        "[...new Set([...panel.scene.arrows.keys()].map((style) => style.split(' ')[1]))]", 1
    )
    assert isinstance(styles, list)
    assert {"early", "late"} <= set(styles)
    late = opened.panel("panel.run.violations[2].late", 1)
    assert opened.panel(
        f"panel.view.from <= panel.run.copies.begin[{late}] && "
        f"panel.view.to >= panel.run.copies.delivered[{late}]",
        1,
    )
    assert "Too early by" in page.locator(".telling").nth(1).inner_text()


def test_the_witness_of_a_transitive_violation_is_drawn(browser: Browser, tmp_path: Path) -> None:
    write_events(tmp_path / "triangle.jsonl", overtaken().log)
    file = write_page(tmp_path, make_report([tmp_path], ReportOptions(), PARTS))
    page = browser.new_page()
    one = Opened(page, file).ready()
    page.get_by_role("button", name="Next violation").click()
    one.drawn()

    styles = one.panel(
        "Object.fromEntries([...panel.scene.arrows].map(([k, v]) => [k, v.length / 5]))"
    )
    assert styles == {"message early": 1, "message late": 1, "message path": 1}
    assert one.complaints == []
    page.close()


def test_runs_move_together_until_they_are_let_go(opened: Opened) -> None:
    opened.panel("panel.show(10e6, 40e6)")
    assert opened.number("panel.view.from", 1) == opened.number("panel.view.from", 0)

    opened.page.get_by_label("move together").uncheck()
    opened.panel("panel.show(50e6, 60e6)")
    assert opened.number("panel.view.from", 1) != opened.number("panel.view.from", 0)


def test_a_panel_can_show_another_run_and_stand_alone(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("two runs").uncheck()
    assert page.locator("canvas.spacetime").count() == 1
    page.get_by_label("Run", exact=True).select_option("none")
    opened.drawn()

    assert opened.panel("panel.run.name") == "none"
    page.get_by_label("two runs").check()
    opened.drawn()
    assert page.locator("canvas.spacetime").count() == 2


def test_kinds_of_packets_can_be_hidden(opened: Opened) -> None:
    opened.panel("panel.show(0, 60e6)")
    opened.drawn()
    before = opened.panel("[...panel.scene.arrows.keys()]")
    assert isinstance(before, list)
    assert "ack" in before
    opened.page.get_by_label("acks").uncheck()
    opened.drawn()

    after = opened.panel("[...panel.scene.arrows.keys()]")
    assert isinstance(after, list)
    assert set(before) - set(after) == {"ack"}


def test_what_is_visible_can_be_saved(opened: Opened) -> None:
    page = opened.page
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save what is visible as SVG").first.click()
    assert saving.value.suggested_filename == "hybrid.svg"
    drawing = ET.parse(saving.value.path()).getroot()
    names = [text.text for text in drawing.iter(f"{SVG}text")]
    assert {"P0", "P1", "P2", "P3", "P4"} <= set(names)
    assert len(list(drawing.iter(f"{SVG}path"))) > 10

    with page.expect_download() as saving:
        page.get_by_role("button", name="Save what is visible as PNG").first.click()
    assert saving.value.suggested_filename == "hybrid.png"
    assert saving.value.path().read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_its_own_switch(
    browser: Browser, everything: Path, scheme: str
) -> None:
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type] # both are known
    one = Opened(page, everything).ready()

    def brightness() -> int:
        pixel = one.panel(
            "[...panel.canvas.getContext('2d').getImageData(2, 2, 1, 1).data.slice(0, 3)]"
        )
        assert isinstance(pixel, list)
        return sum(pixel) // 3

    assert (brightness() > 128) == (scheme == "light")
    page.locator("#theme").click()
    one.drawn()
    assert (brightness() > 128) == (scheme != "light")
    page.close()


def test_a_phone_shows_it_all_without_scrolling_sideways(
    browser: Browser, everything: Path
) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740})
    one = Opened(page, everything).ready()

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert one.number("panel.view.width") > 280
    tops = [page.locator("canvas.spacetime").nth(number).bounding_box() for number in (0, 1)]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[1]["y"] > tops[0]["y"] + tops[0]["height"]
    page.close()


def hours_long(start_ms: int) -> EventLog:
    """Ten messages, one in ten minutes."""
    scribe = Scribe()
    for number in range(1, 11):
        at = start_ms + number * 600_000
        scribe.submit(at, 0, number, 1)
        scribe.deliver(at + 1_500, 1, 0, number)
    return scribe.log


def axis_of(tab: Page, tmp_path: Path, *logs: tuple[str, EventLog]) -> tuple[list[str], str]:
    for name, log in logs:
        write_events(tmp_path / f"{name}.jsonl", log)
    file = write_page(tmp_path, make_report([tmp_path], ReportOptions(), PARTS))
    tab.set_viewport_size({"width": 1280, "height": 800})
    opened = Opened(tab, file).ready()
    opened.page.get_by_role("button", name="Show the whole run").first.click()
    texts = opened.drawn().panel("panel.scene.axis.map(({ text }) => text).filter(Boolean)")
    assert isinstance(texts, list)
    told = " ".join(tab.locator(".panel p").all_inner_texts())
    return texts, told


def test_long_runs_are_told_by_the_clock(tab: Page, tmp_path: Path) -> None:
    texts, _ = axis_of(tab, tmp_path, ("long", hours_long(0)))
    assert "10:00" in texts
    assert "1:10:00" in texts


def test_recorded_runs_have_times_of_day(tab: Page, tmp_path: Path) -> None:
    texts, told = axis_of(tab, tmp_path, ("recorded", hours_long(1_700_000_000_000)))
    assert "23:00:00" in texts
    assert all(text.endswith(":00") for text in texts)
    assert "Began 2023-11-14 22:23:20" in told


def test_times_of_day_have_the_digits_that_tell_them_apart(tab: Page, tmp_path: Path) -> None:
    """Some steps need a digit more than the stretch that is seen: 5 ms of 50."""
    start_ms = 1_700_000_000_000
    for length_ms in (7, 49, 700):
        scribe = Scribe()
        scribe.submit(start_ms, 0, 1, 1)
        scribe.deliver(start_ms + length_ms, 1, 0, 1)
        folder = tmp_path / str(length_ms)
        folder.mkdir()
        texts, _ = axis_of(tab, folder, ("recorded", scribe.log))
        seconds = [float(text.rpartition(":")[2]) for text in texts]
        steps = {round(after - before, 7) for before, after in pairwise(seconds)}
        assert len(steps) == 1, (length_ms, texts)


def test_the_last_time_of_an_axis_is_not_cut_off(tab: Page, tmp_path: Path) -> None:
    write_events(tmp_path / "recorded.jsonl", hours_long(1_700_000_000_000))
    file = write_page(tmp_path, make_report([tmp_path], ReportOptions(), PARTS))
    for width in (900, 940, 980):
        tab.set_viewport_size({"width": width, "height": 800})
        opened = Opened(tab, file).ready()
        room = opened.number("panel.scene.width")
        ends = opened.panel(
            "panel.scene.axis.filter(({ text }) => text).map(({ x, text }) => x + 3 * text.length)"
        )
        assert isinstance(ends, list)
        assert max(ends) <= room


def test_a_table_of_two_columns_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """Sentences in the first column must not push the figures off the screen."""
    rows = [["messages that arrive before they are sent, by the recorded clocks", "7"]]
    write_events(tmp_path / "one.jsonl", hours_long(0))
    found = make_report([tmp_path], ReportOptions(), PARTS)
    met = table(["what was met", "how often"], rows)
    file = write_page(tmp_path, replace(found, opening=met, sections=()))
    page = browser.new_page(viewport={"width": 360, "height": 740})
    page.goto(file.absolute().as_uri())
    box = page.locator("td").first.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360
    page.close()


def test_beside_another_a_run_counts_from_its_beginning(tab: Page, tmp_path: Path) -> None:
    log = hours_long(1_700_000_000_000)
    texts, _ = axis_of(tab, tmp_path, ("one", log), ("other", log))
    assert "1:00:00" in texts


def test_a_second_panel_shows_the_other_run(browser: Browser, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_events(tmp_path / f"{name}.jsonl", hours_long(0))
    file = write_page(tmp_path, make_report([tmp_path], ReportOptions(), PARTS))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    opened = Opened(page, file).ready()
    both = page.get_by_label("two runs")
    both.uncheck()
    page.locator("select").first.select_option("other")
    opened.drawn()
    both.check()
    page.wait_for_function("document.querySelectorAll('canvas.spacetime').length === 2")
    opened.drawn()
    assert opened.panel("panel.picker.value", 0) == "other"
    assert opened.panel("panel.picker.value", 1) == "one"
    page.close()


@pytest.mark.parametrize("name", ["triangle", "figure", "silent-receiver"])
def test_two_short_runs_are_shown_whole_from_the_start(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    """The longer one, too: what a story is about is often at its end."""
    scenario = SCENARIOS[name]
    performances = [act.play() for act in scenario.acts]
    file = write_page(tmp_path, story_report(scenario, scenario.acts, performances))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    one = Opened(page, file).ready()

    assert [one.panel("panel.showsAll", number) for number in (0, 1)] == [True, True]
    assert one.number("panel.view.to", 0) == one.number("panel.view.to", 1)
    page.close()
