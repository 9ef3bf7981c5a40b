"""Values instead of bytes, between real nodes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

import antecede
from antecede.core.errors import LocalError
from antecede.runtime.errors import BadConfiguration, BadPayload
from antecede.runtime.node import Node
from antecede.runtime.typed_node import Codec, JsonCodec, MsgspecCodec, TypedMessage, TypedNode


@dataclass
class Order:
    item: str
    count: int


def with_two_nodes(scenario: Callable[[Node, Node], Awaitable[None]]) -> None:
    """Run `scenario` with alice and bob."""

    async def play() -> None:
        async with (
            antecede.open_node("alice", accept_unknown=True) as alice,
            antecede.open_node("bob", peers={"alice": alice.address}) as bob,
        ):
            await scenario(alice, bob)

    asyncio.run(play())


def test_json_values_arrive_as_they_were_sent() -> None:
    value = {"Größe": [1, 2.5, None, True], "to": "alice"}

    async def scenario(alice: Node, bob: Node) -> None:
        sender, receiver = TypedNode(bob, JsonCodec()), TypedNode(alice, JsonCodec())
        sequence = await sender.send("alice", value)
        sender.try_send(["alice"], 7)
        assert await receiver.receive(30) == TypedMessage(
            sender="bob", sequence=sequence, value=value
        )
        assert (await anext(receiver)).value == 7

    with_two_nodes(scenario)


@pytest.mark.parametrize("as_json", [False, True])
def test_msgspec_values_arrive_with_their_type(as_json: bool) -> None:
    pytest.importorskip("msgspec", reason="this codec needs msgspec")

    async def scenario(alice: Node, bob: Node) -> None:
        codec = MsgspecCodec(Order, as_json=as_json)
        await TypedNode(bob, codec).send("alice", Order("tea", 2))
        await bob.send("alice", JsonCodec().encode({"item": "tea", "count": "many"}))
        receiver = TypedNode(alice, codec)
        assert (await receiver.receive(30)).value == Order("tea", 2)
        with pytest.raises(BadPayload):
            await receiver.receive(30)

    with_two_nodes(scenario)


def test_without_msgspec_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.setitem(sys.modules, "msgspec.msgpack", None)

    with pytest.raises(BadConfiguration, match="pip install msgspec"):
        MsgspecCodec(Order)


def test_a_value_that_cannot_be_encoded_is_not_sent() -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        typed = TypedNode(bob, JsonCodec())
        for value in ({1, 2}, float("nan")):
            with pytest.raises(LocalError, match="cannot be encoded"):
                await typed.send("alice", value)
            with pytest.raises(LocalError, match="cannot be encoded"):
                typed.try_send("alice", value)
        await typed.send("alice", "fine")
        message = await alice.receive(30)
        assert (message.sequence, message.payload) == (1, b'"fine"')

    with_two_nodes(scenario)


def test_receiving_goes_on_after_a_payload_that_cannot_be_decoded() -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        await bob.send("alice", b"{")
        await bob.send("alice", b"[1]")
        typed = TypedNode(alice, JsonCodec())
        with pytest.raises(BadPayload, match=r"message 1 of 'bob' cannot be decoded: Expecting"):
            await typed.receive(30)
        assert (await typed.receive(30)).value == [1]

    with_two_nodes(scenario)


def test_a_handler_gets_values_and_is_spared_what_cannot_be_decoded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(alice: Node, bob: Node) -> None:
        got: list[object] = []
        done = asyncio.Event()

        async def handle(message: TypedMessage[object]) -> None:
            got.append(message.value)
            if message.value == "end":
                done.set()

        codec: Codec[object] = JsonCodec()
        TypedNode(alice, codec).on_message(handle)
        for payload in (b"1", b"{", b'"end"'):
            await bob.send("alice", payload)
        await asyncio.wait_for(done.wait(), 30)
        assert got == [1, "end"]

    with_two_nodes(scenario)
    assert "message 2 of 'bob' cannot be decoded" in caplog.text
