"""Loss recovery for one peer, without I/O: datagram numbers, acks, round trips, congestion, pace.

The model is QUIC's loss recovery (RFC 9002) with CUBIC (RFC 9438) as its congestion control. A path
knows nothing of messages: what it declares lost, its session asks the core to transmit again.
"""
