"""`antecede dashboard --events`: a recorded run, at any of its moments, beside its diagram."""

from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.log import EventLog
from antecede.eventlog.writers import write_events
from antecede.runtime.observe.http_listener import HttpServer
from antecede_audit.report.spacetime.recording import build_run, rows_of_log
from antecede_cli.view.cluster import Object
from antecede_cli.view.dashboard import Dashboard
from antecede_cli.view.replay import ReplayViews, read_run, replay_page
from tests.antecede_audit.report.logs import Scribe, simulated
from tests.antecede_cli.view.clusters import run
from tests.antecede_cli.view.test_dashboard import Seen, chromium

MS = 1_000_000
NAMES = {0: "a", 1: "b", 2: "c", 3: "d"}


def chain() -> Scribe:
    """The chain of the manual: a multicasts to b and c, which is dead; b has read it and writes to
    d, and can do so only when c is expelled."""
    scribe = Scribe()
    scribe.submit(0, 2, 1, 0)
    scribe.transmit(0, 2, 0, 1, 2, 1)
    scribe.arrive(1, 0, 1, 2, 1)
    scribe.deliver(1, 0, 2, 1)
    scribe.submit(1000, 0, 1, 1, 2)
    scribe.transmit(1000, 0, 1, 2, 0, 1)
    scribe.transmit(1000, 0, 2, 3, 0, 1)
    scribe.arrive(1001, 1, 2, 0, 1)
    scribe.deliver(1001, 1, 0, 1)
    scribe.submit(2000, 1, 1, 3)
    scribe.transmit(12000, 1, 3, 4, 1, 1)
    scribe.arrive(12001, 3, 4, 1, 1)
    scribe.deliver(12001, 3, 1, 1)
    scribe.submit(20000, 0, 2, 1)
    scribe.transmit(20000, 0, 1, 5, 0, 2)
    scribe.arrive(20001, 1, 5, 0, 2)
    scribe.deliver(20001, 1, 0, 2)
    return scribe


def views_of(log: EventLog) -> ReplayViews:
    return ReplayViews(build_run(rows_of_log(log), "by hand", names=NAMES))


def at(views: ReplayViews, ms: int) -> tuple[dict[str, str], dict[tuple[str, str], Object]]:
    """The status of every node and who waits for whom."""
    whole = views.whole(str(ms * MS))
    statuses = {one["name"]: one["status"] for one in whole["nodes"]}
    return statuses, {(one["from"], one["to"]): one for one in whole["waits"]}


def test_at_every_moment_it_is_seen_who_waited_for_whom() -> None:
    views = views_of(chain().log)
    statuses, waits = at(views, 1500)
    assert waits == {}
    assert statuses["d"] == "unknown", "the log says nothing of it yet"

    statuses, waits = at(views, 8000)
    assert statuses == {"a": "ok", "b": "blocked", "c": "unreachable", "d": "unknown"}
    assert list(waits) == [("b", "a"), ("a", "c")]
    assert waits["b", "a"]["messages"] == 1
    assert waits["a", "c"]["why"] == "of which the log says no more"
    found = views.node("b", str(8000 * MS))
    assert found is not None
    assert found["text"] == ["message 1 to d is held back for 6.00 s"]
    assert found["waits_for"] == ["a"]

    statuses, waits = at(views, 13000)
    assert (statuses["b"], statuses["c"], waits) == ("ok", "away", {})
    told = [one["text"] for one in views.whole(str(13000 * MS))["happenings"]]
    assert "the others go on without c" in told
    assert "message 1 of b goes on, after 10.0 s" in told


def test_one_may_go_back_and_anywhere() -> None:
    views = views_of(chain().log)
    forth = [views.whole(str(ms * MS)) for ms in range(0, 20_000, 500)]
    back = [views.whole(str(ms * MS)) for ms in reversed(range(0, 20_000, 500))]
    assert back[::-1] == forth
    assert views.whole("nonsense") == views.whole("0")
    assert views.whole(str(10**18)) == views.whole(str(20_001 * MS))
    assert views.node("nobody", "0") is None
    assert views.room("lobby", "0") is None


def test_a_receiver_waits_for_what_is_missing_before() -> None:
    """The triangle: a writes to c, then to b, whose answer overtakes at c, and waits there."""
    scribe = Scribe()
    for sequence, target in ((1, 2), (2, 1)):
        scribe.submit(sequence, 0, sequence, target)
        scribe.transmit(sequence, 0, target, sequence, 0, sequence)
    scribe.arrive(3, 1, 2, 0, 2)
    scribe.deliver(3, 1, 0, 2)
    scribe.submit(4, 1, 1, 2)
    scribe.transmit(4, 1, 2, 3, 1, 1)
    scribe.arrive(5, 2, 3, 1, 1)
    scribe.arrive(90, 2, 1, 0, 1)
    scribe.deliver(90, 2, 0, 1)
    scribe.deliver(91, 2, 1, 1)
    views = views_of(scribe.log)
    _, waits = at(views, 50)
    assert list(waits) == [("c", "a")]
    found = views.node("c", str(50 * MS))
    assert found is not None
    assert found["inbox"] == 1
    assert found["text"] == [
        "message 1 of b has arrived and waits for one that is missing before it"
    ]
    assert at(views, 91)[1] == {}


def test_counts_agree_with_the_log() -> None:
    log = simulated("hybrid", messages=200)
    recording = build_run(rows_of_log(log), "simulated")
    views = ReplayViews(recording)
    copies = recording.copies
    for part in range(1, 10):
        at_ns = recording.span_ns * part // 10
        whole = views.whole(str(at_ns))
        pairs = list(zip(copies.submitted_ns, copies.delivered_ns, strict=True))
        open_ones = sum(
            begin <= at_ns and not (0 <= end <= at_ns) for begin, end in pairs if begin >= 0
        )
        assert sum(one["buffered"] for one in whole["nodes"]) == open_ones


def test_a_run_is_found_or_it_is_said_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="there is no such file or directory"):
        read_run(tmp_path / "none", None)
    for name in ("one", "two"):
        write_events(tmp_path / "events", chain().log, run_id=name)
    with pytest.raises(LocalError, match=r"has 2 runs: .*; name one with --run"):
        read_run(tmp_path / "events", None)
    with pytest.raises(LocalError, match="no run is called 'three'"):
        read_run(tmp_path / "events", "three")
    assert read_run(tmp_path / "events", "two").run_id == "two"


def test_a_recorded_run_is_played_in_a_browser_beside_its_diagram(tmp_path: Path) -> None:
    write_events(tmp_path / "events", chain().log, run_id="chain")
    recording = read_run(tmp_path / "events", None)
    names = [*recording.run.names]

    async def story() -> None:
        dashboard = Dashboard(ReplayViews(recording.run), replay_page(recording), "")
        async with HttpServer(dashboard.answer) as server, chromium() as browser:
            await server.start("127.0.0.1", 0)
            seen = await Seen(await browser.new_page(), f"http://{server.address}/").open()
            await seen.until("document.querySelector('#viewer[data-ready]')")
            await seen.until("document.querySelectorAll('tbody tr').length === 4")
            await seen.page.evaluate("goToMoment(8e9)")
            await seen.until(f"document.querySelector('tr.blocked[data-key=\"{names[1]}\"]')")
            await seen.until("document.querySelector('.graph .wait.stuck')")
            assert await seen.text("#clock") == "8 s of 20 s"
            place = await seen.page.evaluate(
                "(() => { const panel = document.getElementById('viewer').viewer.panels[0];"
                "const line = panel.element.querySelector('.playhead');"
                "return line.offsetLeft - panel.canvas.offsetLeft - panel.view.x(8e9); })()"
            )
            assert abs(place) < 2

            await seen.page.select_option("#speed", "10")
            await seen.page.focus("#board")
            await seen.page.keyboard.press(" ")
            await seen.until("document.querySelector('#play').textContent === '▶'")
            await seen.until("document.querySelector('.graph .calm')")
            assert "the others go on without" in await seen.text(".lately")
            await seen.page.keyboard.press("ArrowLeft")
            await seen.page.click("#play")
            await seen.page.click('tbody a:has-text("1")')
            await seen.until("document.querySelector('#node h2')")
            assert seen.complaints == []

    run(story())
