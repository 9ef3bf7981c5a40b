"""`antecede node --set`: what is given is used, or it is an error."""

import pytest
from click.testing import CliRunner, Result

from antecede_cli.main import main

OPTIONS = ["bind", "expel", "linger", "insecure", "order", "peers", "peer_keys", "name"]
"""Settings that have options of their own; `--set` takes them as well."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["node", *arguments], input="")


@pytest.mark.parametrize("name", OPTIONS)
def test_a_setting_with_an_option_of_its_own_can_be_set_too(name: str) -> None:
    """Nonsense is refused, so it has been read."""
    ran = run(*([] if name == "name" else ["--name", "alice"]), "--set", f"{name}=, = #")
    assert ran.exit_code == 2
    assert f"setting '{name}'" in ran.stderr


@pytest.mark.parametrize("name", ["key", "cluster_key", "journal", "trace"])
def test_so_can_one_that_names_a_file(name: str) -> None:
    ran = run("--name", "alice", "--set", f"{name}=/dev/null/nowhere")
    assert ran.exit_code != 0
    assert "/dev/null/nowhere" in ran.stderr


def test_a_policy_that_is_set_is_followed() -> None:
    ran = run("--name", "alice", "--set", "expel=after:4s")
    assert "setting 'expel' is after:4" in ran.stderr


@pytest.mark.parametrize(
    ("option", "value", "setting"),
    [
        ("--expel", "after:60s", "expel=after:20s"),
        ("--linger", "1s", "linger=2s"),
        ("--bind", "127.0.0.1:0", "bind=127.0.0.1:1"),
        ("--order", "fifo", "order=none"),
        ("--peer", "bob", "peers=carol"),
        ("--name", "bob", "name=carol"),
        ("--set", "heartbeat=1s", "heartbeat=2s"),
    ],
)
def test_what_is_said_twice_is_refused(option: str, value: str, setting: str) -> None:
    name = [] if option == "--name" else ["--name", "alice"]
    ran = run(*name, option, value, "--set", setting)
    assert ran.exit_code == 2
    assert f"--set {setting}" in ran.stderr
    assert option in ran.stderr


@pytest.mark.parametrize(
    ("assignment", "why"),
    [
        ("confirm=next", "when its line is written"),
        ("facts=3", "the setting 'facts' (from the call) is gone"),
        ("stalled_after=3s", "use the order causal"),
        ("order=hybrid-facts", "a protocol of the lab now"),
        ("durable=process", "a journal"),
        ("journal_limit=1GiB", "a journal"),
        ("trace_run=x", "a trace"),
        ("trace-rotate=2s", "a trace"),
    ],
)
def test_what_would_not_be_used_is_refused(assignment: str, why: str) -> None:
    ran = run("--name", "alice", "--set", assignment)
    assert ran.exit_code == 2
    assert why in ran.stderr


@pytest.mark.parametrize("assignment", ["gso=on", "busy_poll=false", "stay_awake=false"])
def test_what_is_for_udp_only_is_refused_elsewhere(assignment: str) -> None:
    ran = run("--name", "alice", "--bind", "tcp://127.0.0.1:0", "--set", assignment)
    assert ran.exit_code == 2
    assert "UDP" in ran.stderr


def test_what_is_needed_makes_it_of_use() -> None:
    ran = run("--name", "alice", "--bind", "127.0.0.1:0", "--set", "gso=off")
    assert ran.exit_code == 0, ran.stderr
    assert '"event": "ready"' in ran.stdout


@pytest.mark.parametrize("order", ["causal", "hybrid"])
def test_causal_is_the_name_of_the_default(order: str) -> None:
    ran = run("--name", "alice", "--set", f"order={order}")
    assert ran.exit_code == 0, ran.stderr
