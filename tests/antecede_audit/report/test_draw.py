"""Charts are well-formed SVG in which everything that was given can be found again."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

from antecede_audit.report.charts.draw import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, draw
from antecede_audit.report.charts.spec import (
    FAMILIES,
    WAIT_CLASSES,
    WAITS,
    Axis,
    Bar,
    BarChart,
    Chart,
    LineChart,
    Look,
    Series,
    StackChart,
    look_of,
)
from antecede_lab.catalogue import PROTOCOLS

BLUE = Look(colour=1)


def drawn(chart: Chart) -> ET.Element:
    return ET.fromstring(draw(chart))


def texts(figure: ET.Element) -> list[str]:
    return [text.text or "" for text in figure.iter("text")]


def line_chart(*series: Series, log: bool = True) -> LineChart:
    return LineChart(
        title="A <title>",
        x=Axis(title="n", log=log),
        y=Axis(title="bytes", log=log),
        series=series,
    )


def test_a_line_has_its_points_where_the_scales_put_them() -> None:
    figure = drawn(line_chart(Series(name="x", points=((1, 1), (10, 100)), look=BLUE)))

    circles = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in figure.iter("circle")]
    assert [x for x, _ in circles] == [LEFT, WIDTH - RIGHT]
    assert circles[0][1] > circles[1][1]
    assert "A <title>" in [strong.text for strong in figure.iter("strong")]


def test_intervals_are_drawn_and_fit_the_axis() -> None:
    figure = drawn(
        line_chart(
            Series(name="x", points=((0, 5), (1, 10)), spread=(0.0, 4.0), look=BLUE), log=False
        )
    )
    [group] = [g for g in figure.iter("g") if g.attrib.get("data-series") == "x"]
    [interval] = group.findall("line")

    top, middle = float(interval.attrib["y2"]), float(group.findall("circle")[1].attrib["cy"])
    assert 28 <= top < middle < float(interval.attrib["y1"])


def test_what_a_logarithmic_axis_cannot_show_is_left_out() -> None:
    figure = drawn(line_chart(Series(name="x", points=((1, 0), (2, 3), (4, 9)), look=BLUE)))

    assert len(list(figure.iter("circle"))) == 2


def test_a_chart_tells_scripts_its_values() -> None:
    figure = drawn(line_chart(Series(name="x", points=((1, 2), (10, 3)), look=BLUE)))
    [svg] = list(figure.iter("svg"))
    told = json.loads(svg.attrib["data-chart"])

    assert told["series"] == [["x", 1, [[1.0, 2.0], [10.0, 3.0]]]]
    assert told["x"] == [1.0, 10.0, LEFT, WIDTH - RIGHT, True]


def test_a_chart_without_anything_says_so() -> None:
    figure = drawn(line_chart(Series(name="x", points=((1, 0),), look=BLUE)))

    assert list(figure.iter("svg")) == []
    assert "Nothing was measured here." in "".join(figure.itertext())


def test_marks_can_be_where_measurements_are_unless_they_collide() -> None:
    axis = Axis(title="n", log=True, marks=(5, 10, 10.5, 100))
    chart = LineChart(
        title="t",
        x=axis,
        y=Axis(title="y"),
        series=(Series(name="x", points=((5, 1), (100, 2)), look=BLUE),),
    )

    found = texts(drawn(chart))
    assert "10.5" in found
    assert "10" not in found
    assert {"5", "100"} <= set(found)


def test_parts_of_a_bar_add_up_to_its_length() -> None:
    chart = BarChart(
        title="waits",
        x=Axis(title="t", unit="time"),
        parts=WAITS,
        classes=WAIT_CLASSES,
        bars=(
            Bar(name="all", parts=(1e6, 2e6, 1e6), text="4 ms"),
            Bar(name="half", parts=(0.0, 2e6, 0.0), text="2 ms"),
        ),
    )
    boxes = [
        (rect.attrib["class"], float(rect.attrib["width"])) for rect in drawn(chart).iter("rect")
    ]

    assert [name for name, _ in boxes] == [*WAIT_CLASSES, "on-way"]
    widths = [width for _, width in boxes]
    assert widths[3] == widths[1] == 2 * widths[0] == 2 * widths[2]
    assert {"all", "half", "4 ms", "2 ms"} <= set(texts(drawn(chart)))


def test_layers_stand_on_each_other() -> None:
    chart = StackChart(
        title="stack",
        x=Axis(title="share", unit="share"),
        y=Axis(title="t", unit="time"),
        places=(0.0, 1.0),
        parts=WAITS,
        classes=WAIT_CLASSES,
        layers=((1.0, 1.0), (1.0, 1.0), (2.0, 2.0)),
    )
    layers = [path.attrib["d"] for path in drawn(chart).iter("path")]

    assert layers[0].endswith("L380.0 228.0L52.0 228.0Z")
    assert layers[0].startswith("M52.0 178.0L380.0 178.0")
    assert layers[1].endswith("L380.0 178.0L52.0 178.0Z")
    assert layers[2].startswith("M52.0 28.0L380.0 28.0")


def test_names_of_points_do_not_stand_on_each_other() -> None:
    near = [
        Series(name=name, points=((x, 5.0),), look=BLUE, label=name)
        for name, x in (("one", 10.0), ("two", 10.0), ("far", 1000.0))
    ]
    labels = [
        (text.text, float(text.attrib["y"]), text.attrib["text-anchor"])
        for text in drawn(line_chart(*near)).iter("text")
        if text.attrib.get("class", "").startswith("label")
    ]

    (_, first, side), (_, second, _), (_, third, other) = labels
    assert (first - second, third, side, other) == (12, first, "start", "end")


def test_every_protocol_of_the_catalogue_has_a_look_of_its_own() -> None:
    looks = [look_of(name) for name in PROTOCOLS]

    assert set(PROTOCOLS) == set(FAMILIES)
    assert len(set(looks)) == len(looks)
    assert look_of("rst+link") == look_of("rst")
    assert look_of("mine", 0) != look_of("mine", 1)


def marker_shapes(figure: ET.Element, name: str) -> set[str]:
    """What the points of a line look like, without their places."""
    [group] = [g for g in figure.iter("g") if g.attrib.get("data-series") == name]
    return {
        f"{shape.tag} {shape.attrib['class']} {shape.attrib.get('d', '')}"
        for shape in group
        if shape.attrib.get("class", "").startswith("marker")
    }


def test_lines_differ_without_their_colours() -> None:
    """Pairs that some people see in one colour: they must differ in shape or dashes."""
    names = list(FAMILIES)
    looks = {(look_of(name).marker, look_of(name).dashes) for name in names}
    assert len(looks) == len(names)
    rst = Series(name="rst", points=((1, 1), (2, 2)), look=look_of("rst"))
    ks = Series(name="ks", points=((1, 3), (2, 4)), look=look_of("ks"))
    figure = drawn(line_chart(rst, ks))
    assert marker_shapes(figure, "rst") != marker_shapes(figure, "ks")


def test_a_curve_has_a_few_markers_that_tell_it_from_others() -> None:
    points = tuple((float(n), float(n)) for n in range(1, 101))
    curve = Series(name="curve", points=points, look=look_of("rst"), dots=False)
    [group] = [
        g for g in drawn(line_chart(curve, log=False)).iter("g") if "data-series" in g.attrib
    ]
    markers = [shape for shape in group if shape.attrib.get("class", "").startswith("marker")]
    assert 2 <= len(markers) <= 10


def test_lines_that_lie_on_each_other_take_turns() -> None:
    same = [
        Series(name=name, points=((1, 1), (10, 10)), look=look_of(name))
        for name in ("rst", "ks", "mf")
    ]
    other = Series(name="cykas", points=((1, 2), (10, 20)), look=look_of("cykas"))
    figure = drawn(line_chart(*same, other))
    dashes = {
        group.attrib["data-series"]: (
            group[0].attrib["stroke-dasharray"],
            group[0].attrib.get("stroke-dashoffset"),
        )
        for group in figure.iter("g")
        if "data-series" in group.attrib
    }
    assert dashes["rst"] == ("7 14", "0")
    assert dashes["ks"] == ("7 14", "-7")
    assert dashes["mf"] == ("7 14", "-14")
    assert dashes["cykas"][1] is None


def test_a_logarithmic_axis_says_so() -> None:
    points = ((1.0, 1.0), (2.0, 2.0))
    line = Series(name="x", points=points, look=BLUE)
    assert "bytes (log scale)" in texts(drawn(line_chart(line)))
    assert "bytes" in texts(drawn(line_chart(line, log=False)))


def test_a_value_beyond_the_end_of_an_axis_is_shown_as_such() -> None:
    chart = LineChart(
        title="t",
        x=Axis(title="n"),
        y=Axis(title="time", unit="time", log=True, low=1000.0),
        series=(Series(name="x", points=((1, 24.0), (2, 5000.0)), look=BLUE),),
    )
    beyond = [path for path in drawn(chart).iter("path") if path.attrib.get("class") == "beyond"]
    assert len(beyond) == 1


def test_zero_on_a_logarithmic_axis_is_below_its_end_and_not_left_out() -> None:
    line = Series(name="x", points=((1, 0.0), (2, 5.0), (3, 50.0)), look=BLUE)
    beyond = [
        path
        for path in drawn(line_chart(line)).iter("path")
        if path.attrib.get("class") == "beyond"
    ]
    assert [title.text for path in beyond for title in path] == [
        "x: 0 is not on a logarithmic axis"
    ]


def test_lines_have_their_names_at_their_ends_and_apart() -> None:
    protocols = list(PROTOCOLS)[:9]
    lines = [
        Series(name=name, points=((1, 10), (10, 10 + number % 3)), look=look_of(name, number))
        for number, name in enumerate(protocols)
    ]
    chart = replace(line_chart(*lines, log=False), named=True)

    names = [group for group in drawn(chart).iter("g") if "name" in group.attrib["class"].split()]

    found = [(label.text, float(label.attrib["y"])) for g in names for label in g.iter("text")]
    heights = [height for _, height in found]
    assert sorted(text or "" for text, _ in found) == sorted(protocols)
    assert all(low + 10 < high for low, high in pairwise(heights))
    assert min(heights) >= TOP
    assert max(heights) < HEIGHT - BOTTOM + 10


def test_names_take_no_room_where_they_are_not_asked_for() -> None:
    line = Series(name="a name", points=((1, 1), (10, 100)), look=BLUE)
    plain, named = line_chart(line), replace(line_chart(line), named=True)

    assert "a name" not in texts(drawn(plain))
    assert "a name" in texts(drawn(named))
    assert last_place(plain) > last_place(named)


def last_place(chart: LineChart) -> float:
    return max(float(circle.attrib["cx"]) for circle in drawn(chart).iter("circle"))
