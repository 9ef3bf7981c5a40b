"""Peers and keys of a running node, replaced by those of other settings."""

from typing import TYPE_CHECKING

from antecede.runtime.config.settings import Settings
from antecede.runtime.key_settings import check_reload, make_key_ring

if TYPE_CHECKING:
    from antecede.runtime.node import Node


def reload(node: "Node", settings: Settings) -> None:
    """Take over the peers and the keys that these settings name; nothing changes if it raises."""
    check_reload(node._configured, settings)
    for name in settings.peers:
        node._transport.resolve(settings.address_of(name))
    if node._guard is not None:
        ring = make_key_ring(settings)
        assert ring is not None, "a node with keys is reloaded with keys"
        ring.adopt(node._guard.ring, [p for p in node.peers if p not in node._configured.peers])
        node._guard.use(ring)
        node._endpoint.expel_revoked_keys(node._now())
    before, node._configured = node._configured, settings
    for name in before.peers:
        if name not in settings.peers and name in node.peers:
            node.remove_peer(name)
    for name in settings.peers:
        if name not in node.peers:
            node._introductions.introduce(name, settings.address_of(name))
    node._after_step()
    node._plan_flush()
