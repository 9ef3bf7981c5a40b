"""The file stands on its own: one module, no network, names used once."""

import re
from html import unescape
from pathlib import Path

import antecede_audit.report.page
from antecede_audit.report.page.document import (
    SCRIPTS,
    STYLES,
    Report,
    asset,
    bundled,
    page_text,
    script,
)
from antecede_audit.report.page.markup import Markup
from antecede_audit.report.page.section import Section

ASSETS = Path(antecede_audit.report.page.__file__).parent / "assets"

DECLARED = re.compile(r"^(?:export )?(?:async )?(?:class|const|function|let) (\w+)", re.MULTILINE)
IMPORTED = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";', re.MULTILINE)


def example() -> Report:
    section = Section(identity="one", title="One & only", lead="lead", body=Markup("<p>body</p>"))
    return Report(
        title="<title>",
        subtitle="sub",
        opening=Markup("<hr>"),
        sections=[section, section],
        sources=[("a thing", "some/<place>")],
    )


def test_every_asset_is_used() -> None:
    assert sorted([*SCRIPTS, *STYLES]) == sorted(file.name for file in ASSETS.iterdir())


def test_no_two_scripts_use_the_same_name() -> None:
    names = [name for file in SCRIPTS for name in DECLARED.findall(asset(file))]

    assert len(names) > 50
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_scripts_import_what_others_declare_before_them() -> None:
    for place, file in enumerate(SCRIPTS):
        text = asset(file)
        for names, source in IMPORTED.findall(text):
            assert source in SCRIPTS[:place], f"{file} comes before {source}"
            declared = DECLARED.findall(asset(source))
            for name in names.split(","):
                assert name.strip() in (*declared, ""), f"{file} imports {name} from {source}"


def test_a_module_loses_its_imports_and_exports_and_nothing_else() -> None:
    module = (
        'import { a,\n  b } from "./c.js";\nimport { d } from "./e.js";\n\n'
        "export const one = 1;\nexport async function two() {}\nconst text = 'export const';\n"
    )

    assert bundled(module) == (
        "\nconst one = 1;\nasync function two() {}\nconst text = 'export const';\n"
    )
    assert not re.search(r"^\s*(import|export)\b", script(), re.MULTILINE)


def test_scripts_cannot_end_their_element() -> None:
    assert "</script" not in script()
    assert "<!--" not in script()


def test_nothing_on_the_page_is_asked_of_a_network() -> None:
    text = page_text(example())

    assert "default-src 'none'" in unescape(text)
    assert not re.search(r'\b(src|href)="(?!#)', text)
    assert not re.search(r"@import|url\((?!#plot)|fetch\(|XMLHttpRequest|WebSocket", text)
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_the_page_has_its_parts_and_escapes_them() -> None:
    text = page_text(example())

    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert "<title>&lt;title&gt;</title>" in text
    assert '<a href="#one">One &amp; only</a>' in text
    assert '<section id="one">' in text
    assert "<p>body</p>" in text
    assert "a thing in <code>some/&lt;place&gt;</code>" in text
    assert 'name="viewport"' in text
