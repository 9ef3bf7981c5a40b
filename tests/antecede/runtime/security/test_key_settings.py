"""Keys in settings: how they are given, what does not go together, and where they are required."""

import asyncio
import logging
import sys
from pathlib import Path

import pytest

import antecede
from antecede.errors import BadConfiguration, KeyNeeded, LocalError
from antecede.runtime.config.peers import Peer
from antecede.runtime.config.settings import Settings, gather_settings
from antecede.runtime.key_settings import make_handshake_crypto, make_key_ring
from antecede.runtime.security.keys import (
    ClusterRing,
    PeerRing,
    PublicKey,
    SecretKey,
    new_secret,
    write_key_file,
)

ALICE, BOB, CAROL = (SecretKey(bytes([number] * 32)) for number in (1, 2, 3))


def key_file(folder: Path, secret: SecretKey) -> Path:
    """A file with a key."""
    file = folder / "node.key"
    write_key_file(file, secret.text())
    return file


def gathered(**keywords: object) -> Settings:
    """Settings of a node called alice."""
    return gather_settings({"name": "alice", **keywords}, environment={})


def test_code_files_and_lists_say_the_same(tmp_path: Path) -> None:
    bob, own = BOB.public, key_file(tmp_path, ALICE)
    toml = tmp_path / "node.toml"
    toml.write_text(
        f'[node]\nname = "alice"\nkey = "{own}"\n'
        f'[node.peers]\nbob = {{ address = "127.0.0.1:9", keys = ["{bob}"] }}\n'
    )
    from_code = gathered(key=own, peers={"bob": Peer("127.0.0.1:9", keys=[str(bob)])})
    from_file = gather_settings({}, config=toml, environment={})
    from_lists = gathered(key=str(own), peers=["bob=127.0.0.1:9"], peer_keys=[f"bob={bob}"])
    assert from_code == from_file
    for settings in (from_code, from_file, from_lists):
        ring = make_key_ring(settings)
        assert isinstance(ring, PeerRing)
        assert ring.secret == ALICE
        assert ring.keys_of("bob") == (bob.raw,)
        assert ring.keys_of("carol") == ()


def test_several_keys_of_one_peer_are_kept_in_order() -> None:
    settings = gathered(
        key=ALICE,
        peers={"bob": Peer(None, keys=str(BOB.public))},
        peer_keys=[f"bob={CAROL.public}", f"bob={BOB.public}"],
    )
    assert settings.keys_of("bob") == (BOB.public, CAROL.public)


def test_first_use_is_said_in_place_of_a_key() -> None:
    settings = gathered(key=ALICE, peers=["bob"], peer_keys=["bob=first-use"])
    assert [str(key) for key in settings.keys_of("bob")] == ["first-use"]
    for said in (settings, gathered(key=ALICE, peers={"bob": Peer(keys="first-use")})):
        ring = make_key_ring(said)
        assert isinstance(ring, PeerRing)
        assert ring.keys_of("bob") == ()
        assert ring.is_key_of("bob", BOB.public.raw)
        assert not ring.is_key_of("carol", BOB.public.raw)


def test_a_cluster_key_is_any_secret_key(tmp_path: Path) -> None:
    ring = make_key_ring(gathered(cluster_key=key_file(tmp_path, CAROL), peers=["bob"]))
    assert isinstance(ring, ClusterRing)
    assert ring.keys_of("bob") != ring.keys_of("carol")
    assert ring.keys_of("alice") == ()


WRONG: list[tuple[dict[str, object], str]] = [
    ({"key": ALICE, "peers": ["bob"]}, "there is no key of bob: .*--peer-key bob=ante_pub_"),
    ({"peers": {"bob": Peer(None, [BOB.public])}}, "a key of bob, but none of this node's own"),
    ({"key": ALICE, "peers": [], "peer_keys": [f"bob={BOB.public}"]}, "'bob' is not one of"),
    ({"key": ALICE, "cluster_key": BOB}, "key and cluster_key exclude each other"),
    ({"key": ALICE, "insecure": True}, "key and insecure exclude each other"),
    ({"key": ALICE, "accept_unknown": True}, "everybody is known by theirs"),
    ({"key": ALICE, "peers": ["bob"], "peer_keys": ["bob"]}, "no key follows 'bob'"),
    ({"key": ALICE, "peers": {"bob": {"keyz": 1}}}, r"not \['keyz'\]"),
    ({"key": ALICE.text()}, "others may have seen it; name its file"),
]


@pytest.mark.parametrize(("keywords", "complaint"), WRONG)
def test_keys_that_do_not_go_together_are_explained(
    keywords: dict[str, object], complaint: str
) -> None:
    with pytest.raises(BadConfiguration, match=complaint):
        gathered(**keywords)


def test_a_pasted_secret_is_recognised_and_not_repeated() -> None:
    with pytest.raises(BadConfiguration, match="SECRET key where a public one") as caught:
        gathered(key=ALICE, peers=["bob"], peer_keys=[f"bob={BOB.text()}"])
    assert BOB.text() not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"bob": ALICE.public}, "is this node's own"),
        ({"bob": BOB.public, "carol": BOB.public}, "carol and bob have the same key"),
    ],
)
def test_no_two_nodes_have_the_same_key(keys: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadConfiguration, match=complaint):
        make_key_ring(gathered(key=ALICE, peers=list(keys), peer_keys=keys))


def test_secrets_do_not_show() -> None:
    secret = new_secret()
    assert secret.text()[9:30] not in repr(gathered(key=secret))
    assert str(secret.raw) not in repr(gathered(key=secret))


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(LocalError, match=r"pip install '\.\[secure\]'"):
        make_handshake_crypto(gathered(key=ALICE))


@pytest.mark.parametrize("bind", ["0.0.0.0:0", "[::]:0"])
def test_listening_beyond_this_machine_needs_a_key(bind: str) -> None:
    async def opened() -> None:
        async with antecede.open_node("alice", bind=bind, linger=0):
            pass

    with pytest.raises(KeyNeeded, match="beyond this machine a node needs a key"):
        asyncio.run(opened())


def test_sending_beyond_this_machine_needs_a_key() -> None:
    async def opened() -> None:
        async with antecede.open_node("alice", linger=0) as node:
            with pytest.raises(KeyNeeded, match=r"a peer is at 192\.0\.2\.7:9000, and beyond"):
                node.add_peer("bob", "192.0.2.7:9000")
            assert node.peers == {}

    asyncio.run(opened())


def test_without_a_key_it_warns_if_that_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    async def opened(**settings: bool) -> None:
        async with antecede.open_node("alice", bind="0.0.0.0:0", settings=settings, linger=0):
            pass

    with caplog.at_level(logging.WARNING):
        asyncio.run(opened(insecure=True))
    assert "alice has no key and listens at 0.0.0.0" in caplog.text


def test_with_a_key_no_loopback_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    async def opened() -> None:
        async with antecede.open_node("alice", bind="0.0.0.0:0", key=ALICE, linger=0):
            pass

    with caplog.at_level(logging.WARNING):
        asyncio.run(opened())
    assert caplog.text == ""


def test_peers_and_keys_are_reloaded_without_a_restart() -> None:
    """Bob changes his key, carol comes and goes; alice's session with dave, who stays, goes on."""

    async def reloaded() -> None:
        dave_key = SecretKey(bytes([4] * 32))
        known = {"bob": Peer(keys=[CAROL.public]), "dave": Peer(keys=[dave_key.public])}
        async with antecede.open_node("alice", key=ALICE, peers=known) as alice:
            of_alice = {"alice": Peer(alice.address, [ALICE.public])}
            async with (
                antecede.open_node("bob", key=BOB, peers=of_alice, linger=0, meet_within=60) as bob,
                antecede.open_node("dave", key=dave_key, peers=of_alice) as dave,
            ):
                await dave.send("alice", b"one")
                assert (await alice.receive(timeout=30)).payload == b"one"
                waiting = asyncio.create_task(bob.send("alice", b"two"))
                after = {**known, "bob": Peer(keys=[CAROL.public, BOB.public]), "eve": Peer()}
                with pytest.raises(BadConfiguration, match="there is no key of eve"):
                    alice.reload(gathered(key=ALICE, peers=after))
                del after["eve"]
                alice.reload(gathered(key=ALICE, peers=after))
                assert (await alice.receive(timeout=30)).payload == b"two"
                await waiting
                await dave.send("alice", b"three")
                assert (await alice.receive(timeout=30)).payload == b"three"
                alice.reload(gathered(key=ALICE, peers={"dave": known["dave"]}))
                assert alice.peers == {"dave": "here"}
                bob.abandon()

    asyncio.run(reloaded())


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        ({"name": "alicia"}, "alice cannot become alicia"),
        ({"cluster_key": ALICE}, "'cluster_key' cannot come or go"),
        ({"peers": ["bob=127.0.0.1:10"]}, "bob cannot get another address"),
        ({"peers": ["bob=127.0.0.1:9", "eve=127.0.0.1:0"]}, "nobody can be reached at port 0"),
    ],
)
def test_what_cannot_be_reloaded_changes_nothing(after: dict[str, object], complaint: str) -> None:
    async def reloaded() -> None:
        async with antecede.open_node("alice", peers=["bob=127.0.0.1:9"], linger=0) as alice:
            with pytest.raises(BadConfiguration, match=complaint):
                alice.reload(gathered(**after))
            assert alice.peers == {"bob": "new"}

    asyncio.run(reloaded())


def test_real_nodes_with_keys_talk_and_take_new_peers() -> None:
    async def talk() -> list[bytes]:
        async with (
            antecede.open_node("alice", key=ALICE, peers={"bob": Peer(keys=[BOB.public])}) as alice,
            antecede.open_node("bob", key=BOB) as bob,
        ):
            with pytest.raises(BadConfiguration, match="there is no key of alice"):
                bob.add_peer("alice", alice.address)
            bob.add_peer("alice", alice.address, keys=[ALICE.public])
            await bob.send("alice", b"hello" * 100_000)
            got = [(await alice.receive(timeout=30)).payload[:5]]
            await alice.send("bob", b"hi")
            return [*got, (await bob.receive(timeout=30)).payload]

    assert asyncio.run(talk()) == [b"hello", b"hi"]


def test_a_peer_that_cannot_be_added_again_keeps_its_keys() -> None:
    async def talk() -> bytes:
        async with (
            antecede.open_node("alice", key=ALICE, peers={"bob": Peer(keys=[BOB.public])}) as alice,
            antecede.open_node("bob", key=BOB) as bob,
        ):
            bob.add_peer("alice", alice.address, keys=[ALICE.public])
            with pytest.raises(LocalError, match="alice is a peer already"):
                bob.add_peer("alice", alice.address, keys=[CAROL.public])
            await bob.send("alice", b"hello")
            return (await alice.receive(timeout=60)).payload

    assert asyncio.run(talk()) == b"hello"


def test_keys_that_are_refused_change_nothing() -> None:
    first = PublicKey(b"")
    ring = PeerRing(ALICE, {"bob": [first]})
    with pytest.raises(LocalError, match="this node's own"):
        ring.set_keys("bob", [ALICE.public])
    assert ring.known_keys("bob") == (first,)
