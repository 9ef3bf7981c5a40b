"""For the site: a link to a file outside docs/ becomes its path in the repository, as text.

In the repository such links work; the site has nothing at their other end.
"""

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>\.\./[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 MkDocs says what it passes
    """Called by MkDocs with the text of every page."""
    folder = posixpath.dirname(page.file.src_uri)

    def shown(link: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join("docs", folder, link["target"]))
        if place.startswith("docs/"):
            return link[0]
        text = link["text"]
        return f"`{place}`" if text in place else f"{text} (`{place}`)"

    return LINK.sub(shown, markdown)
