"""What the documents say about settings, metrics, events and errors is what there is."""

import re
import tomllib
from pathlib import Path

from antecede.runtime.config import options
from antecede.runtime.config.settings import gather_settings
from antecede.runtime.observe.http_server import ROUTES
from tests.antecede.runtime.documented import (
    errors_table,
    events_table,
    metrics_table,
    options_class,
    settings_table,
)

DOCS = Path(__file__).parents[3] / "docs"


def test_the_table_of_settings_is_up_to_date() -> None:
    assert settings_table() in (DOCS / "operations" / "settings.md").read_text(encoding="utf-8")


def test_the_keywords_of_open_node_are_those_of_the_settings() -> None:
    written = Path(options.__file__).read_text(encoding="utf-8")
    assert written.partition("class Options")[2] == options_class().partition("class Options")[2]


def test_the_table_of_metrics_is_up_to_date() -> None:
    assert metrics_table() in (DOCS / "operations" / "metrics.md").read_text(encoding="utf-8")


def test_the_page_of_metrics_names_every_path_that_the_server_answers() -> None:
    page = (DOCS / "operations" / "metrics.md").read_text(encoding="utf-8")
    table = page.partition("| path | answer |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(/\w+)` \|", table, re.MULTILINE) == list(ROUTES)


def test_every_event_and_every_error_is_explained() -> None:
    page = (DOCS / "reference" / "events-and-errors.md").read_text(encoding="utf-8")
    assert events_table() in page
    assert errors_table() in page


def test_the_file_shown_there_is_a_good_one(tmp_path: Path) -> None:
    text = (DOCS / "operations" / "settings.md").read_text(encoding="utf-8")
    shown = text.partition("```toml\n")[2].partition("```")[0]
    file = tmp_path / "node.toml"
    file.write_text(shown)

    settings = gather_settings({}, config=file, environment={})

    assert settings.name == tomllib.loads(shown)["node"]["name"]
    assert set(settings.peers) == {"bob", "carol"}
