"""The line that somebody is typing: keys in, lines out, no terminal in here.

A terminal that shows messages while one is being typed has to draw the unfinished line again after
each of them, so it must know it. A few keys are understood: backspace, Ctrl-U (all), Ctrl-W (a
word), Ctrl-D (the end, on an empty line); arrows and other escape sequences are passed over.
"""

import codecs
import re
from typing import Final

BACKSPACE: Final = "\x7f\x08"
ALL: Final = "\x15"
WORD: Final = "\x17"
END: Final = "\x04"
ESCAPE: Final = re.compile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|O.|.)?")


class LineEditor:
    """Takes what comes from a keyboard, or from a pipe."""

    def __init__(self) -> None:
        self.text = ""
        """The line as far as it has been typed."""
        self.ended = False
        """Whether no more will come."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes finish; no bytes mean the end."""
        if not data:
            self.ended = True
            rest, self.text = self.text, ""
            return [rest] if rest else []
        lines: list[str] = []
        for letter in ESCAPE.sub("", self._decoder.decode(data)):
            if self.ended:
                break
            if letter in "\r\n":
                lines.append(self.text)
                self.text = ""
            else:
                self._press(letter)
        return lines

    def _press(self, letter: str) -> None:
        if letter in BACKSPACE:
            self.text = self.text[:-1]
        elif letter == ALL:
            self.text = ""
        elif letter == WORD:
            self.text = re.sub(r"\S*\s*\Z", "", self.text)
        elif letter == END:
            self.ended = not self.text
        elif letter == "\t" or letter.isprintable():
            self.text += " " if letter == "\t" else letter
