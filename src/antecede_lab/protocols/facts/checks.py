"""What no correct peer of `hybrid-facts` sends: refused before anything changes.

Facts and marks are in strictly ascending order, so that nothing can stand twice in a packet.
"""

from typing import Final

from mypy_extensions import i64

from antecede.core.checks import ID_LIMIT
from antecede.core.errors import LocalError, RemoteError
from antecede_lab.protocols.facts.filter import FILTER_BITS_MAX
from antecede_lab.protocols.facts.packets import (
    SENDER_ITSELF,
    FactsAsk,
    FactsMessage,
    FactsPermit,
    Mark,
    PastReportField,
    Watermark,
)

HOPS_LIMIT: Final = 1 << 31
"""No chain of reports is longer than this."""


def check_limits(
    facts: int, filter_bits: int, hops: int, watermarks: int, exceptions: int, cache_limit: int
) -> None:
    """`LocalError` unless these options make sense."""
    for name, value in (
        ("facts", facts),
        ("filter_bits", filter_bits),
        ("watermarks", watermarks),
        ("exceptions", exceptions),
    ):
        if value < 0:
            raise LocalError(f"{name} must be at least 0, not {value}")
    if filter_bits > FILTER_BITS_MAX:
        raise LocalError(f"filter_bits must be at most {FILTER_BITS_MAX}, not {filter_bits}")
    if hops < 1:
        raise LocalError(f"hops must be at least 1, not {hops}")
    if cache_limit < 1:
        raise LocalError(f"cache_limit must be at least 1, not {cache_limit}")


def check_message(
    packet: FactsMessage,
    source: i64,
    delivered: i64,
    me: i64,
    facts_max: i64,
    exceptions_max: i64,
) -> None:
    """`RemoteError` if no correct `source` sends this to `me`, who delivered up to `delivered`."""
    sequence = packet.carried.sequence
    if packet.carried.sender != source:
        raise RemoteError(f"a message of {packet.carried.sender} came from {source}")
    if packet.previous < 0 or packet.previous >= sequence:
        raise RemoteError(f"message {sequence} cannot follow {packet.previous}")
    if packet.previous < delivered < sequence:
        raise RemoteError(
            f"message {sequence} claims to follow {packet.previous}, but {delivered} did"
        )
    count = len(packet.must)
    check_marks(packet.must, source, sequence, me)
    if packet.report is not None:
        count += len(packet.report.facts)
        check_report(packet.report, source, sequence, me, exceptions_max)
    if count > facts_max:
        raise RemoteError(f"{source} sent {count} facts, more than {facts_max}")
    check_watermarks(packet.watermarks, source, exceptions_max)


def check_marks(must: list[Mark], source: i64, sequence: i64, me: i64) -> None:
    """`RemoteError` unless these may be what `me` has to deliver first."""
    before: i64 = -1
    for mark in must:
        if mark.sender <= before or mark.sender >= ID_LIMIT or mark.sender == me:
            raise RemoteError(f"{source} names {mark.sender} out of order, or it is nobody")
        if mark.sequence < 1 or (mark.sender == source and mark.sequence >= sequence):
            raise RemoteError(f"{source} wants {mark} delivered before its message {sequence}")
        before = mark.sender


def check_report(
    report: PastReportField, source: i64, sequence: i64, me: i64, exceptions_max: i64
) -> None:
    """`RemoteError` unless `source` may say this to `me` of its message `sequence`."""
    check_exceptions(report.exceptions, source, exceptions_max)
    if report.hops < 1 or report.hops >= HOPS_LIMIT:
        raise RemoteError(f"{source} counts {report.hops} hops")
    target: i64 = -1
    sender: i64 = -1
    for fact in report.facts:
        if fact.target < target or (fact.target == target and fact.sender <= sender):
            raise RemoteError(f"{source} sent facts out of order")
        target, sender = fact.target, fact.sender
        if sender < 0 or sender >= ID_LIMIT or target >= ID_LIMIT or sender == target:
            raise RemoteError(f"{source} sent a fact about nobody: {fact}")
        if target == me or sender == me:
            raise RemoteError(f"{source} sent a fact to the one it is about: {fact}")
        if fact.sequence < 1 or (sender == source and fact.sequence > sequence):
            raise RemoteError(f"{source} sent {fact} with its message {sequence}")


def check_exceptions(exceptions: tuple[int, ...], source: i64, exceptions_max: i64) -> None:
    """`RemoteError` unless they are at most `exceptions_max` process ids, ascending."""
    if len(exceptions) > exceptions_max:
        raise RemoteError(f"{source} sent {len(exceptions)} exceptions, not {exceptions_max}")
    before = -1
    for exception in exceptions:
        if exception <= before or exception >= ID_LIMIT:
            raise RemoteError(f"{source} sent exceptions that are no ascending ids: {exceptions}")
        before = exception


def check_watermarks(watermarks: list[Watermark], source: i64, exceptions_max: i64) -> None:
    """`RemoteError` unless they speak of processes and of ids."""
    for watermark in watermarks:
        process = watermark.process
        if process < SENDER_ITSELF or process >= ID_LIMIT or watermark.low < 0:
            raise RemoteError(f"{source} sent {watermark}")
        if watermark.low_except < 0:
            raise RemoteError(f"{source} sent {watermark}")
        if watermark.exceptions:
            check_exceptions(watermark.exceptions, source, exceptions_max)


def check_permit(packet: FactsPermit, source: i64, exceptions_max: i64) -> None:
    """`RemoteError` if no correct `source` sends this permit."""
    check_exceptions(packet.exceptions, source, exceptions_max)
    check_watermarks(packet.watermarks, source, exceptions_max)


def check_ask(packet: FactsAsk, source: i64, exceptions_max: i64) -> None:
    """`RemoteError` if no correct `source` asks like this."""
    if packet.delivered < 0 or packet.lowest < 1 or packet.lowest_except < 1:
        raise RemoteError(f"{source} sent {packet}")
    check_watermarks(packet.watermarks, source, exceptions_max)
