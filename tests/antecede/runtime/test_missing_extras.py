"""What needs a package that is not there says so in one sentence, and what brings it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from antecede import open_node
from antecede.errors import BadConfiguration, MissingExtra
from antecede.installing import BRINGS, EXTRAS, missing_sentence
from antecede.runtime.observe.prometheus import NodeCollector
from antecede.runtime.security.keys import new_secret


async def over_a_broker() -> None:
    await open_node("alice", bind="nats://127.0.0.1:4222")


async def into_a_registry() -> None:
    async with open_node("alice") as alice:
        NodeCollector(alice)


async def with_a_key() -> None:
    await open_node("alice", settings={"cluster_key": new_secret()})


async def with_spans() -> None:
    sys.modules.pop("antecede.integrations.opentelemetry", None)
    import antecede.integrations.opentelemetry  # noqa: F401 - the import is what fails


WAYS = {
    "nats": over_a_broker,
    "prometheus_client": into_a_registry,
    "cryptography": with_a_key,
    "opentelemetry": with_spans,
}


@pytest.mark.parametrize(("package", "attempt"), WAYS.items())
def test_a_package_that_is_missing_is_named_with_what_brings_it(
    package: str, attempt: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "antecede.integrations.opentelemetry", raising=False)

    async def story() -> None:
        await attempt()

    with pytest.raises(MissingExtra) as caught:
        asyncio.run(story())
    assert isinstance(caught.value, BadConfiguration)
    assert isinstance(caught.value, ImportError)
    assert (caught.value.package, caught.value.extra) == (package, EXTRAS[package])
    assert f"pip install '.[{EXTRAS[package]}]'" in str(caught.value)


def test_every_extra_has_a_sentence_of_its_own() -> None:
    sentences = {missing_sentence(package) for package in EXTRAS}
    assert len(sentences) == len(EXTRAS)
    assert all(any(what in str(one) for one in sentences) for what in BRINGS.values())
    assert missing_sentence("somebody_elses") is None
