"""From folders to a report: what is there is shown, under the right names."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.writers import write_events
from antecede_audit import report as audit_report
from antecede_audit.report import ReportPart
from antecede_audit.report.assemble import ReportOptions, make_report
from antecede_audit.report.page.document import Report, page_text
from antecede_audit.report.page.markup import Markup
from antecede_audit.report.page.section import Place, Section, page_order
from antecede_audit.report.parts import ReportContents, Results
from antecede_audit.report.sources import ReportSource, file_kind
from antecede_audit.report.spacetime.recording import TimeRange
from tests.antecede_audit.report.all_parts import PARTS
from tests.antecede_audit.report.logs import Scribe, overtaken, simulated
from tests.antecede_audit.report.results import (
    swept_run,
    write_audit,
    write_comparison,
    write_evaluation,
    write_sweep,
)

ROW = (2, 1, 1, 4_000_000, 0, 1, 9_000_000, 5_000_000, "transitive")


def report_of(*paths: Path, **wanted: object) -> Report:
    return make_report(list(paths), ReportOptions(**wanted), PARTS)  # type: ignore[arg-type] # as given


def sections(report: Report) -> dict[str, str]:
    return {section.title: section.body for section in report.sections}


def orderly() -> Scribe:
    scribe = Scribe()
    scribe.submit(0, 0, 1, 1)
    scribe.deliver(4, 1, 0, 1)
    return scribe


def test_recorded_runs_are_drawn_judged_and_measured(tmp_path: Path) -> None:
    write_events(tmp_path / "good.jsonl", orderly().log)
    write_events(tmp_path / "wrong.jsonl", overtaken().log)
    report = report_of(tmp_path)
    shown = sections(report)

    assert list(shown) == ["Spacetime diagram", "Audit", "Latency", "Buffers over time"]
    assert 'data-pair="0,1"' in shown["Spacetime diagram"]
    assert "P2 delivered message 1 of P1 at 4 ms" in shown["Audit"]
    assert 'data-run="1" data-violation="0"' in shown["Audit"]
    assert '<b class="refuted">1</b>' in report.opening
    assert "metadata bytes a message" in report.opening
    assert report.sections[1].lead == "1 message was delivered before something that caused it."
    assert report.sources == [("2 recorded runs", str(tmp_path))]


def test_the_table_of_runs_has_their_figures(tmp_path: Path) -> None:
    scribe = Scribe()
    for sequence in range(1, 101):
        scribe.submit(sequence, 0, sequence, 1)
        scribe.transmit(sequence, 0, 1, sequence, 0, sequence)
        at = sequence + (50 if sequence == 100 else 1)
        scribe.arrive(at, 1, sequence, 0, sequence)
        scribe.deliver(at, 1, 0, sequence)
        scribe.control(at, None, 1, 0, 1_000 + sequence)
        scribe.control(at, None, 1, 0, 2_000 + sequence)
    write_events(tmp_path / "chat.jsonl", scribe.log)
    report = report_of(tmp_path)
    cells = re.findall(r"<t[dh][^>]*>(?:<b[^>]*>)?([^<]*)", report.opening)

    assert cells[-9:] == ["chat", "0", "100", "2", "149 ms", "1 ms", "50 ms", "0", "2"]
    assert "where each spent its time; the slowest took 50 ms" in sections(report)["Latency"]


def test_an_audit_speaks_for_the_runs_that_it_has_judged(tmp_path: Path) -> None:
    write_events(tmp_path / "events", overtaken().log, run_id="wrong")
    write_events(tmp_path / "events", orderly().log, run_id="good")
    write_audit(tmp_path / "audit", [("wrong", *ROW)], runs=2, messages=4)
    audit = sections(report_of(tmp_path))["Audit"]

    assert "Judged by antecede audit: 2 runs, 4 messages" in audit
    assert "the oracle" not in audit
    assert audit.count("delivered too early") == 1
    assert "P0 sent 1 to P2; then P0 sent 2 to P1" in audit


def test_audits_have_titles_only_where_there_are_several(tmp_path: Path) -> None:
    write_audit(tmp_path / "one" / "audit", [("a", *ROW)], runs=1)
    assert "<h3>" not in sections(report_of(tmp_path))["Audit"]

    write_audit(tmp_path / "two" / "audit", [("b", *ROW)], runs=1)
    write_audit(tmp_path / "three", [("c", *ROW)], runs=1)
    titles = re.findall("<h3>(.*?)</h3>", sections(report_of(tmp_path))["Audit"])
    assert titles == ["one", "three", "two"]


def test_a_diagram_says_how_many_violations_there_are_in_all(tmp_path: Path) -> None:
    write_events(tmp_path / "events", overtaken().log, run_id="wrong")
    write_audit(tmp_path / "audit", [("wrong", *ROW)] * 150, runs=1)
    data = sections(report_of(tmp_path))["Spacetime diagram"]

    assert '"violationCount":150' in data.replace(" ", "")


def test_messages_that_nobody_sent_are_shown(tmp_path: Path) -> None:
    scribe = orderly()
    scribe.deliver(90, 0, 1, 77)
    write_events(tmp_path / "log.jsonl", scribe.log)

    assert "delivered where nobody sent them" in sections(report_of(tmp_path))["Audit"]


def test_runs_that_an_audit_does_not_know_are_judged_by_the_oracle(tmp_path: Path) -> None:
    write_events(tmp_path / "events", overtaken().log, run_id="wrong")
    write_events(tmp_path / "events", overtaken().log, run_id="later")
    write_audit(tmp_path / "audit", [("wrong", *ROW)], runs=1)
    audit = sections(report_of(tmp_path))["Audit"]

    assert "Judged by antecede audit:" in audit
    assert audit.count("Judged by the oracle") == 1


@pytest.mark.parametrize("name", ["live", "{place}: live"])
def test_runs_of_one_name_are_told_apart(tmp_path: Path, name: str) -> None:
    """Two systems were recorded under the same name, each with an audit of its own or with one."""
    for folder, scribe in (("with", orderly()), ("without", overtaken())):
        write_events(tmp_path / folder / "events", scribe.log, run_id="live")
    place = (tmp_path / "without" / "events").absolute()
    write_audit(
        tmp_path / "without" / "audit", [(name.replace("{place}", str(place)), *ROW)], runs=1
    )
    report = report_of(tmp_path)

    assert "The worst in without: live, in words" in sections(report)["Audit"]
    with_row, without_row = report.opening.split("<tbody>")[1].split("</tr>")[:2]
    assert "with: live" in with_row
    assert '<b class="">0</b>' in with_row
    assert '<b class="refuted">1</b>' in without_row


def test_a_comparison_becomes_a_table_and_charts(tmp_path: Path) -> None:
    write_comparison(tmp_path / "table")
    shown = sections(report_of(tmp_path))

    assert list(shown) == [
        "Comparison",
        "Metadata and cost against n",
        "Throughput against distance",
    ]
    table = shown["Comparison"]
    assert "✓ O(n²)" in table
    assert "400 integers, 409 bytes at n = 20" in table
    assert "2 integers at n = 20" in table
    assert "<b>O(n)</b><small>20 integers at n = 20</small>" in table
    assert "antecede lab compare --only space" in table
    assert "nobody asked" in table
    growth = shown["Metadata and cost against n"]
    assert growth.count('data-series="rst"') == 3  # The legend, integers and bytes.
    assert ">20</text>" in growth
    assert ">8 ms</text>" in shown["Throughput against distance"]


def test_a_sweep_becomes_distributions_parts_and_figures(tmp_path: Path) -> None:
    rows = [
        swept_run(protocol, seed, processes)
        for protocol in ("hybrid", "rst")
        for seed in (1, 2)
        for processes in (4, 8)
    ]
    rows.append(swept_run("mf", 1, status="failed", reason="out of luck"))
    write_sweep(tmp_path / "swept", rows)
    shown = sections(report_of(tmp_path))

    assert list(shown) == ["Latency", "Metadata and cost against n", "Runs of swept"]
    latency = shown["Latency"]
    assert latency.count("chat, lan, n = 4") == 4  # Twice as a title, twice for readers aloud.
    assert latency.count('class="in-send"') == 1 + 2 * 2
    assert "2.5 ms" in latency
    assert "2.5 ms ± 6.35 ms" in shown["Runs of swept"]
    assert "out of luck" in shown["Runs of swept"]


def test_an_evaluation_comes_first(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "answers")
    shown = sections(report_of(tmp_path))

    assert list(shown) == ["What does it cost?"]
    body = shown["What does it cost?"]
    assert 'class="label c1"' in body
    assert "800 µs ± 100 µs" in body
    assert "antecede lab evaluate x.toml" in body


def test_runs_and_parts_of_them_can_be_chosen(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        write_events(tmp_path, overtaken().log, run_id=name)
    report = report_of(tmp_path, runs=("t*",), window=TimeRange(to_ns=3_000_000))

    assert report.subtitle.startswith("2 of 3 recorded runs are shown")
    assert "A part of the run: 8 of 12 events" in sections(report)["Spacetime diagram"]
    assert "Audit" not in sections(report)
    with pytest.raises(LocalError, match="no run is called 'four'"):
        report_of(tmp_path, runs=("four",))


NASTY = "</script><img src=x onerror=alert(1)>"


def test_names_from_files_cannot_become_markup(tmp_path: Path) -> None:
    write_events(tmp_path / "x.jsonl", overtaken().log)
    (tmp_path / "x.processes.jsonl").write_text(
        '{"process": 2, "name": "' + NASTY.replace('"', "") + '"}\n'
    )

    assert "<img" not in page_text(report_of(tmp_path))


@pytest.mark.parametrize("write", [write_comparison, write_evaluation])
def test_what_needs_no_parquet_needs_no_pyarrow(
    tmp_path: Path, write: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain install makes reports about JSON and JSON lines."""
    write(tmp_path / "results")
    write_events(tmp_path / "run.jsonl", simulated("none", messages=30))
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.dataset", "pyarrow.compute"):
        monkeypatch.setitem(__import__("sys").modules, name, None)

    assert page_text(report_of(tmp_path))


# Parts.


def piece(identity: str, body: str, place: Place = Place.MIDDLE) -> Section:
    return Section(identity=identity, title=identity, lead="", body=Markup(body), place=place)


def test_whoever_makes_a_report_can_add_a_part_with_results_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "tide").mkdir()
    (tmp_path / "tide" / "tide.json").write_text('"high"')
    kind = file_kind("tide", "a tide", "tide", "tide.json")

    def tides(contents: ReportContents) -> list[Section]:
        read = contents.results.of(kind, lambda folder: (folder / "tide.json").read_text())
        return [piece("tide", body) for body in read.values()]

    own = ReportPart(sections=tides, kinds=(kind,))
    report = make_report([tmp_path], ReportOptions(), [*PARTS, own])
    assert sections(report) == {"tide": '"high"'}
    assert report.sources == [("a tide", str(tmp_path / "tide"))]
    assert make_report([tmp_path / "tide" / "tide.json"], ReportOptions(), [own]).sections

    words = "no event log, and no results of `antecede audit`$"
    with pytest.raises(LocalError, match=words):
        make_report([tmp_path], ReportOptions(), audit_report.PARTS)


def test_results_are_read_once_however_many_parts_ask(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").touch()
    kind = file_kind("comparison", "a comparison", "compare", "comparison.json")
    results = Results([ReportSource(kind=kind, path=tmp_path)])
    asked: list[Path] = []

    assert results.of(kind, asked.append) == results.of(kind, asked.append)
    assert asked == [tmp_path]


def test_what_parts_say_about_one_thing_stands_in_one_section() -> None:
    shown = page_order(
        [
            piece("table", "1", Place.LAST),
            piece("latency", "a"),
            None,
            piece("buffers", "b"),
            piece("latency", "c"),
            piece("answer", "d", Place.FIRST),
        ]
    )
    assert [(one.identity, one.body) for one in shown] == [
        ("answer", "d"),
        ("latency", "ac"),
        ("buffers", "b"),
        ("table", "1"),
    ]
