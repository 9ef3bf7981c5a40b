"""What tidy means here, as functions from a text to complaints about it.

Each complaint starts with the line it is about, or with nothing if it is about the whole file.
"""

import ast
import re
import sys
from collections.abc import Iterator

LINE_COLUMNS_MAX = 100
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 700
FILE_BYTES_MAX = 512 * 1024

VAGUE_NAMES = ("utils.py", "util.py", "common.py", "helpers.py", "misc.py")

COMPILED_IMPORTS = frozenset(sys.stdlib_module_names) | {
    *("antecede", "antecede_audit", "antecede_lab"),
    *("librt", "mypy_extensions"),
}

# One letter of each stands in brackets, so that this file does not contain what it looks for.
FOREIGN_WORDS = re.compile(
    "|".join(
        (
            # Where packages come from is the business of the machine that installs them.
            r"pyp[i]\.org",
            r"pythonhoste[d]",
            r"npmj[s]\.",
            r"deb\.debia[n]\.",
            r"crate[s]\.io",
            r"repo1?\.mave[n]",
            # Folders of one machine.
            r"/[r]oot/",
            r"/[w]ork/",
            r"/[f]arm/",
            r"/hom[e]/\w",
            r"/[U]sers/\w",
            # Talk about tools instead of the project.
            r"\bas an a[i]\b",
            r"\blanguage mode[l]\b",
            r"\bchatgp[t]\b",
            r"\bclaud[e]\b",
            r"\bsubagen[t]\b",
            r"\bdeveloper sessio[n]\b",
        )
    ),
    re.IGNORECASE,
)

UNFINISHED = re.compile(r"\bTODO\b|\bFIXME\b|\bXXX\b|NotImplemented")
TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore\b(?P<code>\[[a-z, -]+\])?")
NOQA = re.compile(
    r"#\s*(ruff:\s*)?noqa\b(?P<code>:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*)?(?P<reason>\s+\S.*)?",
    re.IGNORECASE,
)
SILENCING = re.compile(r"\s*#\s*(noqa|type:\s*ignore)\b.*")
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(#[^)\s]*)?\)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def long_lines(text: str) -> list[str]:
    """Lines that do not fit beside another window; reasons for silencing a rule do not count."""
    return [
        f"{number}: {columns} columns"
        for number, line in enumerate(text.splitlines(), start=1)
        if (columns := len(SILENCING.sub("", line))) > LINE_COLUMNS_MAX
    ]


def long_file(text: str) -> list[str]:
    """A file in which a second idea has probably settled."""
    lines = len(text.splitlines())
    return [f"{lines} lines"] if lines > FILE_LINES_MAX else []


def long_functions(text: str) -> list[str]:
    """Functions that cannot be seen at once."""
    return [
        f"{node.lineno}: {node.name} has {lines} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Function)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def missing_docstrings(text: str) -> list[str]:
    """Public things that do not say what a caller can rely on.

    A method of a class with bases may be an override, which what it overrides documents.
    """
    module = ast.parse(text)
    complaints = [] if ast.get_docstring(module) else ["the module has no docstring"]
    complaints += [
        f"{node.lineno}: {node.name} has no docstring"
        for node in public_definitions(module)
        if not ast.get_docstring(node)
    ]
    return complaints


def public_definitions(module: ast.Module) -> Iterator[Function | ast.ClassDef]:
    """The classes and functions of a module, and the methods that override nothing."""
    for node in module.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef) and not [base for base in node.bases if may_define(base)]:
            for member in node.body:
                if isinstance(member, Function) and not member.name.startswith("_"):
                    yield member


def may_define(base: ast.expr) -> bool:
    """Whether a base class may have methods that are documented there."""
    name = base.value if isinstance(base, ast.Subscript) else base
    return not (isinstance(name, ast.Name) and name.id in ("ABC", "Generic", "Protocol"))


def bare_ignores(text: str) -> list[str]:
    """Silenced type errors that do not say which."""
    return [
        f"{number}: type: ignore without a code"
        for number, line in enumerate(text.splitlines(), start=1)
        for found in TYPE_IGNORE.finditer(line)
        if not found["code"]
    ]


def bare_noqas(text: str) -> list[str]:
    """Silenced lint rules that do not say which, or why."""
    return [
        f"{number}: noqa without a code and a reason"
        for number, line in enumerate(text.splitlines(), start=1)
        for found in NOQA.finditer(line)
        if not (found["code"] and found["reason"])
    ]


def unfinished_places(text: str) -> list[str]:
    """Promises to do something later."""
    return [
        f"{number}: {found[0]}"
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := UNFINISHED.search(line))
    ]


def foreign_words(text: str) -> list[str]:
    """Words that belong to one machine or to somebody's tools, not to the project."""
    return [
        f"{number}: {found[0]!r}"
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := FOREIGN_WORDS.search(line))
    ]


def heavy_imports(text: str) -> list[str]:
    """Imports that a compiled layer may not have."""
    return [
        f"{line}: imports {package}"
        for line, package in imported_packages(ast.parse(text))
        if package not in COMPILED_IMPORTS
    ]


def imported_packages(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]


def prose_lines(text: str) -> Iterator[str]:
    """The lines of a Markdown document that are not code."""
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def wrong_headings(text: str) -> list[str]:
    """A document has one title, and it comes first."""
    lines = [line for line in prose_lines(text) if line.strip()]
    titles = [line for line in lines if line.startswith("# ")]
    if len(titles) != 1:
        return [f"{len(titles)} titles"]
    return [] if lines[0] == titles[0] else ["the title does not come first"]


def local_links(text: str) -> list[str]:
    """The files that a Markdown document links to, as it writes them."""
    targets = [found["target"] for line in prose_lines(text) for found in LINK.finditer(line)]
    return [
        target for target in targets if "://" not in target and not target.startswith("mailto:")
    ]
