"""What `import antecede` offers: every name can be found, and says what type it is.

mypy reads this file too: where a line below is marked as a type error and is none, it complains
about the mark. So a typing error in a program is one in its author's editor.
"""

import importlib
import pkgutil
import subprocess
import sys
from typing import assert_type, get_args

import antecede
from antecede import blocking, errors, events
from antecede import events as reports
from antecede.core.errors import AntecedeError
from antecede.runtime.config.options import Options
from antecede.runtime.config.settings import SETTING_NAMES
from antecede.testing import TestNetwork

PARAMETERS = ("name", "bind", "peers", "trace")
"""Settings that are parameters of their own."""

INTERNAL = {"BadLine", "ChildFailed", "FieldError", "LoopEnded", "OutputFailed", "UnknownProtocol"}
"""Errors that no program of a user meets, as commands answer for them, and a base of others."""

LIBRARY = (
    *("core", "durability", "endpoint", "integrations", "membership"),
    *("network_model", "runtime", "transport", "wire"),
)


def test_every_public_name_is_there_and_shown() -> None:
    assert dir(antecede) == sorted(antecede.__all__)
    for name in antecede.__all__:
        assert getattr(antecede, name) is not None


def test_modules_need_no_import_of_their_own() -> None:
    script = "import antecede; antecede.errors.TimedOut, antecede.events.PeerMet, antecede.blocking"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_simulation_does_not_load_the_network() -> None:
    script = "import sys, antecede, antecede_lab.simulator.run; assert 'asyncio' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_error_of_the_library_is_in_the_module_of_errors() -> None:
    for package in LIBRARY:
        module = importlib.import_module(f"antecede.{package}")
        for found in pkgutil.walk_packages(module.__path__, f"antecede.{package}."):
            importlib.import_module(found.name)
    defined = {
        kind.__name__
        for kind in subclasses(AntecedeError)
        if kind.__module__.startswith(tuple(f"antecede.{package}." for package in LIBRARY))
    }
    assert defined - INTERNAL <= set(errors.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), AntecedeError)


def subclasses(kind: type[AntecedeError]) -> set[type[AntecedeError]]:
    found = {kind}
    for child in kind.__subclasses__():
        found |= subclasses(child)
    return found


def test_every_event_is_in_the_module_of_events() -> None:
    offered = {getattr(events, name) for name in events.__all__ if name != "Event"}
    assert set(get_args(reports.Report)) == offered
    assert {kind.__name__ for kind in offered} <= set(events.__all__)


def test_every_setting_is_a_keyword_with_a_type() -> None:
    assert set(Options.__annotations__) == set(SETTING_NAMES) - set(PARAMETERS)


async def typing_errors_are_type_errors() -> None:
    """Never called."""
    antecede.open_node("alice", heartbeet="2s")  # type: ignore[call-arg]
    antecede.open_node("alice", heartbeat=b"2s")  # type: ignore[arg-type]
    antecede.open_node("alice", order="hybird")  # type: ignore[arg-type]
    antecede.open_node("alice", accept_unknown="everybody")  # type: ignore[arg-type]
    antecede.open_node("alice", bind=9000)  # type: ignore[arg-type]
    antecede.open_node("alice", peers={"bob": 9000})  # type: ignore[dict-item]
    blocking.open_node("alice", heartbeet="2s")  # type: ignore[call-arg]
    TestNetwork().open_node("alice", heartbeet="2s")  # type: ignore[call-arg]
    antecede.Settings(name="alice", heartbeet=2.0)  # type: ignore[call-arg]
    antecede.Settings(name="alice", heartbeat=b"2s")  # type: ignore[arg-type]


async def what_is_right_is_none() -> None:
    """Never called either."""
    bob = antecede.Address("10.0.0.2", 9000)
    settings = antecede.Settings(name="alice", heartbeat="2s", bind="0.0.0.0:9000")
    assert_type(settings.heartbeat, float)
    assert_type(settings.bind, antecede.Address)
    async with antecede.open_node(
        "alice", bind="0.0.0.0:9000", peers={"bob": bob, "carol": None}, config=settings, mtu=1400
    ) as node:
        assert_type(node, antecede.Node)
        assert_type(node.address, antecede.Address)
        async for message in node:
            assert_type(message, antecede.Message)
    antecede.open_node("alice", peers=["bob=10.0.0.2:9000", "carol"], heartbeat="2s", gso=True)
    assert_type(blocking.open_node("alice").address, antecede.Address)
