"""Tables of the documents, and the keywords of `open_node`, made from the code.

`python -m tests.antecede.runtime.documented` prints them.
"""

import ast
import inspect
from dataclasses import MISSING, fields
from inspect import signature
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

from antecede import errors, events
from antecede.core.errors import AntecedeError
from antecede.runtime.config.settings import RULES, Settings
from antecede.runtime.errors import FieldError
from antecede.runtime.observe.metric import figures_of
from antecede.runtime.observe.stats import Health, JournalStats, PeerStats, Stats
from antecede.runtime.opening import open_node

SOURCE = Path(__file__).parents[3] / "src"


def class_of(kind: type) -> ast.ClassDef:
    """The statement that defines a class."""
    [found] = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(found, ast.ClassDef)
    return found


def field_meanings(kind: type) -> dict[str, str]:
    """The text that stands below each field of a class."""
    found: dict[str, str] = {}
    for statement, following in pairwise(class_of(kind).body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            found[statement.target.id] = " ".join(str(following.value.value).split())
    return found


def default_of(name: str) -> str:
    """The default of a setting as a file would write it."""
    [item] = [item for item in fields(Settings) if item.name == name]
    if item.default is MISSING:
        return "(required)"
    if item.default in (None, ()):
        return "none"
    if isinstance(item.default, bool):
        return f"`{str(item.default).lower()}`"
    return f"`{item.default}`"


def settings_table() -> str:
    """Every setting, its default, what it may be and what it means."""
    meanings = field_meanings(Settings)
    rows = ["| setting | default | may be | meaning |", "|---|---|---|---|"]
    for name, rule in RULES.items():
        rows.append(f"| `{name}` | {default_of(name)} | {rule.allowed} | {meanings[name]} |")
    return "\n".join(rows) + "\n"


def options_class() -> str:
    """The keywords of `open_node`: what each setting takes, but those with parameters of their
    own."""
    lines = [
        "class Options(TypedDict, total=False):",
        '    """What each of these settings takes: the first type of its field in `Settings`."""',
        "",
    ]
    for statement in class_of(Settings).body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(statement.annotation, ast.Subscript)
            and isinstance(statement.annotation.slice, ast.Tuple)
            and statement.target.id not in signature(open_node).parameters
        ):
            taken = ast.unparse(statement.annotation.slice.elts[0])
            lines.append(f"    {statement.target.id}: {taken}")
    return "\n".join(lines) + "\n"


def metrics_table() -> str:
    """Every metric, its kind and its meaning."""
    rows = ["| metric | kind | meaning |", "|---|---|---|"]
    for kind in (Stats, JournalStats, Health, PeerStats):
        per_peer = ", per peer" if kind is PeerStats else ""
        for metric in (figure.metric for figure in figures_of(kind)):
            rows.append(f"| `{metric.written_name}` | {metric.kind}{per_peer} | {metric.meaning} |")
    return "\n".join(rows) + "\n"


def first_sentence(kind: type) -> str:
    """What a class says of itself before it goes into detail; compiled ones do so in the source."""
    module = ast.parse(SOURCE.joinpath(*kind.__module__.split(".")).with_suffix(".py").read_text())
    [found] = [
        node
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    return " ".join((ast.get_docstring(found) or "").partition("\n\n")[0].split())


def events_table() -> str:
    """Every event, what it has, and what has happened."""
    rows = ["| event | has | what has happened |", "|---|---|---|"]
    for name in events.__all__:
        if name != "Event":
            kind = getattr(events, name)
            has = ", ".join(f"`{item.name}`" for item in fields(kind))
            said = first_sentence(kind)
            if kind.__name__ != name:
                said = f"The former name of `{kind.__name__}`."
            rows.append(f"| `{name}` | {has} | {said} |")
    return "\n".join(rows) + "\n"


def public_bases(kind: type) -> list[type]:
    """What users know of the classes that a class derives from."""
    bases = [AntecedeError if base is FieldError else base for base in kind.__bases__]
    return [a for a in bases if not any(a is not b and issubclass(b, a) for b in bases)]


def errors_table() -> str:
    """Every error, what it is a kind of, and what has happened."""
    rows = ["| error | is a | what has happened |", "|---|---|---|"]
    for name in errors.__all__:
        kind = getattr(errors, name)
        bases = ", ".join(f"`{base.__name__}`" for base in public_bases(kind))
        said = first_sentence(kind)
        if kind.__name__ != name:
            bases, said = f"`{kind.__name__}`", f"The former name of `{kind.__name__}`."
        rows.append(f"| `{name}` | {bases} | {said} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(options_class())
    print(settings_table())
    print(metrics_table())
    print(events_table())
    print(errors_table())
