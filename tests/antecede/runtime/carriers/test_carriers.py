"""Nodes on other carriers than UDP: the same promises, over connections and through a broker."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from antecede import Node, open_node
from antecede.errors import BadConfiguration, CannotBind, LocalError
from antecede.integrations.nats import NatsCarrier, subject_of
from antecede.runtime.carriers.tcp import TcpCarrier
from antecede.runtime.config.addresses import Address, CarriedAddress, parse_address
from antecede.runtime.errors import KeyNeeded
from antecede.runtime.security.keys import SecretKey, new_secret
from tests.antecede.runtime.carriers.brokers import Broker

SECONDS = 60.0
"""Nothing here takes so long."""


@pytest.fixture(params=["tcp", "nats"])
def bind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where nodes listen."""
    if request.param == "tcp":
        yield "tcp://127.0.0.1:0"
    else:
        with Broker() as broker:
            yield broker.address


async def friends(bind: str, *names: str, key: SecretKey | None = None) -> list[Node]:
    """Nodes that know each other: by address, or on a broker by name alone."""
    keys = {} if key is None else {"cluster_key": key}
    nodes = [await open_node(name, bind=bind, settings=keys) for name in names]
    for node in nodes:
        for peer in nodes:
            if peer is not node:
                node.add_peer(peer.name, peer.address if bind.startswith("tcp") else None)
    return nodes


async def leave(*nodes: Node) -> None:
    await asyncio.gather(*(node.close(timeout=SECONDS) for node in nodes))


def test_an_answer_does_not_overtake_its_question(bind: str) -> None:
    async def story() -> list[bytes]:
        alice, bob, carol = await friends(bind, "alice", "bob", "carol")
        await alice.send("carol", b"question")
        await alice.send("bob", b"hint")
        await bob.receive(SECONDS)
        await bob.send(["carol", "alice"], b"answer")
        read = [(await carol.receive(SECONDS)).payload for _ in range(2)]
        assert (await alice.receive(SECONDS)).payload == b"answer"
        await leave(alice, bob, carol)
        return read

    assert asyncio.run(story()) == [b"question", b"answer"]


def test_large_and_many_messages_come_once_and_in_order(bind: str) -> None:
    payloads = [str(number).encode() * 50 for number in range(2_000)] + [b"x" * 3_000_000, b"end"]

    async def story() -> list[bytes]:
        alice, bob = await friends(bind, "alice", "bob")
        taking = asyncio.create_task(take(bob, len(payloads)))
        for payload in payloads:
            await alice.send("bob", payload)
        received = await taking
        await leave(alice, bob)
        return received

    assert asyncio.run(story()) == payloads


async def take(node: Node, count: int) -> list[bytes]:
    return [(await node.receive(SECONDS)).payload for _ in range(count)]


def test_with_keys_nobody_on_the_way_can_read_anything(bind: str) -> None:
    async def story() -> bytes:
        alice, bob = await friends(bind, "alice", "bob", key=new_secret())
        on_the_way = overheard(alice)
        await alice.send("bob", b"a secret that is long enough to be found")
        assert (await bob.receive(SECONDS)).payload.startswith(b"a secret")
        await leave(alice, bob)
        return b"".join(on_the_way)

    sent = asyncio.run(story())
    assert len(sent) > 100
    assert b"secret" not in sent


def overheard(node: Node) -> list[bytes]:
    """What leaves a node from now on."""
    heard: list[bytes] = []
    transport = node._carrier
    send = transport.send

    def listening(datagrams: list) -> None:  # type: ignore[type-arg]  # whatever a transport takes
        heard.extend(bytes(datagram.data) for datagram in datagrams)
        send(datagrams)

    transport.send = listening  # type: ignore[method-assign]  # an ear, not a mock
    return heard


def test_a_peer_that_comes_later_is_waited_for_and_named_meanwhile() -> None:
    async def story() -> tuple[str, bytes]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            place = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        alice = await open_node("alice", bind="tcp://127.0.0.1:0", peers={"bob": place})
        waiting = asyncio.create_task(alice.send("bob", b"are you there?"))
        while not (said := "; ".join(alice._obstacles(["bob"]))).count("cannot connect"):
            await asyncio.sleep(0.01)
        bob = await open_node("bob", bind=place, peers={"alice": alice.address})
        received = await bob.receive(SECONDS)
        await waiting
        await leave(alice, bob)
        return said, received.payload

    said, received = asyncio.run(story())
    assert "cannot connect to tcp://127.0.0.1:" in said
    assert received == b"are you there?"


def test_connections_that_break_lose_nothing_and_repeat_nothing() -> None:
    async def story() -> list[bytes]:
        alice, bob = await friends("tcp://127.0.0.1:0", "alice", "bob")
        taking = asyncio.create_task(take(bob, 500))
        for number in range(500):
            await alice.send("bob", str(number).encode())
            if number % 100 == 50:
                await asyncio.sleep(0.02)
                break_connections(alice)
        received = await taking
        await leave(alice, bob)
        return received

    assert asyncio.run(story()) == [str(number).encode() for number in range(500)]


def break_connections(node: Node) -> None:
    transport = node._carrier
    assert isinstance(transport, TcpCarrier)
    for road in list(transport._connections.values()):
        road.break_off()


def test_a_peer_without_an_address_is_answered_where_it_called_from() -> None:
    async def story() -> bytes:
        hub = await open_node("hub", bind="tcp://127.0.0.1:0", peers=["phone"])
        phone = await open_node("phone", bind="tcp://127.0.0.1:0", peers={"hub": hub.address})
        await phone.send("hub", b"hello")
        await hub.receive(SECONDS)
        await hub.send("phone", b"hello yourself")
        answer = (await phone.receive(SECONDS)).payload
        await leave(phone, hub)
        return answer

    assert asyncio.run(story()) == b"hello yourself"


def test_a_broker_that_is_killed_and_comes_back_loses_nothing() -> None:
    async def story(broker: Broker) -> list[bytes]:
        alice, bob = await friends(broker.address, "alice", "bob")
        taking = asyncio.create_task(take(bob, 300))
        for number in range(300):
            await alice.send("bob", str(number).encode())
            if number == 100:
                await asyncio.sleep(0.05)
                broker.kill()
            if number == 200:
                async with asyncio.timeout(SECONDS):
                    while "is gone" not in "; ".join(alice._obstacles(["bob"])):
                        await asyncio.sleep(0.01)
                broker.start()
        received = await taking
        await leave(alice, bob)
        return received

    with Broker() as broker:
        received = asyncio.run(story(broker))
    assert received == [str(number).encode() for number in range(300)]


REPLY_NOT_UTF8 = b"PUB antecede.bob \xff\xfe 5\r\nhello\r\n"
HEADERS_NOT_UTF8 = b"HPUB antecede.bob reply 20 22\r\nNATS/1.0\r\n\xff: \xff\r\n\r\n\r\nhi\r\n"
HEADERS_THAT_ARE_NONE = b"HPUB antecede.bob reply 4 6\r\n\xff\xff\xff\xffhi\r\n"


@pytest.mark.parametrize("secret", [None, new_secret()], ids=["open", "keyed"])
@pytest.mark.parametrize("poison", [REPLY_NOT_UTF8, HEADERS_NOT_UTF8, HEADERS_THAT_ARE_NONE])
def test_a_message_that_cannot_be_read_deafens_nobody(
    poison: bytes, secret: SecretKey | None
) -> None:
    async def story(broker: Broker) -> list[bytes]:
        alice, bob = await friends(broker.address, "alice", "bob", key=secret)
        await alice.send("bob", b"before")
        heard = [(await bob.receive(SECONDS)).payload]
        await published(broker, poison)
        await alice.send("bob", b"after")
        heard.append((await bob.receive(SECONDS)).payload)
        await leave(alice, bob)
        return heard

    with Broker() as broker:
        assert asyncio.run(story(broker)) == [b"before", b"after"]


async def published(broker: Broker, command: bytes) -> None:
    """Let a client of no library at all say this to the broker; it has done so."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
    greeting = b'CONNECT {"verbose":false,"headers":true}\r\n'
    writer.write(greeting + command + b"PING\r\n")
    async with asyncio.timeout(SECONDS):
        while b"PONG" not in (line := await reader.readline()):
            assert b"-ERR" not in line
    writer.close()
    await writer.wait_closed()


def test_a_node_that_is_abandoned_leaves_the_broker() -> None:
    async def story(broker: Broker) -> bool:
        node = await open_node("alice", bind=broker.address)
        transport = node._carrier
        assert isinstance(transport, NatsCarrier)
        node.abandon()
        await transport.wait_closed()
        return bool(transport._client.is_closed)

    with Broker() as broker:
        assert asyncio.run(story(broker))


def test_who_is_no_node_is_hung_up_on() -> None:
    async def story() -> bytes:
        alice = await open_node("alice", bind="tcp://127.0.0.1:0")
        reader, writer = await asyncio.open_connection(*alice.address)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        answered = b""
        with suppress(ConnectionResetError):
            answered = await asyncio.wait_for(reader.read(), SECONDS)
        writer.close()
        await alice.close()
        return answered

    assert asyncio.run(story()) == b""


def refusal(**settings: object) -> LocalError:
    async def attempt() -> None:
        node = await open_node("alice", settings=settings)
        await node.close()

    with pytest.raises(LocalError) as caught:
        asyncio.run(attempt())
    return caught.value


def test_a_broker_that_is_not_there_is_named() -> None:
    pytest.importorskip("nats", reason="the Python package nats-py is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"nats://127.0.0.1:{probe.getsockname()[1]}"
    error = refusal(bind=place)
    assert isinstance(error, CannotBind)
    assert place in str(error)


@pytest.mark.parametrize("bind", ["tcp://0.0.0.0:0", "nats://192.0.2.7:4222"])
def test_without_a_key_nothing_leaves_this_machine(bind: str) -> None:
    pytest.importorskip("nats", reason="the Python package nats-py is not installed")
    assert isinstance(refusal(bind=bind), KeyNeeded)


@pytest.mark.parametrize(
    "peer", ["127.0.0.1:9000", "nats://127.0.0.1:4222", "tcp://192.0.2.7:9000", "tcp://localhost:0"]
)
def test_a_peer_on_another_carrier_or_machine_is_refused(peer: str) -> None:
    error = refusal(bind="tcp://127.0.0.1:0", peers={"bob": peer})
    assert isinstance(error, BadConfiguration)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("udp://10.0.0.2:9000", "10.0.0.2:9000"),
        ("tcp://[::1]:9000", "tcp://[::1]:9000"),
        ("nats://broker:4222", "nats://broker:4222/antecede"),
        ("nats://me:word@broker:4222/shop.eu", "nats://broker:4222/shop.eu"),
    ],
)
def test_addresses_are_read_and_shown(text: str, shown: str) -> None:
    address = parse_address(text)
    assert str(address) == shown
    assert parse_address(shown) == address
    assert "word" not in repr(address)


@pytest.mark.parametrize(
    "text", ["http://a:1", "tcp://a:1/x", "tcp://me@a:1", "nats://a:1/b c", "nats://a"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(LocalError):
        parse_address(text)


def test_carriers_are_told_apart() -> None:
    plain, carried = Address("a", 1), CarriedAddress("tcp", "a", 1)
    assert carried != plain
    assert plain != carried
    assert len({plain, carried, CarriedAddress("nats", "a", 1, "x")}) == 3


def test_every_name_has_a_subject_of_its_own() -> None:
    names = ["alice", "a.b", "a*", "a>", "ä", "a%2Eb"]
    subjects = {subject_of("antecede", name) for name in names}
    assert len(subjects) == len(names)
    assert all(subject.count(".") == 1 and not set(subject) & set("*> ") for subject in subjects)
