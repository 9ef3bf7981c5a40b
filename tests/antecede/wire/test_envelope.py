"""Envelopes: what is written is read again, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import LocalError, RemoteError
from antecede.wire.envelope import (
    HEADERS_MAX,
    MARK,
    MESSAGE,
    REFUSAL,
    REPLY,
    REQUEST,
    Envelope,
    escaped,
    has_envelope,
    open_envelope,
    seal_envelope,
)

names = st.text(min_size=1, max_size=40).filter(lambda text: is_encodable(text))
envelopes = st.builds(
    lambda kind, number, ms, reply_to, targets, headers: Envelope(
        kind, 0 if kind == MESSAGE else number, ms, reply_to, tuple(targets), headers
    ),
    st.sampled_from([MESSAGE, REQUEST, REPLY, REFUSAL]),
    st.integers(0, (1 << 62) - 1),
    st.integers(-1, 1 << 40),
    st.one_of(st.just(""), names),
    st.lists(names, max_size=5),
    st.dictionaries(names, st.binary(max_size=30), max_size=5),
)


def is_encodable(text: str) -> bool:
    try:
        return len(text.encode()) <= 200
    except UnicodeEncodeError:
        return False


@given(envelope=envelopes, payload=st.binary(max_size=100))
def test_what_is_sealed_is_opened(envelope: Envelope, payload: bytes) -> None:
    data = seal_envelope(envelope, payload)
    assert has_envelope(data)
    assert open_envelope(data) == (envelope, payload)


@given(payload=st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda b: MARK + b)))
def test_a_payload_alone_is_never_taken_for_an_envelope(payload: bytes) -> None:
    data = escaped(payload)
    if has_envelope(data):
        assert open_envelope(data) == (Envelope(), payload)
    else:
        assert data == payload


@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_are_refused_or_come_out_as_they_went_in(data: bytes) -> None:
    try:
        envelope, payload = open_envelope(MARK + data)
    except RemoteError:
        return
    assert seal_envelope(envelope, payload) == MARK + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x02\x00",
        b"\x02\x04\x00",
        b"\x02\x00\x10",
        b"\x04\x01\x08\x01\x00",
        b"\x03\x00\x00\x00",
    ],
)
def test_a_cut_or_unknown_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteError):
        open_envelope(MARK + data)


def test_limits_are_said_before_anything_is_sent() -> None:
    with pytest.raises(LocalError, match="257 headers are too many"):
        seal_envelope(Envelope(headers={str(n): b"" for n in range(HEADERS_MAX + 1)}), b"")
    with pytest.raises(LocalError, match="a name of 1 to 200 bytes"):
        seal_envelope(Envelope(reply_to="x" * 201), b"")
    with pytest.raises(LocalError, match="a name of 1 to 200 bytes"):
        seal_envelope(Envelope(headers={"": b""}), b"")
