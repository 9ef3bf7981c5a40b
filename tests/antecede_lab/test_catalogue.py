"""What a `ProtocolInfo` may say, and which names find one."""

import pytest

from antecede.core import LocalError
from antecede.core.catalogue import ProtocolInfo
from antecede.core.hybrid.node import HybridProcess
from antecede_lab.catalogue import PROTOCOLS, find_protocol

MINE = ProtocolInfo(
    "mine", HybridProcess, ordering="causal", multicast=True, network="lossy", paper="none"
)


def test_a_protocol_is_found_by_its_name_or_where_it_lives() -> None:
    assert find_protocol("hybrid") is PROTOCOLS["hybrid"]
    assert find_protocol(f"{__name__}:MINE") is MINE


def test_causal_is_another_name_of_the_default() -> None:
    assert find_protocol("causal") is PROTOCOLS["hybrid"]
    assert "causal" not in PROTOCOLS


@pytest.mark.parametrize("name", ["", "nobody", ":", ":INFO", "module:", ".module:INFO", "..:X"])
def test_a_name_that_is_none_is_answered_with_those_that_are(name: str) -> None:
    with pytest.raises(LocalError, match=r"no protocol is called .*; there are hybrid, "):
        find_protocol(name)


def test_a_name_that_is_nearly_one_is_answered_with_that_one() -> None:
    with pytest.raises(LocalError, match=r"called 'hybird' \(did you mean 'hybrid'\?\); there are"):
        find_protocol("hybird")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:INFO", "No module named 'no_such_module'"),
        (f"{__name__}:YOURS", "has no attribute 'YOURS'"),
        (f"{__name__}:pytest", "is a module, not a ProtocolInfo"),
    ],
)
def test_a_protocol_that_cannot_be_loaded_says_why(name: str, why: str) -> None:
    with pytest.raises(LocalError, match=why):
        find_protocol(name)


def test_a_misspelt_promise_is_refused_for_it_would_never_be_judged() -> None:
    with pytest.raises(
        LocalError, match="ordering must be one of causal, fifo, none, not 'casual'"
    ):
        ProtocolInfo(
            "mine",
            HybridProcess,
            ordering="casual",  # type: ignore[arg-type]  # this is the mistake
            multicast=True,
            network="lossy",
            paper="none",
        )


def test_a_misspelt_need_is_refused() -> None:
    with pytest.raises(LocalError, match="network must be one of lossy, reliable, fifo, not 'udp'"):
        ProtocolInfo(
            "mine",
            HybridProcess,
            ordering="causal",
            multicast=True,
            network="udp",  # type: ignore[arg-type]  # this is the mistake
            paper="none",
        )
