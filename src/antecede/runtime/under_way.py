"""Whether anything is under way at a node: what a network in memory lets time pass for."""

from antecede.endpoint.endpoint import Endpoint


def is_busy(endpoint: Endpoint) -> bool:
    """Whether anything is under way: something undelivered, unanswered, or a peer not met."""
    sessions = endpoint.sessions()
    return has_undelivered(endpoint) or any(s.path.flight.eliciting > 0 for s in sessions)


def has_undelivered(endpoint: Endpoint) -> bool:
    """Whether something sent has not been delivered everywhere, or a peer not been met."""
    if endpoint.buffered() > 0 or not endpoint.sending.large_is_done():
        return True
    return any(
        not (contact.expelled or contact.session.met or contact.session.ended)
        for contact in endpoint.directory.by_name.values()
    )
