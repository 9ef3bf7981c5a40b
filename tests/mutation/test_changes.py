"""The small changes that mutation tests make: where they should be, and nowhere else."""

from pathlib import Path

from tests.mutation.changes import changes_of

SOURCE = Path(__file__).parents[2] / "src" / "antecede"

TEXT = '''
LIMIT = 3


def decide(x: int, y: int) -> str:
    """Above 3 or so."""
    # y + 1, not here
    assert x < 100
    if x < y and x != 2:
        return f"{x + 1} ü" + "a < b"
    return "small"
'''


def test_changes_are_made_to_code_and_to_nothing_else() -> None:
    assert [str(change) for change in changes_of(TEXT)] == [
        "line 9: 'x < y and x != 2' -> '(not (x < y and x != 2))'",
        "line 9: '<' -> '<='",
        "line 9: 'and' -> 'or'",
        "line 9: '!=' -> '=='",
        "line 9: '2' -> '(2 + 1)'",
        "line 10: '+' -> '-'",
    ]


def test_a_change_changes_its_place_only() -> None:
    changed = changes_of(TEXT)[1].apply(TEXT)
    assert changed == TEXT.replace("x < y", "x <= y")


def test_every_change_of_the_path_can_be_compiled() -> None:
    for file in sorted((SOURCE / "transport" / "recovery").glob("*.py")):
        text = file.read_text()
        for change in changes_of(text):
            compile(change.apply(text), str(file), "exec")
