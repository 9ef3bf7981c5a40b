"""Greetings: what they say, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter, write_i64_le

from antecede.core import RemoteError
from antecede.wire.handshake import (
    GREETING_SIZE,
    HELLO,
    MAGIC,
    NAME_LIMIT,
    OLDEST_VERSION,
    REASON_LIMIT,
    REFUSE,
    UNKNOWN,
    VERSION,
    WELCOME,
    Greeting,
    escape_controls,
    read_greeting,
    read_refusal,
    read_text,
    read_unknown,
    read_versions,
    write_greeting,
    write_refusal,
    write_text,
    write_unknown,
)
from antecede.wire.varint import VARINT_LIMIT, WireReader

ids = st.integers(1, VARINT_LIMIT - 1)
amounts = st.integers(0, VARINT_LIMIT - 1)
names = st.text(st.characters(codec="utf-8"), max_size=NAME_LIMIT // 4).filter(str.isprintable)


@st.composite
def greetings(draw: st.DrawFn) -> Greeting:
    greeting = Greeting(draw(names), draw(names), draw(ids), draw(ids))
    greeting.echo = draw(amounts)
    greeting.process = draw(st.integers(0, 2**31 - 1))
    greeting.window = draw(amounts)
    greeting.payload_limit = draw(amounts)
    greeting.socket_bytes = draw(amounts)
    greeting.order = draw(st.sampled_from(["", "hybrid", "none"]))
    greeting.met = draw(amounts)
    greeting.delivered = draw(amounts)
    greeting.flags = draw(st.integers(0, 3))
    greeting.http = draw(st.sampled_from(["", "[fd00::1]:9464", "0.0.0.0:80"]))
    return greeting


def fields(greeting: Greeting) -> tuple[object, ...]:
    return (
        greeting.name,
        greeting.target,
        greeting.incarnation,
        greeting.token,
        greeting.echo,
        greeting.oldest,
        greeting.newest,
        greeting.process,
        greeting.window,
        greeting.payload_limit,
        greeting.socket_bytes,
        greeting.order,
        greeting.met,
        greeting.delivered,
        greeting.flags,
        greeting.http,
    )


def read(data: bytes) -> Greeting:
    reader = WireReader(data, 1)
    oldest, newest = read_versions(reader)
    return read_greeting(reader, oldest, newest)


def sample() -> Greeting:
    greeting = Greeting("ann", "bob", 11, 12)
    greeting.process = 5
    return greeting


@given(greetings(), st.sampled_from([HELLO, WELCOME]))
def test_a_greeting_is_read_as_it_was_written(greeting: Greeting, kind: int) -> None:
    data = write_greeting(kind, greeting)
    assert data[0] == kind
    assert fields(read(data)) == fields(greeting)
    assert (greeting.oldest, greeting.newest) == (OLDEST_VERSION, VERSION)


def test_a_hello_is_never_smaller_than_its_answer() -> None:
    assert len(write_greeting(HELLO, sample())) == GREETING_SIZE
    longest = Greeting("a" * NAME_LIMIT, "b" * NAME_LIMIT, VARINT_LIMIT - 1, VARINT_LIMIT - 1)
    longest.http = "h" * NAME_LIMIT
    assert len(write_greeting(HELLO, longest)) == GREETING_SIZE
    assert len(write_greeting(WELCOME, longest)) < GREETING_SIZE
    assert len(write_refusal("a" * NAME_LIMIT, "r" * REASON_LIMIT)) < GREETING_SIZE


@given(greetings(), st.data())
def test_a_greeting_that_is_cut_short_is_refused(greeting: Greeting, data: st.DataObject) -> None:
    whole = write_greeting(WELCOME, greeting)
    end = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(RemoteError):
        read(whole[:end])


def test_where_http_is_served_cannot_command_a_terminal() -> None:
    greeting = sample()
    greeting.http = "a\x1b[2J:80"
    assert read(write_greeting(HELLO, greeting)).http == "a\\x1b[2J:80"


def test_the_versions_of_a_greeting_can_be_read_whatever_follows() -> None:
    data = bytes([HELLO]) + MAGIC + bytes([7, 9]) + b"\xff" * 20
    assert read_versions(WireReader(data, 1)) == (7, 9)


@pytest.mark.parametrize(
    ("incarnation", "token", "echo"), [(0, 1, 1), (1, 0, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)]
)
def test_a_greeting_needs_an_incarnation_and_a_token(
    incarnation: int, token: int, echo: int
) -> None:
    greeting = Greeting("ann", "bob", incarnation, token)
    greeting.echo = echo
    with pytest.raises(RemoteError, match="without an incarnation or a token"):
        read(write_greeting(HELLO, greeting))


def test_a_process_id_has_to_fit_an_event_log() -> None:
    greeting = sample()
    greeting.process = 2**31
    with pytest.raises(RemoteError, match="fits no event log"):
        read(write_greeting(HELLO, greeting))


def test_other_peoples_datagrams_are_no_greetings() -> None:
    data = write_greeting(WELCOME, sample()).replace(MAGIC, b"Antecede")
    with pytest.raises(RemoteError, match="something else than antecede"):
        read(data)
    with pytest.raises(RemoteError, match="something else than antecede"):
        read_unknown(WireReader(write_unknown(5).replace(MAGIC, b"antecedE"), 1))


def test_a_text_has_a_limit_and_is_utf_8() -> None:
    writer = BytesWriter()
    write_text(writer, "ä" * 100)
    assert read_text(WireReader(writer.getvalue()), 200) == "ä" * 100
    with pytest.raises(RemoteError, match="a text of 200 bytes; 199 are allowed"):
        read_text(WireReader(writer.getvalue()), 199)
    with pytest.raises(RemoteError, match="not UTF-8"):
        read_text(WireReader(b"\x02\xc3\x28"), 10)


@given(names, st.text(st.characters(codec="utf-8"), max_size=REASON_LIMIT // 4))
def test_a_refusal_says_who_and_why(name: str, reason: str) -> None:
    data = write_refusal(name, reason)
    assert data[0] == REFUSE
    assert read_refusal(WireReader(data, 1)) == (name, escape_controls(reason), 0)
    stamped = write_refusal(name, reason, 1 << 60)
    assert stamped.startswith(data), "who does not know of stamps reads the same"
    assert read_refusal(WireReader(stamped, 1)) == (name, escape_controls(reason), 1 << 60)
    assert escape_controls(reason).isprintable()
    assert (escape_controls(reason) == reason) == reason.isprintable()


@given(ids)
def test_an_unknown_token_is_named(token: int) -> None:
    data = write_unknown(token)
    writer = BytesWriter()
    write_i64_le(writer, token)
    assert data == bytes([UNKNOWN]) + MAGIC + writer.getvalue()
    assert read_unknown(WireReader(data, 1)) == token


@given(st.binary(max_size=80))
def test_any_bytes_are_a_greeting_or_refused(data: bytes) -> None:
    for prefix in (b"", MAGIC, MAGIC + b"\1\1" + bytes(range(1, 25))):
        try:
            greeting = read(b"?" + prefix + data)
        except RemoteError:
            continue
        assert greeting.incarnation > 0
        assert greeting.process < 2**31
