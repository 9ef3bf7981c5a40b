"""An agent's tools: real servers, as processes, and the client of the official package."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the package mcp is missing: it is in the extra mcp")

from mcp import Client, StdioServerParameters

PATIENCE = 60.0


def server(name: str, *options: str) -> StdioServerParameters:
    arguments = ["-m", "antecede", "mcp", "--name", name, *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))


@asynccontextmanager
async def agents(*names: str) -> AsyncIterator[list[Client]]:
    """Agents who accept whoever says hello; each has the first one as its peer."""
    async with AsyncExitStack() as stack:
        clients: list[Client] = []
        first: list[str] = []
        for name in names:
            options = ["--set", "accept_unknown=anybody", *first]
            clients.append(await stack.enter_async_context(Client(server(name, *options))))
            if not first:
                first = ["--peer", f"{name}={(await call(clients[0], 'who'))['address']}"]
        yield clients


async def call(client: Client, tool: str, **arguments: object) -> Any:  # noqa: ANN401 it is JSON
    """What a tool answers."""
    result = await client.call_tool(tool, arguments)
    texts = [getattr(one, "text", "") for one in result.content]
    assert not result.is_error, texts
    if tool == "read":
        return [json.loads(text) for text in texts]
    return json.loads(texts[0]) if texts[0].startswith("{") else texts[0]


async def failure(client: Client, tool: str, **arguments: object) -> str:
    """Why a tool refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(getattr(result.content[0], "text", ""))


async def read_until(client: Client, count: int, **fields: object) -> list[dict[str, object]]:
    """Records that have these fields, until there are so many."""
    found: list[dict[str, object]] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            for record in await call(client, "read", seconds=5):
                if all(record.get(key) == value for key, value in fields.items()):
                    found.append(record)
    return found


def run(story: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE))


def test_agents_meet_in_a_room_and_a_late_one_gets_what_was_said() -> None:
    async def story() -> None:
        async with agents("ada", "bob", "cy") as (ada, bob, cy):
            await call(ada, "join", room="plan")
            await call(bob, "join", room="plan", via="ada")
            await call(ada, "say", room="plan", text="Shall we ship?")
            (question,) = await read_until(bob, 1, room="plan", text="Shall we ship?")
            assert question["from"] == "ada"
            await call(bob, "say", room="plan", text="Yes")
            await read_until(ada, 1, room="plan", text="Yes")
            joined = await call(cy, "join", room="plan", via="ada")
            assert set(joined["rooms"]["plan"]) == {"ada", "bob", "cy"}
            (before,) = await read_until(cy, 1, event="snapshot")
            assert before["messages"] == [
                {"from": "ada", "text": "Shall we ship?"},
                {"from": "bob", "text": "Yes"},
            ]
            await call(cy, "say", room="plan", text="Then it is decided")
            for one in (ada, bob):
                await read_until(one, 1, room="plan", text="Then it is decided")
            await call(bob, "leave", room="plan")
            await read_until(ada, 1, event="left", room="plan", peer="bob")
            assert set((await call(ada, "who"))["rooms"]["plan"]) == {"ada", "cy"}

    run(story())


def test_an_agent_asks_and_another_answers_or_speaks_to_it_alone() -> None:
    async def story() -> None:
        async with agents("ada", "bob") as (ada, bob):
            await call(bob, "say", to=["ada"], text="psst")
            (word,) = await read_until(ada, 1, text="psst")
            assert word["from"] == "bob"
            asking = asyncio.create_task(call(bob, "ask", name="ada", text="How many?"))
            (question,) = await read_until(ada, 1, text="How many?")
            assert await call(ada, "answer", request=question["request"], text="Three") == (
                "answered"
            )
            assert await asking == {"from": "ada", "text": "Three"}

    run(story())


def test_a_wrong_call_says_what_is_wrong() -> None:
    async def story() -> None:
        async with agents("ada") as (ada,):
            assert "join it first" in await failure(ada, "say", room="plan", text="hello")
            assert "one of the two" in await failure(ada, "say", text="hello")
            assert "'nobody'" in await failure(ada, "say", to=["nobody"], text="hello")
            assert "request 7" in await failure(ada, "answer", request=7, text="hello")
            assert "at least" in await failure(ada, "read", limit=0)
            assert await call(ada, "read") == []

    run(story())


def test_every_tool_says_what_it_is_for() -> None:
    async def story() -> None:
        async with agents("ada") as (ada,):
            tools = (await ada.list_tools()).tools
            assert {tool.name for tool in tools} == {
                "join", "leave", "say", "ask", "answer", "read", "who",
            }  # fmt: skip
            assert all(tool.description for tool in tools)

    run(story())
