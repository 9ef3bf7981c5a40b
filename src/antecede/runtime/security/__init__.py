"""Who a peer really is, and what nobody else may read: keys, the Noise handshake, sealed datagrams.

`cryptography` is imported when a key is first used, so that nodes on loopback need not have it.
"""
