"""A user's own protocol, which promises causal order and only keeps the order of each pair."""

from antecede.core.catalogue import PROTOCOLS, ProtocolInfo

INFO = ProtocolInfo(
    "hasty",
    PROTOCOLS["fifo"].create,
    ordering="causal",
    multicast=True,
    network="lossy",
    paper="none",
)
