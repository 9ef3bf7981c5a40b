"""Making peers known to a node: those that it was told of, and strangers who are let in."""

import logging
from typing import Final

from antecede.core.errors import LocalError
from antecede.endpoint.endpoint import Endpoint
from antecede.events import StrangerSeen
from antecede.runtime.carriers.carrier import Carrier
from antecede.runtime.config.names import checked_name, process_id
from antecede.runtime.observe.event_recorder import EventRecorderOwner

log = logging.getLogger(__name__)


class Introductions:
    """Introduces the peers of one node."""

    def __init__(
        self, me: str, endpoint: Endpoint, carrier: Carrier, trace: EventRecorderOwner
    ) -> None:
        self._me: Final = me
        self._endpoint: Final = endpoint
        self._carrier: Final = carrier
        self._trace: Final = trace

    def introduce(self, name: str, address: object, seen_at: object = None) -> None:
        """Make a peer known; without an address it says hello first. A stranger was `seen_at`."""
        checked_name(name)
        carrier = self._carrier
        resolved = carrier.locate(name, address)
        size = carrier.datagram_size(resolved if seen_at is None else seen_at)
        process = process_id(name)
        self._trace.note_process(process, name)
        stranger = seen_at is not None
        now_ns = carrier.now_ns()
        self._endpoint.add_peer(name, resolved, process, size, now_ns, stranger)
        carrier.relookup(resolved)

    def try_admit(self, stranger: StrangerSeen) -> bool:
        """Introduce a stranger, who will be welcome at its next hello; whether that is told."""
        directory = self._endpoint.directory
        if stranger.name in directory.by_name:
            return False  # It had said hello twice before it could be introduced.
        try:
            self.introduce(stranger.name, None, stranger.address)
        except LocalError as error:
            if directory.announces(stranger.name, self._carrier.now_ns()):
                log.info("%s: a stranger cannot be let in: %s", self._me, error)
            return False
        return directory.announces(stranger.name, self._carrier.now_ns())
