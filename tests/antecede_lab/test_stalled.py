"""One silent process among many: what is left of the traffic among the others."""

from antecede_lab.catalogue import PROTOCOLS
from bench.stalled import MS, STALL_MS, silence

LOAD = 0.5
STALL = {"stall_ns": STALL_MS * MS}


def test_a_silent_receiver_stalls_everybody_under_permits_alone() -> None:
    found = silence(PROTOCOLS["hybrid"], LOAD, processes=10)

    assert found.before > 3
    assert found.share < 0.35


def test_facts_alone_do_not_help() -> None:
    """Watermarks and permits stop everywhere, so facts about other destinations never die."""
    found = silence(PROTOCOLS["hybrid-facts"], LOAD, processes=10, facts=4, exceptions=0)

    assert found.share < 0.6


def test_exceptions_keep_it_from_stalling_the_rest() -> None:
    found = silence(PROTOCOLS["hybrid-facts"], LOAD, processes=10, **STALL)

    assert found.share > 0.9
