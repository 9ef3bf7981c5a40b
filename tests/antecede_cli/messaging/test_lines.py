"""Lines that a process is given, and how much of them it keeps."""

import asyncio
import io
import json

from antecede.events import PeerMet, PeerRefused
from antecede.runtime.input_lines import READ_BYTES, InputLines
from antecede_cli.json_lines import OUTPUT_LIMIT, OutputLines, write_event


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


def test_what_strangers_cause_does_not_pile_up_when_nobody_reads() -> None:
    """Events are put without a turn of the loop between them, as if the pipe were full."""

    async def written() -> list[dict[str, object]]:
        sink = io.StringIO()
        output = OutputLines(sink, lambda: None)
        for count in range(OUTPUT_LIMIT + 500):
            write_event(PeerRefused(name=f"n{count}", address="nowhere", reason="made up"), output)
        write_event(PeerMet(name="bob"), output)
        assert output.dropped == 500
        while output._waiting:
            await output.room()
            await asyncio.sleep(0.001)
        write_event(PeerRefused(name="last", address="nowhere", reason="made up"), output)
        await output.end()
        return [json.loads(line) for line in sink.getvalue().splitlines()]

    lines = asyncio.run(written())
    assert len(lines) == OUTPUT_LIMIT + 3
    assert lines[-3:] == [
        {"event": "met", "peer": "bob"},
        {"event": "dropped", "events": 500},
        {"event": "refused", "peer": "last", "address": "nowhere", "reason": "made up"},
    ]
