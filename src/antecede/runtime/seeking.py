"""Looking for peers that are missing, for as long as they are."""

from collections.abc import Sequence

from antecede.events import (
    PeerBack,
    PeerExpelled,
    PeerLeft,
    PeerMet,
    PeerRestarted,
    PeerSilent,
    Report,
)
from antecede.membership.directory import Directory
from antecede.runtime.carriers.carrier import Carrier


def relookup_when_silent(report: Report, directory: Directory, transport: Carrier) -> None:
    """Let the transport look for a peer that is silent or away, until it is back."""
    contact = directory.by_name.get(report.name)
    if contact is None or contact.address is None:
        return
    if isinstance(report, PeerSilent | PeerLeft | PeerExpelled):
        transport.relookup(contact.address)
    elif isinstance(report, PeerMet | PeerBack | PeerRestarted):
        transport.stop_lookup(contact.address)


def forget(address: object, directory: Directory, transport: Carrier) -> None:
    """Let the transport look for nobody at this address, unless another peer is there."""
    if all(contact.address != address for contact in directory.by_name.values()):
        transport.forget(address)


def troubles(names: Sequence[str], directory: Directory, transport: Carrier) -> list[str]:
    """Which of these peers have addresses that lead nowhere, and why."""
    known = []
    for name in names:
        contact = directory.by_name.get(name)
        if contact is not None and (trouble := transport.lookup_error(contact.address)):
            known.append(f"{name}: {trouble}")
    return known
