"""Sealed datagrams: who reads them, how keys follow each other, and what is refused."""

from itertools import pairwise

import pytest

from antecede.live.security.primitives import AuthenticationFailed
from antecede.live.security.sealing import (
    AHEAD,
    MARKS,
    REKEY_DATAGRAMS,
    REKEY_NS,
    SEAL_BYTES,
    ReceivingKey,
    SendingKey,
    mark_of,
)

KEY = bytes(range(32))


def pair() -> tuple[SendingKey, ReceivingKey]:
    return SendingKey("AESGCM", KEY, 0), ReceivingKey("AESGCM", KEY)


def test_what_is_sealed_is_opened_and_not_legible() -> None:
    sending, receiving = pair()
    sealed = sending.seal(1, b"header", b"a secret")
    assert len(sealed) == len(b"a secret") + SEAL_BYTES
    assert b"secret" not in sealed
    assert receiving.open(sending.mark(0), 1, b"header", sealed) == b"a secret"


def test_a_changed_header_number_body_or_mark_is_noticed() -> None:
    sending, receiving = pair()
    sealed = sending.seal(7, b"header", b"body")
    mark = sending.mark(0)
    changed = bytes([sealed[0] ^ 1]) + sealed[1:]
    for asked in (
        (mark, 8, b"header", sealed),
        (mark, 7, b"Header", sealed),
        (mark, 7, b"header", changed),
        (mark, 7, b"header", sealed[:-1]),
        (mark, 7, b"header", b""),
        (mark_of(1), 7, b"header", sealed),
        (mark_of(5), 7, b"header", sealed),
        (0, 7, b"header", sealed),
    ):
        with pytest.raises(AuthenticationFailed):
            receiving.open(*asked)
    assert receiving.epoch == 0
    assert receiving.open(mark, 7, b"header", sealed) == b"body"


def test_keys_follow_each_other_by_time_and_stragglers_are_read() -> None:
    sending, receiving = pair()
    sealed = []
    for number in range(1, 2 * MARKS + 10):
        mark = sending.mark(number * REKEY_NS)
        sealed.append((mark, number, b"", sending.seal(number, b"", b"%d" % number)))
    for late, early in pairwise(sealed):
        assert receiving.open(*early) == b"%d" % early[1]
        assert receiving.open(*late) == b"%d" % late[1]
    assert receiving.epoch == sending.epoch == 2 * MARKS + 9


@pytest.mark.parametrize("lost", [1, AHEAD - 1])
def test_keys_of_which_everything_was_lost_are_passed_over(lost: int) -> None:
    sending, receiving = pair()
    for number in range(1, lost + 2):
        mark = sending.mark(number * REKEY_NS)
    assert receiving.open(mark, 9, b"", sending.seal(9, b"", b"found")) == b"found"
    assert receiving.epoch == sending.epoch == lost + 1


def test_an_old_key_is_not_taken_back() -> None:
    sending, receiving = pair()
    old = (sending.mark(0), 1, b"", sending.seal(1, b"", b"old"))
    for number in (2, 3):
        mark = sending.mark(number * REKEY_NS)
        receiving.open(mark, number, b"", sending.seal(number, b"", b""))
    with pytest.raises(AuthenticationFailed):
        receiving.open(*old)


def test_keys_follow_each_other_by_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.live.security.sealing.REKEY_DATAGRAMS", 3)
    assert REKEY_DATAGRAMS == 1 << 20
    sending, receiving = pair()
    marks = []
    for number in range(1, 8):
        mark = sending.mark(0)
        marks.append(mark)
        assert receiving.open(mark, number, b"", sending.seal(number, b"", b"x")) == b"x"
    assert marks == [mark_of(epoch) for epoch in (0, 0, 0, 1, 1, 1, 2)]
