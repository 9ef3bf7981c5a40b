"""Who writes which field: only the file of the class that has it.

The table is drawn from the source. Of an assignment `x.y = …` (`+=` and `del` too) the class of `x`
is looked up where it is written down: an annotation, a constructor's call, or a field that has one.
Where it is not, the class may be any that has a field `y`, and one of this file is assumed.

`python -m tests.test_one_owner antecede/transport` shows the table of a folder.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeGuard

SOURCES = Path(__file__).parent.parent / "src"
PACKAGES = ("antecede", "antecede_audit", "antecede_lab", "antecede_cli")
"""Each imports at most those before it."""

FOREIGN: dict[str, str] = {}
"""Fields that a file assigns though their class is in another, with a reason: there are none."""

Scope = dict[str, set[str]]
"""The classes that a name may be of."""


@dataclass
class Owner:
    """A class of the source."""

    name: str
    file: str
    bases: set[str]
    fields: dict[str, set[str]] = field(default_factory=dict)
    """Its fields, and the classes that each may be of, as far as the source says so."""


@dataclass(frozen=True, order=True)
class Assignment:
    """A field that is assigned by somebody else than `self`."""

    file: str
    field: str
    line: int
    owners: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} assigns {self.field} of {' or '.join(self.owners)}"


class Source:
    """All classes of some files."""

    def __init__(self, files: dict[str, str]) -> None:
        self._trees = {name: ast.parse(text) for name, text in files.items()}
        self.classes: dict[str, list[Owner]] = {}
        for name, tree in self._trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self._add(name, node)

    def foreign(self) -> list[Assignment]:
        """Assignments to fields whose class is in another file."""
        found: list[Assignment] = []
        for file, target, owners in self.by_others():
            if all(owner.file != file for owner in owners):
                names = tuple(sorted({f"{one.name} ({one.file})" for one in owners}))
                found.append(Assignment(file, target.attr, target.lineno, names))
        return sorted(set(found))

    def by_others(self) -> Iterator[tuple[str, ast.Attribute, list[Owner]]]:
        """Assignments by others than `self`: in which file, to what, and the classes it may be."""
        for file, tree in self._trees.items():
            for node, scope in functions(tree):
                self._follow_aliases(node, scope)
                for target in stored(node):
                    owners = self._owners(target, scope, file)
                    if owners:
                        yield file, target, owners

    def table(self, folder: str) -> Iterator[str]:
        """Who assigns what, as rows of Markdown: of the classes in a folder that have fields."""
        others: dict[tuple[str, str], set[str]] = {}
        for file, target, owners in self.by_others():
            for owner in [one for one in owners if one.file == file] or owners:
                others.setdefault((owner.file, owner.name), set()).add(target.attr)
        yield "| class | file | fields | of these, others in the file assign |\n|---|---|---|---|"
        for owner in sorted((one for same in self.classes.values() for one in same), key=place):
            if owner.fields and owner.file.startswith(folder):
                theirs = sorted(others.get((owner.file, owner.name), ()))
                fields = ", ".join(owner.fields)
                yield f"| {owner.name} | {owner.file} | {fields} | {', '.join(theirs)} |"

    def _follow_aliases(self, function: ast.AST, scope: Scope) -> None:
        """`x = self.y` is of the classes of `self.y`."""
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        classes = self._classes_of(node.value, scope)
                        scope.setdefault(target.id, set()).update(classes)

    def _owners(self, target: ast.Attribute, scope: Scope, file: str) -> list[Owner]:
        """The classes that may have the field which is assigned; none if it is `self`'s own."""
        if isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
            return []
        named = self._classes_of(target.value, scope)
        known = [owner for name in named for owner in self._line_of(name)]
        written = [owner for owner in known if target.attr in owner.fields]
        if written or (not known and any(name[0].isupper() for name in named)):
            return written  # A class with a name that is nowhere in the source is of a library.
        imported = PACKAGES[: 1 + PACKAGES.index(file.partition("/")[0])]
        return [
            owner
            for same in self.classes.values()
            for owner in same
            if target.attr in owner.fields and owner.file.partition("/")[0] in imported
        ]

    def _classes_of(self, node: ast.expr, scope: Scope) -> set[str]:
        if isinstance(node, ast.Name):
            return scope.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {
                name
                for holder in self._classes_of(node.value, scope)
                for owner in self._line_of(holder)
                for name in owner.fields.get(node.attr, set())
            }
        return set()

    def _line_of(self, name: str) -> list[Owner]:
        """The classes of that name, and those that they inherit from."""
        found: list[Owner] = []
        waiting = [name]
        while waiting:
            for owner in self.classes.get(waiting.pop(), []):
                if owner not in found:
                    found.append(owner)
                    waiting += owner.bases
        return found

    def _add(self, file: str, node: ast.ClassDef) -> None:
        bases = {name for base in node.bases for name in named_classes(base)}
        owner = Owner(node.name, file, bases)
        self.classes.setdefault(node.name, []).append(owner)
        for member in node.body:
            if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                owner.fields.setdefault(member.target.id, set()).update(
                    named_classes(member.annotation)
                )
        for function, scope in functions(node):
            for name, classes in own_fields(function, scope):
                owner.fields.setdefault(name, set()).update(classes)


def place(owner: Owner) -> tuple[str, str]:
    """In which order classes are shown."""
    return owner.file, owner.name


def functions(tree: ast.AST) -> Iterator[tuple[ast.AST, Scope]]:
    """All functions, each with the classes that its names may be of."""
    for node in ast.walk(tree):
        holder = node.name if isinstance(node, ast.ClassDef) else ""
        for member in ast.iter_child_nodes(node):
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                yield member, scope_of(member, holder)


def scope_of(function: ast.FunctionDef | ast.AsyncFunctionDef, holder: str) -> Scope:
    """The classes of the names in a function, a method of the class `holder` if it has a name."""
    scope: Scope = {"self": {holder}} if holder else {}
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is not None:
            scope[argument.arg] = named_classes(argument.annotation)
    for node in ast.walk(function):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            scope[node.target.id] = named_classes(node.annotation)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    scope.setdefault(target.id, set()).update(named_classes(node.value.func))
    return scope


def own_fields(function: ast.AST, scope: Scope) -> Iterator[tuple[str, set[str]]]:
    """The fields of `self` that a method assigns, and their classes as far as it says so."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            continue
        classes: set[str] = set()
        if isinstance(node, ast.AnnAssign):
            classes |= named_classes(node.annotation)
        if isinstance(node.value, ast.Call):
            classes |= named_classes(node.value.func)
        elif isinstance(node.value, ast.Name):
            classes |= scope.get(node.value.id, set())
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for part in ast.walk(target):
                if is_stored(part) and ast.unparse(part.value) == "self":
                    yield part.attr, classes


def stored(function: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes that a function assigns or deletes."""
    for node in ast.walk(function):
        if is_stored(node):
            yield node


def is_stored(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del)


def named_classes(annotation: ast.expr) -> set[str]:
    """The classes that an annotation names; not those inside of a container."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return named_classes(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp):
        return named_classes(annotation.left) | named_classes(annotation.right)
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Final":
        return named_classes(annotation.slice)
    if isinstance(annotation, ast.Subscript):
        return named_classes(annotation.value)
    if isinstance(annotation, ast.Attribute):
        return {annotation.attr}
    return {annotation.id} if isinstance(annotation, ast.Name) else set()


@cache
def whole_source() -> Source:
    """All packages."""
    files = {
        file.relative_to(SOURCES).as_posix(): file.read_text(encoding="utf-8")
        for package in PACKAGES
        for file in (SOURCES / package).rglob("*.py")
    }
    return Source(files)


@cache
def assignments() -> list[Assignment]:
    """Those of the whole source."""
    return whole_source().foreign()


def test_every_field_is_assigned_in_the_file_of_its_class() -> None:
    foreign = [one for one in assignments() if one.field not in FOREIGN.get(one.file, "").split()]
    assert not foreign, "\n".join(map(str, foreign))


def test_every_exception_is_still_needed() -> None:
    found = {(one.file, one.field) for one in assignments()}
    listed = {(file, name) for file, names in FOREIGN.items() for name in names.split()}
    assert listed <= found, sorted(listed - found)


OWNER = """
class Path:
    def __init__(self) -> None:
        self.lost = 0
        self.probes = 0

class Wide(Path):
    pass

class Session:
    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def reset(self, other: "Session") -> None:
        other.path = self.path
"""


def fields_assigned(text: str) -> list[str]:
    """Those that a file beside the one above assigns."""
    files = {"antecede/owner.py": OWNER, "antecede/other.py": text}
    return [one.field for one in Source(files).foreign()]


def test_an_assignment_in_another_file_is_found() -> None:
    assert fields_assigned("def f(path: Path) -> None: path.lost = 1") == ["lost"]
    assert fields_assigned("def f(session: Session) -> None: session.path.lost += 1") == ["lost"]
    assert fields_assigned("def f(wide: Wide | None) -> None: del wide.lost") == ["lost"]
    assert fields_assigned("def f(): path = Path(); path.lost, path.probes = 1, 2") == [
        "lost",
        "probes",
    ]
    assert fields_assigned("def f(unknown): unknown.lost = 1") == ["lost"]
    alias = "def f(session: Session) -> None: way = session.path; way.lost = 1"
    assert fields_assigned("class Loss:\n    lost: int\n" + alias) == ["lost"]


def test_a_class_with_a_field_of_that_name_does_not_hide_another() -> None:
    own = "class Loss:\n    lost: int\n"
    assert fields_assigned(own + "def f(loss: Loss) -> None: loss.lost = 1") == []
    assert fields_assigned(own + "def f(unknown): unknown.lost = 1") == []
    assert fields_assigned(own + "def f(path: Path) -> None: path.lost = 1") == ["lost"]


def test_who_assigns_its_own_or_a_stranger_to_the_source_is_not_listed() -> None:
    assert Source({"antecede/owner.py": OWNER}).foreign() == []
    assert fields_assigned("class Longer(Path):\n    def f(self): self.lost = 1") == []
    assert fields_assigned("def f(thread): thread.daemon = True") == []
    assert fields_assigned("def f(thread: Thread) -> None: thread.lost = 1") == []
    files = {"antecede_lab/owner.py": OWNER, "antecede/other.py": "def f(it): it.lost = 1"}
    assert Source(files).foreign() == [], "messaging knows nothing of the lab"


def test_the_table_says_who_assigns_what() -> None:
    files = {"antecede/owner.py": OWNER, "antecede/wide.py": "class Empty:\n    pass\n"}
    assert list(Source(files).table("antecede"))[1:] == [
        "| Path | antecede/owner.py | lost, probes |  |",
        "| Session | antecede/owner.py | path | path |",
    ]


if __name__ == "__main__":
    print("\n".join(whole_source().table(*sys.argv[1:] or [""])))
