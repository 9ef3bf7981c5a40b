"""A user's own protocol, which promises causal order and only keeps the order of each pair."""

from antecede.core.catalogue import ProtocolInfo
from antecede_lab.catalogue import PROTOCOLS

INFO = ProtocolInfo(
    "hasty",
    PROTOCOLS["fifo"].create,
    ordering="causal",
    multicast=True,
    network="lossy",
    paper="none",
)
