"""Every protocol of the catalogue through every interleaving of small programs."""

import pytest

from antecede.core.catalogue import ProtocolInfo
from antecede.core.errors import LocalError
from antecede_lab.catalogue import PROTOCOLS
from antecede_lab.checker.check import check
from antecede_lab.checker.programs import PROGRAMS, objection, parse
from tests.antecede_lab.checker.careless import Acknowledging, Eager, info_of

SMALL = [
    "triangle",
    "triangle-back",
    "relay",
    "fan",
    "stream",
    "ping-pong",
    "two-senders",
    "answer-first",
    "self-send",
    "multicast-triangle",
    "multicast-self",
    "multicast-chain",
]
"""The programs with at most some thousand states, whatever the protocol and with one fault."""

MANY_STATES = {("hybrid-facts", "multicast-chain")}
"""Half a minute each: the campaign runs them."""

RUNNABLE = [
    pytest.param(protocol, program, id=f"{protocol}-{program}")
    for protocol, info in PROTOCOLS.items()
    for program in SMALL
    if not objection(info, PROGRAMS[program]) and (protocol, program) not in MANY_STATES
]


def searched(protocol: str) -> ProtocolInfo:
    """The protocol; where it gossips, without: what was heard when would multiply the states."""
    info = PROTOCOLS[protocol]
    if protocol != "hybrid-facts":
        return info
    return ProtocolInfo(
        info.name,
        info.create,
        ordering=info.ordering,
        multicast=info.multicast,
        network=info.network,
        paper=info.paper,
        options={"watermarks": 0},
    )


@pytest.mark.parametrize(("protocol", "program"), RUNNABLE)
def test_nothing_is_wrong_when_any_one_packet_is_lost(protocol: str, program: str) -> None:
    result = check(searched(protocol), PROGRAMS[program], losses=1, states_max=50_000)
    assert result.failure is None
    assert result.complete


@pytest.mark.parametrize(("protocol", "program"), RUNNABLE)
def test_nothing_is_wrong_when_any_one_packet_is_duplicated(protocol: str, program: str) -> None:
    result = check(searched(protocol), PROGRAMS[program], duplications=1, states_max=50_000)
    assert result.failure is None
    assert result.complete


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_is_wrong_when_timers_fire_too_early(protocol: str) -> None:
    """A timer between any two steps, and a loss: most copies of most packets are superfluous."""
    info = searched(protocol)
    program = PROGRAMS["multicast-chain" if info.broadcast_only else "triangle"]
    if protocol == "psync":  # Requests and their answers make ten times as many states.
        program = parse("0 sends a to 1+2; 1 sends b to 0+2 after a")
    result = check(info, program, losses=1, expiries=1, states_max=50_000)
    assert result.failure is None
    assert result.complete


def test_every_protocol_has_programs_to_run() -> None:
    assert {parameters.values[0] for parameters in RUNNABLE} == set(PROTOCOLS)


def test_a_search_that_reaches_its_limit_says_so() -> None:
    result = check(PROTOCOLS["hybrid"], PROGRAMS["triangle"], states_max=30)
    assert (result.states, result.complete, result.failure) == (30, False, None)


def test_a_search_reports_progress() -> None:
    reports: list[int] = []
    info = PROTOCOLS["hybrid"]
    result = check(info, PROGRAMS["broadcast-race"], progress=reports.append, states_max=9_000)
    assert result.states == 9_000
    assert reports == [4096, 8192]


def test_the_same_search_finds_the_same_numbers() -> None:
    info = PROTOCOLS["hybrid"]
    first = check(info, PROGRAMS["fan"], losses=1, duplications=1)
    assert repr(check(info, PROGRAMS["fan"], losses=1, duplications=1)) == repr(first)


def test_faults_are_spared_to_protocols_that_need_a_better_network() -> None:
    """Eager would deliver a duplicate twice and never a lost message."""
    for info in (info_of(Eager, network="reliable"), info_of(Eager, network="fifo")):
        assert check(info, PROGRAMS["stream"], losses=1, duplications=1).complete


def test_fifo_channels_keep_the_order_of_each_pair_and_no_other() -> None:
    in_order = info_of(Eager, ordering="fifo", network="fifo")
    assert check(in_order, PROGRAMS["two-senders"]).complete
    any_order = info_of(Eager, ordering="fifo", network="reliable")
    assert check(any_order, PROGRAMS["two-senders"]).failure is not None
    causal = info_of(Eager, ordering="causal", network="fifo")
    assert check(causal, PROGRAMS["triangle"]).failure is not None


def test_what_is_lost_comes_again_when_timers_fire() -> None:
    lossy = info_of(Acknowledging, network="lossy")
    assert check(lossy, PROGRAMS["two-senders"], losses=2, duplications=1).complete


def test_a_program_that_a_protocol_cannot_run_is_refused() -> None:
    with pytest.raises(LocalError, match="mf has no multicast"):
        check(PROTOCOLS["mf"], PROGRAMS["multicast-triangle"])
    with pytest.raises(LocalError, match="bss only broadcasts"):
        check(PROTOCOLS["bss"], PROGRAMS["triangle"])


def test_what_a_protocol_says_about_a_submission_reaches_the_caller() -> None:
    info = PROTOCOLS["hybrid"]
    too_long = parse(f"0 sends {'x' * (1 << 21)} to 1")
    with pytest.raises(LocalError, match="the limit is"):
        check(info, too_long)


@pytest.mark.parametrize("limits", [(-1, 0, 0, 1), (0, -1, 0, 1), (0, 0, -1, 1), (0, 0, 0, 0)])
def test_limits_that_make_no_sense_are_refused(limits: tuple[int, int, int, int]) -> None:
    with pytest.raises(LocalError, match="counted from 0"):
        check(PROTOCOLS["hybrid"], PROGRAMS["triangle"], *limits)
