"""Settings: what each may be, where they come from, and errors that say what to do."""

import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address, parse_address
from antecede.runtime.config.expulsion_policy import MANUAL
from antecede.runtime.config.peers import Peer
from antecede.runtime.config.settings import RULES, SETTING_NAMES, Settings, gather_settings
from antecede.runtime.errors import BadConfiguration


def gathered(
    keywords: dict[str, object],
    *,
    toml: Path | None = None,
    environment: dict[str, str] | None = None,
) -> Settings:
    """Settings from these sources only, never from the environment of the tests."""
    return gather_settings({"name": "alice"} | keywords, config=toml, environment=environment or {})


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    file = tmp_path / "node.toml"
    file.write_text(
        """
        [node]
        name = "carol"
        bind = "[::1]:9003"
        heartbeat = "200ms"
        silent_after = 4
        send_bytes = "128MiB"
        trace = "events"
        [node.peers]
        bob = "10.0.0.2:9002"
        dave = "learn"
        """
    )
    return file


def test_every_setting_has_a_rule_and_every_rule_a_setting() -> None:
    assert tuple(RULES) == SETTING_NAMES


def test_a_name_is_all_that_is_needed() -> None:
    settings = gathered({})

    assert settings == Settings(name="alice")
    assert (settings.bind, settings.peers, settings.order) == (("127.0.0.1", 0), {}, "causal")


def test_the_causal_order_has_two_names_and_is_one_setting() -> None:
    assert Settings(name="alice", order="hybrid") == Settings(name="alice", order="causal")
    assert gathered({}, environment={"ANTECEDE_ORDER": "hybrid"}).order == "causal"
    assert Settings(name="alice").protocol == "hybrid"
    assert Settings(name="alice", order="fifo").protocol == "fifo"


def test_defaults_pass_their_own_rules() -> None:
    settings = Settings(name="alice")

    for name, rule in RULES.items():
        assert rule.read(getattr(settings, name)) == getattr(settings, name)


def test_code_wins_over_environment_and_environment_over_file(toml: Path) -> None:
    environment = {"ANTECEDE_HEARTBEAT": "1s", "ANTECEDE_BIND": "0.0.0.0:7", "OTHER": "x"}

    settings = gather_settings(
        {"name": "alice", "bind": ("127.0.0.1", 9), "order": None},
        config=toml,
        environment=environment,
    )

    assert settings == Settings(
        name="alice",
        bind=Address("127.0.0.1", 9),
        heartbeat=1.0,
        silent_after=4.0,
        send_bytes=128 << 20,
        trace=Path("events"),
        peers={"bob": Address("10.0.0.2", 9002), "dave": None},
    )


def test_the_environment_can_name_the_file_and_all_that_is_needed(toml: Path) -> None:
    from_file = gather_settings({}, environment={"ANTECEDE_CONFIG": str(toml)})
    from_environment = gather_settings(
        {},
        environment={
            "ANTECEDE_NAME": "carol",
            "ANTECEDE_BIND": "[::1]:9003",
            "ANTECEDE_HEARTBEAT": "0.2",
            "ANTECEDE_SILENT_AFTER": "4s",
            "ANTECEDE_SEND_BYTES": "134217728",
            "ANTECEDE_TRACE": "events",
            "ANTECEDE_PEERS": "bob=10.0.0.2:9002, dave",
        },
    )

    assert from_file == from_environment


def test_settings_made_before_replace_file_and_environment(toml: Path) -> None:
    before = Settings(name="bob", linger=3.0)
    environment = {"ANTECEDE_CONFIG": str(toml), "ANTECEDE_LINGER": "9s"}

    settings = gather_settings({"patience": "2s"}, config=before, environment=environment)

    assert settings == Settings(name="bob", linger=3.0, patience=2.0)


def test_the_environment_can_switch_off_the_log_of_the_file(toml: Path) -> None:
    assert gathered({}, toml=toml, environment={"ANTECEDE_TRACE": ""}).trace is None


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("heartbeat", 2, 2.0),
        ("heartbeat", "200ms", 0.2),
        ("heartbeat", "1.5", 1.5),
        ("heartbeat", timedelta(milliseconds=50), 0.05),
        ("heartbeat", "20ms", 0.02),
        ("linger", "0", 0.0),
        ("mtu", "auto", "auto"),
        ("mtu", "60kB", 60_000),
        ("send_limit", "20k", 20_000),
        ("gso", True, "on"),
        ("gso", "off", "off"),
        ("gso", "auto", "auto"),
        ("accept_unknown", "yes", "anybody"),
        ("accept_unknown", True, "anybody"),
        ("accept_unknown", "anybody", "anybody"),
        ("accept_unknown", "0", "nobody"),
        ("trace", Path("a") / "b", Path("a/b")),
        ("bind", ["::1", 5], Address("::1", 5)),
        ("peers", ["bob=h:1", "eve"], {"bob": Peer("h:1"), "eve": Peer()}),
        ("peers", {"bob": ("h", 1), "eve": None}, {"bob": Peer("h:1"), "eve": Peer()}),
        ("peers", "", {}),
    ],
)
def test_values_are_taken_in_the_forms_people_have_them(
    name: str, given: object, value: object
) -> None:
    settings = gathered({name: given})

    assert getattr(settings, name) == value
    assert type(getattr(settings, name)) is type(value)


def test_time_spans_are_there_in_nanoseconds() -> None:
    settings = gathered({"heartbeat": "30ms", "patience": 2, "linger": 0})

    assert settings.heartbeat_ns == 30_000_000
    assert (settings.silent_after_ns, settings.patience_ns, settings.linger_ns) == (
        5_000_000_000,
        2_000_000_000,
        0,
    )
    assert gathered({"heartbeat": 4}).silent_after_ns == 8_000_000_000, "at least two heartbeats"


@pytest.mark.parametrize(
    ("name", "given", "complaint"),
    [
        ("name", "", "setting 'name': a name must not be empty; it must be at most 64 bytes"),
        ("name", "a b", "'a b' has spaces, control characters or one of ,=#"),
        ("name", "a=b", "'a=b' has spaces"),
        ("name", "ü" * 33, "is longer than 64 bytes"),
        ("name", 7, "7 is not a name"),
        ("bind", "localhost", "'localhost' has no port; it must be host:port"),
        ("bind", "::1:9000", "'::1:9000' is ambiguous: an IPv6 address stands in brackets"),
        ("bind", "h:70000", "'h:70000' has port 70000, outside 0 to 65535"),
        ("bind", "h:http", "ends in 'http', which is no port number"),
        ("bind", ":9000", "names no host; 0.0.0.0 and [::] stand for every interface"),
        ("bind", ("h", True), "is not an address"),
        ("peers", "bob=h", "setting 'peers': 'h' has no port"),
        ("peers", ["bob=h:1", "bob"], "'bob' is there twice"),
        ("peers", "alice=h:1", "'alice' is this node itself"),
        ("peers", 5, "5 is not a table of peers"),
        (
            "order",
            "sorted",
            "'sorted' is none of them; it must be one of causal, hybrid, hybrid-sps,",
        ),
        (
            "order",
            "hybird",
            "'hybird' is none of them (did you mean 'hybrid'?); it must be one of causal,",
        ),
        ("mtu", 100, "setting 'mtu': 100 is out of range; it must be auto, or bytes or a size"),
        ("mtu", "big", "'big' is not a size"),
        ("send_limit", 0, "0 is out of range; it must be a whole number from 1 to 1,048,576"),
        ("send_limit", True, "True is not a whole number"),
        ("send_limit", "1.5", "'1.5' is not a whole number"),
        ("heartbeat", "5 parsecs", "'5 parsecs' is not a duration"),
        ("heartbeat", -1, "-1 is out of range; it must be seconds or a duration such as 200ms"),
        ("heartbeat", float("nan"), "nan is out of range"),
        ("heartbeat", True, "True is not a duration"),
        (
            "accept_unknown",
            "maybe",
            "'maybe' is neither; it must be nobody or anybody",
        ),
        ("gso", "perhaps", "it must be auto, on or off"),
        ("trace", 3, "3 is not a path"),
        ("trace_run", " ", "is not a name for a run"),
        ("payload_limit", "65MiB", "the largest payload would never find room"),
        ("silent_after", 4, "silent_after must be at least twice heartbeat"),
    ],
)
def test_a_value_that_makes_no_sense_is_explained(name: str, given: object, complaint: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        gathered({name: given})

    assert complaint in str(caught.value)
    assert f"'{name}'" in str(caught.value)


def test_settings_made_directly_are_checked_too() -> None:
    with pytest.raises(BadConfiguration, match="setting 'send_limit': 0 is out of range"):
        Settings(name="alice", send_limit=0)


def test_what_is_automatic_follows_the_settings_that_are_made_of_others() -> None:
    """Neither the order nor the heartbeat of the first ones binds it."""
    usual = Settings(name="alice")
    assert (str(usual.policy), usual.silent_after_ns) == ("majority:10s", 5_000_000_000)
    assert replace(usual, order="fifo").policy == MANUAL
    slow = gather_settings({"heartbeat": 6}, config=usual, environment={})
    assert (str(slow.policy), slow.silent_after_ns) == ("majority:12s", 12_000_000_000)


def test_the_error_says_where_the_value_came_from(tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration, match="from ANTECEDE_MTU in the environment"):
        gathered({}, environment={"ANTECEDE_MTU": "huge"})
    file = tmp_path / "node.toml"
    file.write_text("[node]\nmtu = true")
    with pytest.raises(BadConfiguration, match=r"setting 'mtu' \(from .*node.toml\): True is not"):
        gathered({}, toml=file)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[node]\nheartbeet = 5", r"no setting 'heartbeet' \(from .*\) \(did you mean 'heartbeat'"),
        ("[nodes]\nname = 'x'", r"has no table \[node\] \(did you mean 'nodes'\?\)"),
        ("node = 3", r"has no table \[node\]"),
        ("[node", "is not TOML"),
    ],
)
def test_a_file_that_makes_no_sense_is_explained(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text(text)

    with pytest.raises(BadConfiguration, match=complaint):
        gathered({}, toml=file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"cannot read .*none.toml: No such file"):
        gathered({}, toml=tmp_path / "none.toml")


def test_an_unknown_keyword_names_the_near_miss() -> None:
    with pytest.raises(BadConfiguration, match=r"no setting 'peer' .*did you mean 'peers'\?"):
        gathered({"peer": {}})


def test_a_variable_that_looks_like_a_setting_is_a_typing_error() -> None:
    with pytest.raises(BadConfiguration, match=r"ANTECEDE_HEARTBEET .* mean ANTECEDE_HEARTBEAT\?"):
        gathered({}, environment={"ANTECEDE_HEARTBEET": "5s"})


@pytest.mark.parametrize(
    "variable",
    [
        "ANTECEDE_COMPILE",
        "ANTECEDE_OPTIMIZE",
        "ANTECEDE_EXPECT",
        "ANTECEDE_CAMPAIGN",
        "ANTECEDE_SEEDS",
        "ANTECEDE_DATA",
    ],
)
def test_variables_with_other_purposes_are_left_alone(variable: str) -> None:
    assert gathered({}, environment={variable: "1"}) == Settings(name="alice")


def test_a_missing_name_says_where_to_give_it() -> None:
    with pytest.raises(BadConfiguration, match=r"'name' is missing: give it to open_node.*NAME"):
        gather_settings({}, environment={})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[fe80::1%eth0]:9000", Address("fe80::1%eth0", 9000)),
        ("node-3.example:65535", Address("node-3.example", 65535)),
    ],
)
def test_addresses_are_read_and_written_alike(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


def test_settings_can_be_handed_to_another_process() -> None:
    settings = gathered({"peers": "bob=h:1", "trace": "x"})

    assert pickle.loads(pickle.dumps(settings)) == settings
