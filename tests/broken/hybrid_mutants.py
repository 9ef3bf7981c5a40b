"""Ways to get `hybrid` wrong."""

from tests.antecede.core.patched import ABOVE_RULE, RULE
from tests.broken.mutants import Mutant


def hybrid(
    name: str, why: str, *changes: tuple[str, str], caught_by: str, protocol: str = "hybrid"
) -> Mutant:
    """A mutant of the product's own protocol."""
    return Mutant(
        name=name,
        protocol=protocol,
        source=f"{RULE}.py",
        process="HybridProcess",
        why=why,
        changes=changes,
        caught_by=frozenset(caught_by.split()),
        above=ABOVE_RULE,
    )


HYBRID_MUTANTS = [
    hybrid(
        "never-flags",
        "nobody ever waits for a permit",
        ("flagged = sequence > self._frontier(peer)", "flagged = False"),
        caught_by="order optimal search",
    ),
    hybrid(
        "always-flags",
        "safe, but everything waits a round trip longer",
        ("flagged = sequence > self._frontier(peer)", "flagged = True"),
        caught_by="optimal",
    ),
    hybrid(
        "frontier-too-far",
        "the copy next to be settled counts as settled",
        (
            "flagged = sequence > self._frontier(peer)",
            "flagged = sequence > self._frontier(peer) + 1",
        ),
        caught_by="order optimal search",
    ),
    hybrid(
        "permit-n-plus-1",
        "a permit covers one message more than has been settled",
        (
            "peer.transmit(Permit(peer.permitted_up_to), outbox)",
            "peer.transmit(Permit(peer.permitted_up_to + 1), outbox)",
        ),
        caught_by="optimal search",
    ),
    hybrid(
        "permit-across-senders",
        "a permit of one sender is taken for one of everybody",
        (
            "if owed is not None and self._missing.grant(owed, sequence):",
            "if [self._missing.grant(p.permits_owed(), sequence) for p in self._peers.all]:",
        ),
        caught_by="order optimal search",
    ),
    hybrid(
        "ack-at-arrival",
        "an early packet is acknowledged before it can be delivered",
        (
            "            peer.buffer_early(packet, self._receive_limit)\n",
            "            peer.buffer_early(packet, self._receive_limit)\n"
            "            outbox.transmit(peer.id, Ack(sequence))\n",
        ),
        caught_by="order loss search",
    ),
    hybrid(
        "ack-all-destinations",
        "the ack of one destination counts for all",
        (
            "            entry = peer.take_ack()\n            if entry.unacked == 0:\n",
            "            entry = peer.take_ack()\n"
            "            self._open -= entry.unacked >= 0\n"
            "            entry.unacked = 0\n"
            "            if False:\n",
        ),
        caught_by="order optimal search",
    ),
    hybrid(
        "no-watermark",
        "E8: a permit that overtakes its message is forgotten",
        (
            "missing = following.flagged and sequence > peer.permitted",
            "missing = following.flagged",
        ),
        caught_by="loss optimal search",
    ),
    hybrid(
        "append-does-not-settle",
        "E4: the settled prefix does not grow with a submission",
        (
            "places), len(payload))\n            self._advance(outbox)\n",
            "places), len(payload))\n",
        ),
        caught_by="optimal",
    ),
    hybrid(
        "no-fifo",
        "a message is delivered although its predecessor is missing",
        ("elif packet.previous == peer.delivered:", "elif packet.previous >= peer.delivered:"),
        caught_by="loss search",
    ),
    hybrid(
        "releases-at-once",
        "nothing is held back for missing permits",
        ("if entry.permits_before > first_missing and", "if entry.permits_before < 0 and"),
        caught_by="order optimal search",
    ),
    hybrid(
        "releases-past-second-sender",
        "what goes to the sender of the first missing permit does not wait for the others",
        ("if entry.permits_before > self._missing.second:", "if entry.permits_before < 0:"),
        caught_by="order optimal search",
        protocol="hybrid-sps",
    ),
    hybrid(
        "never-releases-early",
        "CSPS where SPS was promised: safe, but later than need be",
        ("if self._overtakes and first_missing < self._missing.next:", "if not self._sps:"),
        caught_by="optimal",
        protocol="hybrid-sps",
    ),
    hybrid(
        "exempts-multicasts",
        "a multicast that contains the process that owes the permit need not wait for it",
        (
            "            and len(entry.targets) == 1\n",
            "            and entry.targets\n",
        ),
        (
            "and self._peers.all[entry.targets[0]].id == self._missing.first_sender()",
            "and self._missing.first_sender() in [self._peers.all[at].id for at in entry.targets]",
        ),
        caught_by="order optimal search",
    ),
    hybrid(
        "exempts-past-second-sender",
        "the head is exempt although somebody else owes a permit, too",
        ("            and entry.permits_before <= self._missing.second\n", ""),
        caught_by="optimal search",
    ),
    hybrid(
        "never-exempts",
        "the head waits for permits that its only target owes: safe, but later than need be",
        (
            "            self._ordered\n            and len",
            "            self._overtakes\n            and len",
        ),
        caught_by="optimal",
    ),
    hybrid(
        "exempt-copies-overtake",
        "as in plain SPS a copy overtakes what was submitted before it: safe, but without a bound",
        ("if self._overtakes and first_missing", "if self._sps and first_missing"),
        caught_by="optimal",
    ),
    hybrid(
        "settles-over-others",
        "entries that others have not acknowledged are passed over",
        ("if not entry.is_only_unacked_by(waited_for.place):", "if entry.unacked < 0:"),
        caught_by="order optimal search",
    ),
    hybrid(
        "shared-predecessor",
        "E9: the predecessor named is the last message to anybody",
        (
            "DataPacket(message, previous, flagged)",
            "DataPacket(message, sequence - 1, flagged)",
        ),
        caught_by="loss search",
    ),
    hybrid(
        "repeats-unflagged",
        "a copy transmitted again loses its flag",
        (
            "            self._transmit_copy(peer, entry, previous, outbox)\n"
            "            previous = entry.sequence\n",
            "            outbox.transmit(peer.id, DataPacket(entry.message, previous, False))\n"
            "            previous = entry.sequence\n",
        ),
        caught_by="search",
    ),
    hybrid(
        "never-repeats",
        "what was lost stays lost",
        ("                self._transmit_again(peer, oldest, oldest + RESEND_BATCH, outbox)\n", ""),
        caught_by="loss search",
    ),
    hybrid(
        "ignores-asks",
        "E15: a lost permit is never sent again",
        ("        if frontier >= packet.lowest:", "        if frontier < 0:"),
        caught_by="loss search",
    ),
    hybrid(
        "delivers-duplicates",
        "what has been delivered is delivered again",
        (
            "            outbox.transmit(peer.id, Ack(peer.delivered))\n        elif",
            "            outbox.deliver(packet.carried)\n        elif",
        ),
        caught_by="once loss search",
    ),
    hybrid(
        "full-buffer-drops-the-next",
        "a full receive buffer drops the very packet that would empty it",
        (
            "elif packet.previous == peer.delivered:",
            "elif packet.previous == peer.delivered and not (\n"
            "            peer.early and len(peer.early) >= self._receive_limit\n"
            "        ):",
        ),
        caught_by="loss",
    ),
]
