"""`antecede node` with keys, as operating-system processes: who has the right one, and who not."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from antecede.runtime.security.keys import new_secret, write_key_file
from antecede_lab.child import WAIT_S, Child
from tests.antecede.runtime.processes.groups import free_address

PATIENCE = ("--linger", "2s")


def new_key(file: Path) -> str:
    """Make a key, as `antecede key new` does; its public half."""
    secret = new_secret()
    write_key_file(file, secret.text())
    return str(secret.public)


@contextmanager
def alice_and_bob(alices: Sequence[str], bobs: Sequence[str]) -> Iterator[tuple[Child, Child]]:
    """Two nodes that know each other's addresses, with these further options."""
    here, there = free_address(), free_address()
    with (
        Child.python(
            *("antecede", "node", "--name", "alice", "--bind", here, "--peer", f"bob={there}"),
            *(*PATIENCE, *alices),
            name="alice",
        ) as alice,
        Child.python(
            *("antecede", "node", "--name", "bob", "--bind", there, "--peer", f"alice={here}"),
            *(*PATIENCE, *bobs),
            name="bob",
        ) as bob,
    ):
        yield alice, bob


def assert_talking(alice: Child, bob: Child) -> None:
    alice.tell({"to": ["bob"], "text": "hello", "id": "a1"})
    assert bob.hear_until("from") == {"from": "alice", "sequence": 1, "text": "hello"}
    bob.tell({"to": ["alice"], "text": "hi", "id": "b1"})
    assert alice.hear_until("from") == {"from": "bob", "sequence": 1, "text": "hi"}
    alice.end_input()
    bob.end_input()
    assert (alice.wait(), bob.wait()) == (0, 0)


def test_nodes_with_keys_of_their_own_talk(tmp_path: Path) -> None:
    his, hers = new_key(tmp_path / "bob.key"), new_key(tmp_path / "alice.key")
    next_key = new_key(tmp_path / "next.key")
    alices = ["--key", str(tmp_path / "alice.key"), "--peer-key", f"bob={his}"]
    bobs = ["--key", str(tmp_path / "bob.key"), "--peer-key", f"alice={next_key}"]
    with alice_and_bob(alices, [*bobs, "--peer-key", f"alice={hers}"]) as (alice, bob):
        assert_talking(alice, bob)


def test_nodes_with_one_key_for_all_talk(tmp_path: Path) -> None:
    new_key(tmp_path / "team.key")
    options = ["--cluster-key", str(tmp_path / "team.key")]
    with alice_and_bob(options, options) as (alice, bob):
        assert_talking(alice, bob)


def test_without_the_right_key_bob_gets_nothing(tmp_path: Path) -> None:
    his, hers = new_key(tmp_path / "bob.key"), new_key(tmp_path / "alice.key")
    new_key(tmp_path / "wrong.key")
    alices = ["--key", str(tmp_path / "alice.key"), "--peer-key", f"bob={his}"]
    options = ["--key", str(tmp_path / "wrong.key"), "--peer-key", f"alice={hers}"]
    with alice_and_bob(alices, options) as (alice, bob):
        alice.tell({"to": ["bob"], "text": "a secret", "id": "a1"})
        bob.tell({"to": ["alice"], "text": "forged", "id": "b1"})
        refused = alice.hear_until("reason")
        alice.end_input()
        bob.end_input()
        said = []
        for child in (alice, bob):
            while (line := child.hear_or_end()) is not None:
                said.append(line)
        assert refused["event"] == "refused"
        assert "key" in str(refused["reason"])
        assert [line for line in said if "from" in line or line.get("event") == "met"] == []
        errors = {line["id"]: str(line["error"]) for line in said if "error" in line}
        assert sorted(errors) == ["a1", "b1"], "neither was sent"
        assert (alice.wait(), bob.wait()) == (0, 0)


def test_after_a_hangup_peers_and_keys_are_read_again(tmp_path: Path) -> None:
    his, hers = new_key(tmp_path / "bob.key"), new_key(tmp_path / "alice.key")
    here, config = free_address(), tmp_path / "alice.toml"
    table = f'[node]\nname = "alice"\nbind = "{here}"\nkey = "{tmp_path}/alice.key"\n'
    config.write_text(table)
    bobs = ["--name", "bob", "--key", str(tmp_path / "bob.key"), "--peer", f"alice={here}"]
    with (
        Child.python("antecede", "node", "--config", str(config), *PATIENCE, name="alice") as alice,
        Child.python(
            "antecede", "node", *bobs, "--peer-key", f"alice={hers}", *PATIENCE, name="bob"
        ) as bob,
    ):
        assert alice.hear()["event"] == "ready"
        config.write_text(table + f'peers = {{ bob = {{ keys = ["{his[:-1]}"] }} }}\n')
        alice.signal(signal.SIGHUP)
        assert str(alice.hear_until("error")["error"]).startswith("not reloaded: setting 'peers'")
        config.write_text(table + f'peers = {{ bob = {{ keys = ["{his}"] }} }}\n')
        alice.signal(signal.SIGHUP)
        assert alice.hear_until("peers") == {"event": "reloaded", "peers": ["bob"]}
        assert_talking(alice, bob)


def test_beyond_this_machine_a_key_is_asked_for() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "antecede", "node", "--name", "alice", "--bind", "0.0.0.0:0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        timeout=WAIT_S,
    )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "it listens at 0.0.0.0:0, and beyond this machine a node needs a key." in ran.stderr
