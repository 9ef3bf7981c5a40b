"""The hybrid process with one rule of expulsion left out: for those who must notice."""

from typing import cast

from antecede.core.hybrid.node import HybridProcess
from tests.antecede.core.patched import ABOVE_RULE, RULE, patched_together

EXPULSION = "antecede/core/expulsion"
NODE = ABOVE_RULE[-1]
FILES = [EXPULSION, "antecede/core/hybrid/state", RULE, *ABOVE_RULE]
"""In the order in which they import each other."""

CARRYING = "        if self.unacked_notices is not None:\n            packet = ExpulsionNotice("
MUTANTS: dict[str, tuple[str, str, str]] = {
    "messages do not carry notices": (
        EXPULSION,
        CARRYING,
        CARRYING.replace("None:", "None and packet.kind != 'message':"),
    ),
    "permits do not carry notices": (
        EXPULSION,
        CARRYING,
        CARRYING.replace("None:", "None and packet.kind != 'permit':"),
    ),
    "a notice is carried once": (
        EXPULSION,
        "            packet = ExpulsionNotice(sorted(self.unacked_notices), packet)\n",
        "            packet = ExpulsionNotice(sorted(self.unacked_notices), packet)\n"
        "            self.unacked_notices = None\n",
    ),
    "the packet is taken before its notices": (
        EXPULSION,
        "        if peer.id in packet.processes:\n            return\n",
        "        if peer.id in packet.processes:\n            return\n"
        "        if packet.inner is not None:\n"
        "            self._take_inner(peer.id, packet.inner, now_ns, outbox)\n",
    ),
    "the expelled are listened to": (
        EXPULSION,
        "        if source not in self.expelled:\n",
        "        if source >= 0:\n",
    ),
    "acks of the expelled are waited for": (
        RULE,
        "        unconfirmed = self._give_up(peer)\n",
        "        unconfirmed = [1][:0]\n",
    ),
    "permits of the expelled are waited for": (
        RULE,
        "            self._missing.grant(peer.owed_permits, NEVER_NS)\n",
        "",
    ),
    "what was learned is not passed on": (
        EXPULSION,
        "if peer is not notified_by and",
        "if notified_by is None and",
    ),
    "those met later are not told": (
        EXPULSION,
        "        if expelled and peer.id not in",
        "        if peer.id < 0 and peer.id not in",
    ),
    "new copies to the expelled are made": (
        EXPULSION,
        "[target for target in targets if target not in self.expelled]",
        "targets",
    ),
    "nobody is told without a message": (
        EXPULSION,
        "        if self.unacked_notices is not None:\n            outbox.transmit(",
        "        if self.id < 0:\n            outbox.transmit(",
    ),
    "nothing is released after a fence": (
        NODE,
        "waited behind a copy that is given up.\n        self._release(now_ns, outbox)\n",
        "waited behind a copy that is given up.\n",
    ),
    "whoever says that we are expelled is believed, though we expelled it": (
        EXPULSION,
        "        if not isinstance(packet, YouAreExpelled):\n            outbox",
        "        if isinstance(packet, YouAreExpelled):\n"
        "            self.stop_self(source)\n"
        "        else:\n            outbox",
    ),
}


def mutant(name: str) -> type[HybridProcess]:
    """The process with one rule of expulsion left out."""
    page = patched_together(FILES, [MUTANTS[name]], "broken_hybrid")
    return cast("type[HybridProcess]", page.HybridProcess)
