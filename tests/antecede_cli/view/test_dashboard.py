"""`antecede dashboard` in a real Chromium, on real nodes: who is killed turns red, who waits."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")

from playwright.async_api import Browser, Page, async_playwright

import antecede
from antecede.core.errors import LocalError
from antecede.runtime.config.addresses import Address
from antecede.runtime.observe.http_listener import HttpServer
from antecede_audit.report.page import document
from antecede_cli.messaging.dashboard import read_bind
from antecede_cli.view.collector import Collector
from antecede_cli.view.dashboard import Dashboard, LiveViews, names_this_machine, token_for
from antecede_cli.view.page import asset, live_page
from tests.antecede_audit.report.chromium import EXECUTABLE
from tests.antecede_cli.view.clusters import (
    SECONDS,
    answering,
    close,
    http_of,
    listing,
    open_nodes,
    run,
)
from tests.antecede_cli.view.test_collector import HOSTILE

MS = SECONDS * 1000
ANN = {"name": "ann", "incarnation": 1, "status": "ok"}


@asynccontextmanager
async def serving(*places: Address, token: str = "") -> AsyncIterator[str]:
    """A dashboard that asks these; where it is."""
    collector = Collector(listing(*places))
    dashboard = Dashboard(LiveViews(collector), live_page(), token)
    async with HttpServer(dashboard.answer) as server:
        await server.start("127.0.0.1", 0)
        task = asyncio.create_task(collector.run())
        yield f"http://{server.address}/"
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a window; the test is skipped where there is none."""
    if EXECUTABLE is None:
        pytest.skip("there is no Chromium on this machine")
    async with async_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = await playwright.chromium.launch(executable_path=EXECUTABLE, args=options)
        yield browser
        await browser.close()


class Seen:
    """A page in a browser, and all that it complains about or asks elsewhere."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: set[str] = set()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("request", lambda request: self.requests.add(request.url.partition("?")[0]))
        page.set_default_timeout(MS)
        self._url = url

    async def open(self, path: str = "") -> "Seen":
        await self.page.goto(self._url + path)
        return self

    async def text(self, selector: str) -> str:
        return await self.page.locator(selector).first.inner_text()

    async def until(self, expression: str) -> None:
        """Wait until this holds on the page."""
        await self.page.wait_for_function(f"() => {expression}")


def row(name: str, status: str) -> str:
    """That a node stands in the table with this status."""
    return f"document.querySelector('tr.{status}[data-key=\"{name}\"]')"


def test_what_is_killed_turns_red_and_who_waits_is_seen_until_it_is_expelled_and_back() -> None:
    async def story() -> None:
        nodes = await open_nodes("a", "b", "c", "d", expel="manual")
        at_c, bind = str(http_of(nodes["c"])), nodes["c"].address
        async with chromium() as browser, serving(http_of(nodes["a"])) as url:
            seen = await Seen(await browser.new_page(), url).open()
            for name in "abcd":
                await seen.until(row(name, "ok"))
            await seen.until("document.querySelector('.graph .calm')")

            nodes["c"].abandon()
            await nodes["a"].send(["b", "c"], b"x")
            await nodes["b"].receive(SECONDS)
            await nodes["b"].send("d", b"y")
            await seen.until(row("c", "unreachable"))
            await seen.until("document.querySelector('.graph .wait.stuck[data-key=\"a>c\"]')")
            await seen.until("document.querySelector('.graph .wait[data-key=\"b>a\"]')")
            await seen.until(row("b", "blocked"))
            colour = await seen.page.evaluate(
                "getComputedStyle(document.querySelector('.graph .unreachable circle')).fill"
            )
            red, green, _ = map(int, re.findall(r"\d+", colour)[:3])
            assert red > 2 * green
            assert re.search(r"a waits for c\s+silent for \d+ s", await seen.text(".waits"))
            assert re.match(r"\([23]\) ", await seen.page.title()), "c, b, and soon a"

            await seen.page.click('tr[data-key="b"] a')
            await seen.until("document.querySelector('#node .pill.blocked')")
            assert "b waits for a, who waits for c, silent for" in await seen.text("#node .reasons")
            assert await seen.text('#seen li[data-key="d"]') == "d here"
            await seen.page.click("#back")

            await nodes["a"].expel("c", "it was killed")
            await seen.until("document.querySelector('.graph .calm')")
            await seen.until(row("b", "ok"))
            assert "c was expelled by a: it was killed" in await seen.text(".lately")
            assert await seen.page.locator(row_selector("c", "unreachable")).count() == 1

            peers = {"a": nodes["a"].address, "b": nodes["b"].address, "d": nodes["d"].address}
            nodes["c"] = await antecede.open_node(
                "c", bind=bind, peers=peers, http=at_c, expel="manual"
            )
            await seen.until(row("c", "ok"))
            assert seen.complaints == []
            assert seen.requests == {url, f"{url}cluster.json"}
        await close(*nodes.values())

    run(story())


def row_selector(name: str, status: str) -> str:
    return f'tr.{status}[data-key="{name}"]'


def test_everything_can_be_done_by_keys() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob", "cat")
        async with chromium() as browser, serving(http_of(nodes["ann"])) as url:
            seen = await Seen(await browser.new_page(), url).open()
            await seen.until(row("cat", "ok"))
            keys = seen.page.keyboard
            await keys.press("/")
            await seen.until("document.activeElement.id === 'filter'")
            await keys.type("c")
            await seen.until(f"!{row('ann', 'ok')}")
            await asyncio.sleep(2.2)
            assert await seen.page.input_value("#filter") == "c", "a refresh takes nothing away"
            assert await seen.page.evaluate("document.activeElement.id") == "filter"
            await keys.press("Backspace")
            await keys.press("Escape")
            await seen.until(row("ann", "ok"))
            await keys.press("j")
            await keys.press("j")
            await asyncio.sleep(2.2)
            assert await seen.page.evaluate("document.activeElement.textContent") == "bob"
            await keys.press("Enter")
            await seen.until("document.querySelector('#node h2')?.textContent === 'bob'")
            await keys.press("Escape")
            await seen.until(row("ann", "ok"))
            await seen.page.focus("[data-sort=status]")
            await keys.press("Enter")
            await seen.until("document.querySelector('[aria-sort=ascending] [data-sort=status]')")
        await close(*nodes.values())

    run(story())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(scheme: str) -> None:
    async def story() -> None:
        nodes = await open_nodes("a-node-with-rather-a-long-name-in-the-north", "b")
        first = next(iter(nodes))
        async with chromium() as browser, serving(http_of(nodes["b"])) as url:
            context = await browser.new_context(
                viewport={"width": 390, "height": 800},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            seen = await Seen(await context.new_page(), url).open()
            await seen.until(row("b", "ok"))
            wide = "document.documentElement.scrollWidth <= window.innerWidth"
            assert await seen.page.evaluate(wide)
            dark = await seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", dark))) < 150) == (scheme == "dark")
            await seen.open(f"#/node/{first}")
            await seen.until("document.querySelector('#peers')")
            assert await seen.page.evaluate(wide)
        await close(*nodes.values())

    run(story())


def test_hostile_names_are_text_and_nothing_else() -> None:
    peer = {"name": "bob", "state": "here", "refusal": "<img src=x onerror=alert(2)>"}
    hostile = {**HOSTILE, "peers": [peer], "status": "blocked"}
    markup = {
        "name": '"><img src=x onerror=alert(1)>',
        "incarnation": 1,
        "status": "ok",
        "waits": [{"waiting": "a/../#?", "names": ["<svg onload=alert(3)>"], "messages": 1}],
        "rooms": [{"name": "__proto__", "members": ["constructor", "%"]}],
    }

    async def story() -> None:
        async with (
            answering(hostile) as (one, _),
            answering(markup) as (two, _),
            chromium() as browser,
            serving(one, two) as url,
        ):
            seen = await Seen(await browser.new_page(), url).open()
            await seen.until("document.querySelectorAll('tbody tr').length >= 3")
            for _ in range(2):
                for link in await seen.page.locator("#board th a").all():
                    target = await link.get_attribute("href")
                    await seen.page.evaluate(f"window.location.hash = {json.dumps(target)}")
                    await seen.until("document.querySelector('#board h2')")
                    await seen.page.keyboard.press("Escape")
                    await seen.until("document.querySelector('.graph')")
            await seen.open("#/room/__proto__")
            await seen.until("document.querySelector('#members tr')")
            await seen.open("#/node/%E0%A4%A")
            await seen.until("document.querySelector('.graph')")
            assert await seen.page.locator("img, #board script").count() == 0
            assert seen.complaints == []
            assert seen.requests == {url, f"{url}cluster.json"}

    run(story())


def test_rooms_have_pages_of_their_own() -> None:
    async def story() -> None:
        nodes = await open_nodes("ann", "bob")
        await nodes["ann"].join("lobby")
        await nodes["bob"].join("lobby", via="ann")
        async with chromium() as browser, serving(http_of(nodes["ann"])) as url:
            seen = await Seen(await browser.new_page(), url).open()
            await seen.page.click('#rooms a[href="#/room/lobby"]')
            await seen.until("document.querySelector('#members tr[data-key=bob]')")
            await seen.until("document.querySelector('#room').innerText.includes('ann, bob')")
            await seen.page.click("summary")
            assert "joined" in await seen.text("details[open]")
            await asyncio.sleep(2.2)
            assert await seen.page.locator("details[open]").count() == 1
            await seen.page.click('#members tr[data-key="ann"] a')
            await seen.until("document.querySelector('#node h2')?.textContent === 'ann'")
            await seen.until("document.querySelector('#rooms a')?.textContent === 'lobby'")
            assert seen.complaints == []
        await close(*nodes.values())

    run(story())


def test_who_takes_the_name_of_another_hides_nobody() -> None:
    async def story() -> None:
        blocked = {**ANN, "incarnation": 2, "status": "blocked"}
        async with (
            answering(ANN) as (one, _),
            answering(blocked) as (two, _),
            chromium() as browser,
            serving(one, two) as url,
        ):
            seen = await Seen(await browser.new_page(), url).open()
            await seen.until("document.querySelectorAll('tr.failing').length === 2")
            rounds = int(await seen.page.evaluate("document.body.dataset.rounds"))
            await seen.until(f"Number(document.body.dataset.rounds) > {rounds + 2}")
            assert await seen.page.locator("tr.failing").count() == 2
            assert await seen.page.locator(".graph .dot").count() == 2

    run(story())


def test_a_dashboard_that_ends_is_not_taken_for_a_cluster_that_is_well() -> None:
    async def story() -> None:
        async with answering(ANN) as (place, _), chromium() as browser:
            async with serving(place) as url:
                seen = await Seen(await browser.new_page(), url).open()
                await seen.until(row("ann", "ok"))
            await seen.until("document.querySelector('main.stale')")
            assert "does not answer: what is below is old" in await seen.text("#line")

    run(story())


def test_beyond_loopback_nobody_looks_without_the_token() -> None:
    async def story() -> None:
        async with (
            answering(ANN) as (place, _),
            chromium() as browser,
            serving(place, token="s3cret&") as url,
        ):
            seen = await Seen(await browser.new_page(), url).open()
            await seen.until("!document.getElementById('login').hidden")
            assert "The token is missing or wrong." in await seen.text("#line")
            await seen.page.fill("#token", "wrong")
            await seen.page.keyboard.press("Enter")
            await seen.page.fill("#token", "s3cret&")
            await seen.page.keyboard.press("Enter")
            await seen.until(row("ann", "ok"))

            other = await Seen(await browser.new_page(), url).open("#token=s3cret%26")
            await other.until(row("ann", "ok"))
            assert "token" not in other.page.url, "who looks over a shoulder sees none"

    run(story())


def answer_to(url: str, **headers: str) -> int:
    """The status of the answer."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_only_those_who_may_look_get_an_answer() -> None:
    async def story() -> None:
        async with serving(Address("127.0.0.1", 1)) as url:
            paths = ("", "cluster.json", "other")
            got = [await asyncio.to_thread(answer_to, url + path) for path in paths]
            assert got == [200, 200, 404]
            rebound = await asyncio.to_thread(answer_to, url + "cluster.json", Host="evil.example")
            assert rebound == 421
        async with serving(Address("127.0.0.1", 1), token="abc") as url:
            for header, status in (("", 401), ("Bearer ab", 401), ("Bearer abc", 200)):
                found = await asyncio.to_thread(
                    answer_to, url + "cluster.json", Authorization=header
                )
                assert found == status

    run(story())


@pytest.mark.parametrize("host", ["localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]:80", "[::1]"])
def test_this_machine_has_several_names(host: str) -> None:
    assert names_this_machine(host)


@pytest.mark.parametrize("host", ["", "example.com", "localhost.example:80", "10.0.0.1:80", "::"])
def test_others_have_other_names(host: str) -> None:
    assert not names_this_machine(host)


def test_there_is_always_a_token_beyond_loopback() -> None:
    assert token_for(Address("127.0.0.1", 80), "") == ""
    assert token_for(Address("127.0.0.1", 80), "mine") == "mine"
    assert len(token_for(Address("0.0.0.0", 80), "")) >= 32
    assert token_for(Address("example.com", 80), "") != token_for(Address("example.com", 80), "")
    with pytest.raises(LocalError, match="--bind: 'x' has no port; write HOST:PORT"):
        read_bind("x")


DECLARED = re.compile(r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+)", re.MULTILINE)


def declared(texts: Iterator[str]) -> list[str]:
    """The names at the top of these scripts."""
    return [name for text in texts for name in DECLARED.findall(text)]


def test_scripts_that_stand_on_one_page_use_different_names() -> None:
    names = declared(document.asset(name) for name in document.SCRIPTS)
    names += declared(asset(name) for name in ("dashboard.js", "replay.js"))
    assert sorted(set(names)) == sorted(names)
