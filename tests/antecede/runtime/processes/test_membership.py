"""Who is away stops nobody: four `antecede node` processes with 5 % loss, and one of them away.

a multicasts to b and c; c is away; b, having read it, writes to d, who has nothing to do with c.
"""

import signal
from pathlib import Path

import pytest

from antecede_lab.child import Child, Line
from bench.membership import LOSS, NAMES, WAYS, Mesh, hear_event, hear_text, made_away, passed_on

QUICK = (
    "--set=expel=majority:2s",
    "--set=heartbeat=500ms",
    "--set=silent_after=1s",
    "--set=meet_within=2s",
)


def end(*children: Child) -> list[int]:
    """Let them leave."""
    for child in children:
        child.end_input()
    return [child.wait() for child in children]


def rest_of(child: Child) -> list[Line]:
    """Everything it says until it ends."""
    lines = []
    while (line := child.hear_or_end()) is not None:
        lines.append(line)
    return lines


@pytest.mark.parametrize("way", WAYS)
def test_others_go_on_whichever_way_one_is_away(way: str) -> None:
    with Mesh(NAMES, QUICK, LOSS) as mesh:
        made_away(mesh, way)
        passed_on(mesh)
        a = mesh.nodes["a"]
        if way in ("killed", "paused"):
            told = hear_event(a, "undeliverable")
            assert (told["peer"], told["why"]) == ("c", "gone")
        # From now on it is left out, and the sender is told so in the answer.
        a.tell({"to": ["b", "c"], "text": "later", "id": "later"})
        sent = a.hear_until("sent")
        while sent["sent"] != "later":
            sent = a.hear_until("sent")
        assert sent["left_out"] == ["c"]
        hear_text(mesh.nodes["b"], "later")
        a.tell({"to": ["c"], "text": "to nobody", "id": "nobody"})
        refused = a.hear_until("error")
        assert refused["id"] == "nobody"
        assert "c" in str(refused["error"])


def test_one_that_was_paused_is_told_and_reads_nothing_out_of_order() -> None:
    with Mesh(NAMES, QUICK, LOSS) as mesh:
        made_away(mesh, "paused")
        a, b, c, d = (mesh.nodes[name] for name in NAMES)
        a.tell({"to": ["b", "c"], "text": "first"})
        hear_text(b, "first")
        b.tell({"to": ["c", "d"], "text": "second"})
        hear_text(d, "second")
        d.tell({"to": ["a", "b", "c"], "text": "third"})
        hear_text(a, "third")
        c.signal(signal.SIGCONT)
        lines = rest_of(c)
        fenced = [line for line in lines if line.get("event") == "fenced"]
        assert [line["node"] for line in fenced] == ["c"]
        assert c.wait() == 1
        order = ["first", "second", "third"]
        texts = [line["text"] for line in lines if line.get("text") in order]
        assert texts == order[: len(texts)], "a message came before its cause"
        back = mesh.start("c")
        a.tell({"to": ["b"], "text": "meanwhile"})
        hear_text(b, "meanwhile")
        back.tell({"to": ["a", "b", "d"], "text": "back"})
        for child in (a, b, d):
            assert hear_text(child, "back")["from"] == "c"
        assert end(a, b, back, d) == [0, 0, 0, 0]


def test_a_line_that_expels_is_acted_on_ahead_of_a_send_that_waits() -> None:
    """c never comes and is waited for; d is killed, and a says so behind the send that waits."""
    options = ("--set=meet_within=1s", "--set=expel=manual", "--set=away=wait")
    with Mesh(NAMES, options, LOSS) as mesh:
        mesh.meet(("a", "b", "d"))
        a, b, d = mesh.nodes["a"], mesh.nodes["b"], mesh.nodes["d"]
        d.kill()
        a.tell({"to": ["b", "c"], "text": "waits", "id": 1})
        a.tell({"expel": "d", "reason": "killed"})
        assert hear_event(a, "expelled")["peer"] == "d"
        mesh.start("c")
        hear_text(mesh.nodes["c"], "waits")
        assert hear_text(b, "waits")["from"] == "a"
        assert end(a, b, mesh.nodes["c"]) == [0, 0, 0]


def test_with_away_refuse_nothing_is_submitted() -> None:
    with Mesh(("a", "b", "c"), (*QUICK, "--set=away=refuse"), LOSS) as mesh:
        mesh.meet(("a", "b"))
        a, b = mesh.nodes["a"], mesh.nodes["b"]
        a.tell({"to": ["b", "c"], "text": "refused", "id": 1})
        refused = a.hear_until("error")
        assert refused["id"] == 1
        a.tell({"to": ["b"], "text": "sent", "id": 2})
        assert b.hear_until("from")["text"] == "sent"
        assert end(a, b) == [0, 0]


def test_with_away_wait_sends_keep_the_order_of_their_lines() -> None:
    with Mesh(("a", "b", "c"), (*QUICK, "--set=away=wait"), LOSS) as mesh:
        mesh.meet(("a", "b"))
        a, b = mesh.nodes["a"], mesh.nodes["b"]
        for number in range(20):
            a.tell({"to": ["b", "c"] if number % 2 else ["b"], "text": str(number)})
        c = mesh.start("c")
        assert [b.hear_until("from")["text"] for _ in range(20)] == [str(n) for n in range(20)]
        odd = [str(number) for number in range(1, 20, 2)]
        assert [c.hear_until("from")["text"] for _ in odd] == odd
        assert end(a, b, c) == [0, 0, 0]


def test_a_journal_whose_owner_and_target_both_died_holds_nobody_up(tmp_path: Path) -> None:
    """What a had sent to c is told when a is back, and c's messages are gone with it."""
    with Mesh(NAMES, QUICK, LOSS) as mesh:
        journal = f"--journal={tmp_path / 'journal'}"
        a = mesh.start("a", journal)
        b, c, d = (mesh.start(name) for name in "bcd")
        a.tell({"to": ["b", "c", "d"], "text": "here"})
        for child in (b, c, d):
            hear_text(child, "here")
        c.kill()
        a.tell({"to": ["b", "c"], "text": "news", "id": "news"})
        hear_text(b, "news")
        a.kill()
        a = mesh.start("a", journal)
        b.tell({"to": ["d"], "text": "passed on"})
        hear_text(d, "passed on")
        told = hear_event(a, "undeliverable")
        assert told["peer"] == "c"
        a.tell({"to": ["b", "d"], "text": "on"})
        hear_text(d, "on")
