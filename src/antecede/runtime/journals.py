"""Opening a node's journal: whose it is, and whether a life goes on or a new one begins."""

import asyncio
import logging
from typing import Final

from antecede.core.catalogue import NOT_FOR_NODES
from antecede.durability.disk import Disk, SyncedDisk
from antecede.durability.journal import Journal
from antecede.durability.node_state import DurableNodeState
from antecede.membership.tokens import TokenSource
from antecede.runtime.config.settings import FORMER_ORDER, Settings
from antecede.runtime.errors import BadConfiguration
from antecede.runtime.journal_committer import JournalCommitter

KEPT_ORDERS: Final = ("causal", "hybrid-sps", "hybrid-csps")
"""The protocols whose state can be written down."""

log = logging.getLogger(__name__)


def open_committer(
    settings: Settings, tokens: TokenSource, disk: Disk | None
) -> JournalCommitter | None:
    """The journal that the settings name, locked and read; None if they name none.

    `JournalInUse` if another process has it, `JournalCorrupt` if it cannot be trusted.
    """
    if settings.journal is None:
        return None
    if settings.order not in KEPT_ORDERS:
        raise BadConfiguration(
            f"the order {settings.order!r} keeps no journal; {', '.join(KEPT_ORDERS)} do"
        )
    from antecede.runtime.kernel_sync import kernel_sync

    threaded = disk is None and settings.durable == "sync"
    kernel = kernel_sync(asyncio.get_running_loop()) if threaded else None
    if disk is None:
        # If the kernel syncs, a write must not wait for that.
        kind = SyncedDisk if threaded and kernel is None else Disk
        disk = kind(settings.journal)
    journal = Journal(disk, durable=settings.durable, limit_bytes=settings.journal_limit)
    try:
        kept, core = opened(settings, tokens, journal)
    except BaseException:
        if kernel is not None:
            kernel.stop()
        raise
    if journal.torn_bytes:
        log.warning(
            "%s: the last %d bytes of the journal are of a commit that was not finished, and are "
            "cut off. If a crash interrupted the write, nobody had been told of it. If the file "
            "was cut off later, commits may be missing: the first peer that had seen them says so, "
            "and then this node stops",
            settings.name,
            journal.torn_bytes,
        )
    return JournalCommitter(journal, kept, core, threaded=threaded, kernel=kernel)


def opened(
    settings: Settings, tokens: TokenSource, journal: Journal
) -> tuple[DurableNodeState, list[bytes]]:
    """Take the journal, and read it; it is closed again if it is not this node's."""
    records = journal.open()
    try:
        return read_node_state(settings, tokens, records)
    except BaseException:
        journal.close()
        raise


def read_node_state(
    settings: Settings, tokens: TokenSource, records: list[bytes] | None
) -> tuple[DurableNodeState, list[bytes]]:
    """What the journal says, and the records of the core; a new life if the last one is over."""
    order = settings.protocol
    if records is None:
        return DurableNodeState(settings.name, order, tokens.incarnation()), []
    kept = DurableNodeState(settings.name, order, 0)
    core = kept.replay(records)
    if kept.name != settings.name:
        raise BadConfiguration(
            f"the journal {settings.journal} is {kept.name!r}'s, not {settings.name!r}'s; "
            "each node needs one of its own"
        )
    if kept.order.partition(" ")[0] == FORMER_ORDER:
        # What it was told of its options follows the name.
        raise BadConfiguration(
            f"the journal {settings.journal} was written with the order {FORMER_ORDER!r}: "
            f"{NOT_FOR_NODES[FORMER_ORDER]}. Let the version that wrote it finish its work and "
            "close the node, then begin with another journal"
        )
    if kept.order != order:
        raise BadConfiguration(
            f"the journal {settings.journal} was written with the order {kept.order!r}, not "
            f"{order!r}; open the node with that one, or with another journal"
        )
    if kept.ended:
        log.info("%s begins a new life: %s", settings.name, kept.ended)
        kept.new_life(max(tokens.incarnation(), int(kept.incarnation) + 1))
        core = []
    return kept, core
