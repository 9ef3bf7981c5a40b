"""Small changes to a source, each of which some test should notice.

A change is one place in the text and what to put there: a comparison the other way round or with
its edge moved, plus for minus, `and` for `or`, a number one larger, a condition turned round. They
are found in the syntax tree, so nothing in comments and texts is touched, and each keeps the
source compilable and, for the types, what it was.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

COMPARISONS: Final = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: Final = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """At `start`, in characters, `old` becomes `new`."""

    start: int
    old: str
    new: str
    line: int

    def apply(self, text: str) -> str:
        """The text with this change."""
        assert text.startswith(self.old, self.start)
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def __str__(self) -> str:
        return f"line {self.line}: {self.old!r} -> {self.new!r}"


def changes_of(text: str) -> list[Change]:
    """Every change to this source, in its order."""
    tree = ast.parse(text)
    starts = line_starts(text)
    found: set[Change] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                found.update(changes_in(statement, text, starts))
    return sorted(found)


def changes_in(statement: ast.stmt, text: str, starts: list[int]) -> Iterator[Change]:
    """The changes inside one statement."""
    for node in code_in(statement):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            words = COMPARISONS[type(node.ops[0])]
            yield from between(node.left, node.comparators[0], words, text, starts)
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            yield from between(node.left, node.right, ARITHMETIC[type(node.op)], text, starts)
        elif isinstance(node, ast.BoolOp):
            words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from between(node.values[0], node.values[1], words, text, starts)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            place = offset(node.lineno, node.col_offset, text, starts)
            old = ast.get_source_segment(text, node) or ""
            yield Change(place, old, f"({old} + 1)", node.lineno)
        elif isinstance(node, ast.If | ast.While):
            place = offset(node.test.lineno, node.test.col_offset, text, starts)
            old = ast.get_source_segment(text, node.test) or ""
            yield Change(place, old, f"(not ({old}))", node.test.lineno)


def code_in(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node but asserts, which are judges themselves, types, and texts."""
    if isinstance(node, ast.Assert | ast.JoinedStr):
        return
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "returns"):
                yield from code_in(child)


def between(
    left: ast.expr, right: ast.expr, words: tuple[str, str], text: str, starts: list[int]
) -> Iterator[Change]:
    """The operator that stands between two expressions, exchanged, if it is plain to see."""
    begin = offset(left.end_lineno or 0, left.end_col_offset or 0, text, starts)
    end = offset(right.lineno, right.col_offset, text, starts)
    gap = text[begin:end]
    if gap.count(words[0]) == 1 and "#" not in gap:
        place = begin + gap.index(words[0])
        yield Change(place, words[0], words[1], text.count("\n", 0, place) + 1)


def line_starts(text: str) -> list[int]:
    """Where each line begins, counted in characters."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def offset(line: int, column: int, text: str, starts: list[int]) -> int:
    """A place that the parser gives in lines and bytes, in characters."""
    begin = starts[line - 1]
    return begin + len(text[begin:].encode()[:column].decode())
