"""A bad network on one machine: a process that loses, doubles, delays and cuts between nodes.

with Proxy({"alice": "127.0.0.1:9001", "bob": "127.0.0.1:9002"}, Conditions(loss=0.3)) as proxy:
    proxy.peers_of("alice")        # {"bob": "127.0.0.1:40001"}: what alice is told
    proxy.cut("alice", "bob")
"""

from antecede.tools.proxy.conditions import Conditions, Counters
from antecede.tools.proxy.process import Proxy

__all__ = ["Conditions", "Counters", "Proxy"]
