"""What documents claim: every claim has a page and a command, and drift is seen."""

from pathlib import Path

import pytest

from antecede_cli.main import SUBCOMMANDS
from bench import comparison_tables, quoted_tables, reproduce
from bench.reproduce import Claim, alike, drift, key_of, read_claims, short
from bench.results import read_results, record

ROOT = Path(__file__).parent.parent
CLAIMS = read_claims()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_a_claim_names_a_page_and_a_command_that_exist(claim: Claim) -> None:
    assert (ROOT / claim.page).is_file()
    first, *rest = claim.command.split()
    if first == "antecede":
        assert rest[0] in SUBCOMMANDS
    else:
        assert (first, rest[0]) == ("python", "-m")
        module = ROOT / Path(*rest[1].split("."))
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file()


def test_every_claim_has_figures_and_all_figures_belong_to_a_claim() -> None:
    assert read_results().keys() == CLAIMS.keys()


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_each_figure_of_a_claim_has_a_name_of_its_own(claim: Claim) -> None:
    recorded = read_results()[claim.name]
    names = [key_of(row, claim) for row in recorded]
    assert len(set(names)) == len(names) > 0
    assert {*claim.uncompared} <= {*recorded[0]}


def test_figures_that_are_recorded_leave_all_others_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "results.toml"
    for name in ("steps", "audit", "ks-10"):
        record(name, read_results()[name], file)
    record("audit", [{"key": "a, b", "value": 'as "text"'}], file)
    assert read_results(file) == {
        "audit": [{"key": "a, b", "value": 'as "text"'}],
        "ks-10": read_results()["ks-10"],
        "steps": read_results()["steps"],
    }


def test_the_figures_of_the_evaluation_are_drawn_from_what_is_recorded(tmp_path: Path) -> None:
    from bench.evaluation_images import IMAGES, draw, recorded

    draw(recorded(), tmp_path)
    for file in sorted(tmp_path.iterdir()):
        kept = (IMAGES / file.name).read_bytes()
        assert file.read_bytes() == kept, "run: python -m bench documents --mend"


def test_a_cheap_claim_holds(tmp_path: Path) -> None:
    claim = CLAIMS["comparison-network"]
    found = reproduce.reproduce(claim, tmp_path)
    assert drift(claim, read_results()[claim.name], found) == []


def rows(**values: str) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def test_drift_is_told_in_words() -> None:
    claim = Claim(name="x", page="-", says="-", command="-", minutes=1, tolerance=0.1)
    claimed = [
        {"key": "a", "value": "100"},
        {"key": "b", "value": "yes"},
        {"key": "c", "value": "1"},
    ]
    found = [{"key": "a", "value": "105"}, {"key": "b", "value": "no"}, {"key": "d", "value": "1"}]
    assert drift(claim, claimed, found) == [
        "b: value was yes, is no",
        "c: is not there any more",
        "d: is new",
    ]


def test_what_is_not_compared_does_not_drift_and_tiny_differences_are_none() -> None:
    claim = Claim(
        name="x", page="-", says="-", command="-", minutes=1, uncompared=("width",), least=0.01
    )
    claimed = [{"key": "a", "share": "0.001", "width": "5"}]
    found = [{"key": "a", "share": "0.002", "width": "9"}]
    assert drift(claim, claimed, found) == []
    assert drift(claim, claimed, [{**found[0], "share": "0.02"}]) == ["a: share was 0.001, is 0.02"]


@pytest.mark.parametrize(
    ("value", "kept"),
    [("0.123456789", "0.123457"), ("1234567890", "1234567890"), ("-5", "-5"), ("O(n)", "O(n)")],
)
def test_figures_are_kept_with_six_digits(value: str, kept: str) -> None:
    assert short(value) == kept


@pytest.mark.parametrize(
    ("before", "now", "tolerance", "same"),
    [
        ("1", "1", 0.0, True),
        ("1.0", "1.00", 0.0, True),
        ("100", "103", 0.02, False),
        ("100", "102", 0.02, True),
        ("-1", "1", 0.5, False),
        ("O(1)", "O(n)", 1.0, False),
    ],
)
def test_figures_are_compared_as_figures(
    before: str, now: str, tolerance: float, same: bool
) -> None:
    assert alike(before, now, tolerance) is same


@pytest.mark.parametrize("name", list(quoted_tables.TABLES))
def test_a_table_that_quotes_figures_has_those_that_are_recorded(name: str) -> None:
    page, make = quoted_tables.TABLES[name]
    made = make()
    assert made.count("\n") >= 3
    assert quoted_tables.quoted(name, ROOT / page) == made, "python -m bench documents --mend"


def test_the_table_of_a_page_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    mark, end = quoted_tables.mark_of("carriers"), quoted_tables.END
    for old in ("\n\n", "\n\n| old |\n\n"):
        page.write_text(f"First.\n\n{mark}{old}{end}\n\nLast. {end}\n", encoding="utf-8")
        quoted_tables.mend("carriers", page)
        made = f"First.\n\n{mark}\n\n{quoted_tables.carriers()}\n{end}\n\nLast. {end}\n"
        assert page.read_text(encoding="utf-8") == made


def test_figures_of_keys_that_are_not_compared_do_not_drift() -> None:
    claim = Claim(name="x", page="-", says="-", command="-", minutes=1, uncompared_keys=("speed",))
    claimed = rows(**{"a.speed": "100", "a.ratio": "2"})
    assert drift(claim, claimed, rows(**{"a.speed": "900", "a.ratio": "2"})) == []
    assert drift(claim, claimed, rows(**{"a.speed": "900", "a.ratio": "3"})) == [
        "a.ratio: value was 2, is 3"
    ]


def test_what_is_counted_may_not_differ_whatever_the_tolerance() -> None:
    claim = Claim(
        name="x", page="-", says="-", command="-", minutes=1, tolerance=0.5, counted=("violations",)
    )
    claimed = rows(**{"10 M.violations": "100", "10 M.cpu": "8"})
    assert drift(claim, claimed, rows(**{"10 M.violations": "100", "10 M.cpu": "7"})) == []
    assert drift(claim, claimed, rows(**{"10 M.violations": "101", "10 M.cpu": "7"})) == [
        "10 M.violations: value was 100, is 101"
    ]


HELP = "antecede --help"
JSON = "python -m bench reach rst 2 1"


def test_what_counts_lines_runs_on_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "antecede"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("raise SystemExit('not this one')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(reproduce.CommandError, match="not this one"):
        reproduce.run(HELP, tmp_path / "one")
    assert "Usage" in reproduce.run(HELP, tmp_path / "two", interpreted=True).printed
    assert "interpreted" in CLAIMS["steps"].needs


def test_a_command_finds_its_folder_empty(tmp_path: Path) -> None:
    left = tmp_path / "help" / "half of a sweep"
    left.mkdir(parents=True)
    assert "Usage" in reproduce.run(HELP, tmp_path / "help").printed
    assert not left.exists(), "a command would have gone on with it"


def test_a_command_that_fails_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reproduce, "OUT", tmp_path)
    bad = Claim(name="bad", page="-", says="-", command="antecede no-such", minutes=1)
    long = Claim(name="long", page="-", says="-", command=HELP, minutes=9)
    new = Claim(name="new", page="-", says="-", command=JSON, minutes=1)
    assert not reproduce.check_all([bad, long, new], minutes=5, accept=False)
    told = capsys.readouterr().out
    assert "bad: FAILED: antecede no-such ended with 2" in told
    assert "long: left out: it takes 9 minutes" in told
    assert told.splitlines()[-3:] == ["1 failed: bad", "1 left out: long", "1 unrecorded: new"]


def test_the_tables_of_the_comparison_say_what_is_recorded() -> None:
    compared, differing = comparison_tables.differences()
    assert compared > 1100
    told = [f"{cell.where}: {cell.text}, but {cell.mended()}" for cell in differing]
    assert told == [], "run: python -m bench documents --mend"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("| hybrid | integers | 2 (2) |", "| hybrid | integers | 3 (2) |"),
        ("| liveness | ✓ yes | ✓ yes | ~ no²", "| liveness | ~ yes | ✓ yes | ~ no²"),
        ("| 10 | 0.2 | 40.4 ± 1.0 |", "| 10 | 0.2 | 41.4 ± 1.0 |"),
        ("| rst | none | link-ack 1.13 |", "| rst | none | link-ack 1.23 |"),
    ],
)
def test_a_figure_that_is_not_what_is_recorded_is_mended_where_it_stands(
    tmp_path: Path, right: str, wrong: str
) -> None:
    page = tmp_path / "page.md"
    text = comparison_tables.PAGE.read_text(encoding="utf-8")
    assert text.count(right) == 1
    page.write_text(text.replace(right, wrong), encoding="utf-8")
    assert len(comparison_tables.differences(page)[1]) == 1
    comparison_tables.mend(page)
    assert page.read_text(encoding="utf-8") == text
