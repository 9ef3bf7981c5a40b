"""What datagrams travel on: the interface of a carrier, UDP, TCP, and name resolution."""
