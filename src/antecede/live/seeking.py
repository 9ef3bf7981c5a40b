"""Looking for peers that are missing, for as long as they are."""

from antecede.link.directory import Directory
from antecede.link.reports import PeerBack, PeerMet, PeerRestarted, PeerSilent, Report
from antecede.live.transport import Transport


def follow(report: Report, directory: Directory, transport: Transport) -> None:
    """Let the transport look for a peer that has fallen silent, until it is back."""
    contact = directory.by_name.get(report.name)
    if contact is None or contact.address is None:
        return
    if isinstance(report, PeerSilent):
        transport.seek(contact.address)
    elif isinstance(report, PeerMet | PeerBack | PeerRestarted):
        transport.found(contact.address)
