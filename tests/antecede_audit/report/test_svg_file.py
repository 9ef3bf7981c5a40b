"""Charts as files: whole and well-formed, the same every time, nothing wider than its place."""

import re
from pathlib import Path
from xml.etree import ElementTree

from antecede_audit.report.charts.draw import drawing_of, size_of
from antecede_audit.report.charts.spec import (
    Axis,
    DotChart,
    LineChart,
    Look,
    Series,
    distinct_looks,
)
from antecede_audit.report.charts.svg_file import Sheet, sheet_text, write_sheets


def line_chart(title: str, *names: str) -> LineChart:
    series = tuple(
        Series(name=name, points=((0, 1), (2, 3)), look=Look(colour=number), dots=False)
        for number, name in enumerate(names, start=1)
    )
    return LineChart(title=title, x=Axis(title="x"), y=Axis(title="y"), series=series)


def texts(svg: str) -> list[str]:
    return [
        one.text or "" for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("text")
    ]


def test_a_file_is_well_formed_and_needs_nothing_else(tmp_path: Path) -> None:
    sheet = Sheet(title="A & B", charts=(line_chart("<one>", "a", "b"), line_chart("two", "a")))
    [file] = write_sheets(tmp_path / "plots", {"both": sheet})
    text = file.read_text(encoding="utf-8")

    assert file.name == "both.svg"
    assert text == sheet_text(sheet)
    assert {"A & B", "<one>", "two", "a", "b"} <= set(texts(text))
    assert "var(" not in text
    assert "data-chart" not in text
    assert not re.search(r"url\(|href", text)


def test_a_chart_that_stands_alone_has_the_title_of_its_sheet() -> None:
    assert "one" not in texts(sheet_text(Sheet(title="T", charts=(line_chart("one", "a"),))))


def test_a_single_line_needs_no_legend_and_no_marks_of_its_own() -> None:
    assert "alone" not in texts(sheet_text(Sheet(title="T", charts=(line_chart("c", "alone"),))))
    assert 'class="marker' not in sheet_text(Sheet(title="T", charts=(line_chart("c", ""),)))


def test_a_long_title_takes_several_lines() -> None:
    words = "half of the messages wait for others " * 4
    svg = sheet_text(Sheet(title=words.strip(), charts=(line_chart("one", "a"),)))
    lines = re.findall('class="heading"[^>]*>([^<]*)', svg)
    assert " ".join(lines) == words.strip()
    assert max(map(len, lines)) <= 42


def test_charts_stand_in_columns() -> None:
    charts = tuple(line_chart(f"c{number}", "a") for number in range(3))
    root = ElementTree.fromstring(sheet_text(Sheet(title="T", charts=charts, columns=2)))
    places = [(one.get("x"), one.get("y")) for one in root if one.tag.endswith("svg")]
    assert places[0][1] == places[1][1] != places[2][1]
    assert places[0][0] == places[2][0] != places[1][0]


def test_rows_of_points_are_as_high_as_their_points_need() -> None:
    looks = distinct_looks(f"p{number}" for number in range(12))
    series = tuple(
        Series(name=name, points=((1.0, 0.0),), look=look) for name, look in looks.items()
    )
    few = DotChart(title="few", x=Axis(title="x", log=True), rows=("a\nb", "c"), series=series[:1])
    many = DotChart(title="many", x=Axis(title="x", log=True), rows=("a\nb", "c"), series=series)
    assert size_of(many)[1] > size_of(few)[1]
    ys = {float(y) for y in re.findall(r'(?:cy="|translate\(\S+ )([\d.]+)', drawing_of(many))}
    assert len(ys) == 12
    assert all(0 < y < size_of(many)[1] for y in ys)


def test_points_without_lines_differ_in_shape_and_beyond_eight_in_colour() -> None:
    names = ["none", "hybrid-sps", "hybrid", "rst", "ks", "mf", "cykas", "fifo", "mine", "other"]
    looks = distinct_looks(names)
    assert list(looks)[:2] == ["hybrid", "hybrid-sps"]
    assert len({look.marker for look in list(looks.values())[:8]}) == 8
    assert len({(look.marker, look.colour) for look in looks.values()}) == len(names)
