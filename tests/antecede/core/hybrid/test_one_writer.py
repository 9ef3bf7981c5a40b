"""The state of a hybrid process is written by its rule, and by the methods of its records."""

import ast
from pathlib import Path

import pytest

import antecede.core.hybrid

FOLDER = Path(antecede.core.hybrid.__file__).parent


def assigned(file: str) -> set[str]:
    """The attributes that the code of a file assigns to, of whatever object."""
    tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


@pytest.mark.parametrize("file", ["node.py", "records.py", "waiting.py"])
def test_whoever_is_not_the_rule_only_reads_its_state(file: str) -> None:
    assert assigned(file) == set()


def test_the_rule_itself_is_seen_to_write_it() -> None:
    assert {"_settled", "_released", "delivered", "unacked"} <= assigned("rule.py")
