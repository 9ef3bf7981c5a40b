"""`simulate`: links where they are needed, options, leftovers, and what comes back."""

import gc

import pytest

from antecede.core.errors import LocalError
from antecede.eventlog.log import EventLog
from antecede.network_model.faults import Faults, Partition
from antecede_lab.catalogue import find_protocol
from antecede_lab.simulator.reliable_link import over_lossy
from antecede_lab.simulator.run import option_of, simulate
from antecede_lab.simulator.workloads import Broadcast, Poisson
from tests.antecede_lab.simulator.scripted import one_message

MS = 1_000_000
LOSSY = Faults(loss=0.2, duplication=0.1)


def traffic(messages: int = 100) -> Poisson:
    return Poisson(4, messages=messages, interval_ns=MS, seed=1)


@pytest.mark.parametrize(
    ("protocol", "faults", "name"),
    [
        ("rst", LOSSY, "rst+link"),
        ("rst", Faults(), "rst"),
        ("tree", Faults(), "tree+link"),
        ("tree", Faults(fifo=True), "tree"),
        ("hybrid", LOSSY, "hybrid"),
    ],
)
def test_a_link_is_put_below_a_protocol_only_where_it_is_needed(
    protocol: str, faults: Faults, name: str
) -> None:
    result = simulate(protocol, traffic(), faults=faults, link=True, patience_ns=10 * MS)

    assert result.protocol == name
    assert result.deliveries == 100
    assert result.leftovers.empty


def test_patience_reaches_protocol_and_link_and_is_ignored_where_nobody_waits() -> None:
    for protocol in ("hybrid", "rst"):
        slow, quick = (
            simulate(protocol, traffic(), faults=LOSSY, link=True, patience_ns=patience_ns)
            for patience_ns in (1000 * MS, 10 * MS)
        )
        assert slow.measures is not None
        assert quick.measures is not None
        assert slow.measures.makespan_ns > 3 * quick.measures.makespan_ns
    assert simulate("rst", traffic(), patience_ns=10 * MS).deliveries == 100


def test_the_patience_in_the_options_wins() -> None:
    cut = Faults(partitions=(Partition(start_ns=0, end_ns=1, island=frozenset([0])),))
    result = simulate(
        "hybrid",
        one_message(),
        faults=cut,
        options={"patience_ns": 30 * MS},
        patience_ns=10 * MS,
    )

    assert result.measures is not None
    assert result.measures.makespan_ns == 31 * MS


def test_an_option_that_no_process_knows_is_refused() -> None:
    with pytest.raises(LocalError, match="cannot create a hybrid process"):
        simulate("hybrid", traffic(), options={"colour": "blue"})


def test_an_option_of_the_link_stands_in_for_one_that_the_protocol_lacks() -> None:
    assert option_of(find_protocol("hybrid"), "send_limit", 5) == {"send_limit": 5}
    rst = over_lossy(find_protocol("rst"))
    assert option_of(rst, "send_limit", 5) == {"link_send_limit": 5}
    with pytest.raises(LocalError, match="rst has no send limit"):
        option_of(find_protocol("rst"), "send_limit", 5)


def test_a_run_may_be_neither_measured_nor_recorded() -> None:
    result = simulate("hybrid", traffic(), measure=False)

    assert result.measures is None
    assert result.log is None
    assert (result.messages, result.copies, result.deliveries) == (100, 100, 100)
    assert result.leftovers.empty


def test_without_a_meter_undelivered_copies_are_counted_all_the_same() -> None:
    measured = simulate("hybrid", traffic(), faults=LOSSY, until_ns=20 * MS)
    unmeasured = simulate("hybrid", traffic(), faults=LOSSY, until_ns=20 * MS, measure=False)

    assert measured.leftovers.undelivered == unmeasured.leftovers.undelivered > 0
    assert len(measured.leftovers.oldest) <= 10
    assert unmeasured.leftovers.oldest == ()


def test_rows_go_into_the_log_that_is_given() -> None:
    log = EventLog()
    result = simulate("hybrid", traffic(), record=log)

    assert result.log is log
    assert len(log) > 400


def test_watching_a_run_does_not_change_it() -> None:
    def run(record: bool, measure: bool) -> tuple[int, int, int]:
        result = simulate("hybrid", traffic(), faults=LOSSY, record=record, measure=measure)
        return result.events, result.packets, result.end_ns

    assert run(True, True) == run(True, False) == run(False, True) == run(False, False)


def test_an_unhealed_partition_leaves_something_behind_and_says_what() -> None:
    cut = Faults(partitions=(Partition(start_ns=0, end_ns=1 << 60, island=frozenset([1])),))
    result = simulate("hybrid", one_message(), faults=cut, until_ns=10**12)

    assert result.leftovers.undelivered == 1
    assert result.leftovers.timers == 1
    assert result.leftovers.oldest == ((0, 1, 1),)
    assert not result.leftovers.empty


@pytest.mark.parametrize("seed", [-1, 1 << 62])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(LocalError, match="seed"):
        simulate("hybrid", traffic(), seed=seed)


@pytest.mark.parametrize("patience_ns", [0, -1, 1 << 60])
def test_a_patience_that_never_ends_or_never_begins_is_refused(patience_ns: int) -> None:
    with pytest.raises(LocalError, match="patience"):
        simulate("hybrid", traffic(), patience_ns=patience_ns)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(LocalError, match="no protocol is called 'carrier-pigeon'"):
        simulate("carrier-pigeon", traffic())


def test_the_complaint_about_a_workload_names_the_protocol_without_its_link() -> None:
    with pytest.raises(LocalError, match=r"^cykas sends to one process"):
        simulate(
            "cykas",
            Broadcast(3, messages=1, interval_ns=1, seed=1),
            faults=LOSSY,
            link=True,
        )


@pytest.mark.parametrize("host", ["core", "node"])
def test_a_run_leaves_the_search_for_garbage_as_it_was(host: str) -> None:
    """What the caller has set aside (`gc.freeze`) stays so, and a search that is off stays off."""
    gc.freeze()
    set_aside = gc.get_freeze_count()
    gc.disable()
    try:
        assert simulate("hybrid", traffic(), host=host).deliveries == 100
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert gc.get_freeze_count() > set_aside // 2
