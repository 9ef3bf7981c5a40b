"""What somebody has not acknowledged, in messages as applications count them.

The core counts the parts of a large message one by one, and so does the limit of the buffer. Where
there are parts, they are put together again here.
"""

from antecede.link.endpoint import Endpoint
from antecede.link.session import Session


def messages_buffered(endpoint: Endpoint) -> int:
    """How many of our messages somebody has not acknowledged."""
    if not endpoint.sending.in_parts():
        return endpoint.buffered()
    numbers: set[int] = set()
    for session in endpoint.sessions():
        numbers.update(endpoint.sending.numbers_owed(session))
    return len(numbers)


def messages_owed(endpoint: Endpoint, session: Session) -> int:
    """How many of them a peer has not acknowledged."""
    sending = endpoint.sending
    return len(sending.numbers_owed(session)) if sending.in_parts() else endpoint.owes(session)
