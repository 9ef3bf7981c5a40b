"""Random logs for round trips: every column at its limits, every kind, nulls where they may be."""

from hypothesis import strategies as st

from antecede.eventlog import ARRIVED, DELIVERED, NULL, SUBMITTED, TRANSMITTED, EventLog
from antecede.eventlog.log import DENSE_PROCESSES

PROCESS_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1

processes = st.sampled_from([0, 1, 2, DENSE_PROCESSES - 1, DENSE_PROCESSES, PROCESS_MAX])
sizes = st.sampled_from([0, 1, 64, PROCESS_MAX])
large = st.sampled_from([0, 1, 1 << 40, INT64_MAX])
identities = st.sampled_from([None, None, "4bf92f3577b34da6a3ce929d0e0e4736", 'quo"te'])
packet_kinds = st.sampled_from([None, "message", "ack", 'quo"te', "Größe\n", ""])


@st.composite
def messages(draw: st.DrawFn) -> tuple[int, int]:
    """Sender and sequence: both there or both null."""
    if draw(st.booleans()):
        return NULL, NULL
    return draw(processes), draw(large)


@st.composite
def logs(draw: st.DrawFn) -> EventLog:
    """A log that any file format must give back as it was."""
    log = EventLog(block_rows=draw(st.sampled_from([1, 2, 1000])))
    time_ns = draw(st.sampled_from([1 - (1 << 62), -1, 0, 1_700_000_000_000_000_000]))
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from([SUBMITTED, TRANSMITTED, ARRIVED, DELIVERED]))
        sender, sequence = draw(messages())
        target = draw(st.one_of(st.just(NULL), processes))
        if kind in (SUBMITTED, DELIVERED):
            sender, sequence, target = draw(processes), draw(large), draw(processes)
        packet_kind = draw(packet_kinds)
        time_ns += draw(st.sampled_from([0, 0, 1, 1_000_000]))
        log.append(
            draw(processes),
            kind,
            sender,
            sequence,
            target,
            draw(st.one_of(st.just(NULL), large)),
            NULL if packet_kind is None else log.intern(packet_kind),
            time_ns,
            draw(sizes),
            draw(sizes),
            draw(identities),
            draw(identities),
        )
    return log
