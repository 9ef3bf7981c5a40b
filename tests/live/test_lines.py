"""Lines that a process is given, and how much of them it keeps."""

import asyncio
import io

from antecede.live.lines import READ_BYTES, InputLines


async def lines_of(text: bytes, line_limit: int) -> list[bytes]:
    lines = InputLines(io.BytesIO(text), line_limit)
    found = []
    while line := await asyncio.wait_for(lines.next_line(), 30):
        found.append(line)
    return found


def test_lines_come_whole_however_they_are_read() -> None:
    text = [b"first\n", b"x" * 3 * READ_BYTES + b"\n", b"\n", b"the last one has no end"]
    assert asyncio.run(lines_of(b"".join(text), len(b"".join(text)))) == text


def test_of_an_endless_line_no_more_is_kept_than_shows_that_it_is_too_long() -> None:
    long, after = asyncio.run(lines_of(b"x" * 20 * READ_BYTES + b"\nafter\n", 1000))
    assert 1000 < len(long) <= 1000 + READ_BYTES + len(b"\n")
    assert after == b"after\n"
